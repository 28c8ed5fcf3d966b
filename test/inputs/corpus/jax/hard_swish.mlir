"builtin.module"() <{sym_name = "jit_hard_swish"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<16x64xf16>):
    %15 = "func.call"(%arg3) <{callee = @hard_silu}> : (tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%15) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "hard_silu", sym_visibility = "private"}> ({
  ^bb0(%arg2: tensor<16x64xf16>):
    %13 = "func.call"(%arg2) <{callee = @hard_sigmoid}> : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %14 = "stablehlo.multiply"(%arg2, %13) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%14) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "hard_sigmoid", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<16x64xf16>):
    %6 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %8 = "stablehlo.add"(%arg1, %7) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %9 = "func.call"(%8) <{callee = @relu6}> : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %10 = "stablehlo.constant"() <{value = dense<6.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %12 = "stablehlo.divide"(%9, %11) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%12) : (tensor<16x64xf16>) -> ()
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
