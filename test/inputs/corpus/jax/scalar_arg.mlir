"builtin.module"() <{sym_name = "jit_scalar_arg"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<f16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<f16>):
    %0 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %1 = "stablehlo.multiply"(%arg0, %0) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%1) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
