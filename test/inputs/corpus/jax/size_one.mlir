"builtin.module"() <{sym_name = "jit_size_one"}> ({
  "func.func"() <{function_type = (tensor<16x1xf16>, tensor<1x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x1xf16>, %arg1: tensor<1x64xf16>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf16>) -> tensor<16x64xf16>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x64xf16>) -> tensor<16x64xf16>
    %2 = "stablehlo.multiply"(%0, %1) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%2) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
