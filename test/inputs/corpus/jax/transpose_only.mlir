"builtin.module"() <{sym_name = "jit_transpose_only"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<64x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>):
    %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<16x64xf16>) -> tensor<64x16xf16>
    "func.return"(%0) : (tensor<64x16xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
