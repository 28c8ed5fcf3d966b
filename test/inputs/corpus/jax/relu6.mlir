"builtin.module"() <{sym_name = "jit_relu6"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<16x64xf16>):
    %6 = "func.call"(%arg1) <{callee = @relu6}> : (tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%6) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "relu6", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x64xf16>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %3 = "stablehlo.constant"() <{value = dense<6.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %5 = "stablehlo.minimum"(%2, %4) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%5) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
