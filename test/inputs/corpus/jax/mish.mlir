"builtin.module"() <{sym_name = "jit_mish"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<16x64xf16>):
    %14 = "func.call"(%arg1) <{callee = @softplus}> : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %15 = "stablehlo.tanh"(%14) : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %16 = "stablehlo.multiply"(%arg1, %15) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%16) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "softplus", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x64xf16>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %3 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %4 = "stablehlo.subtract"(%arg0, %3) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %5 = "stablehlo.compare"(%4, %4) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xi1>
    %6 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %7 = "stablehlo.add"(%arg0, %6) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %8 = "stablehlo.abs"(%4) : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %9 = "stablehlo.negate"(%8) : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %10 = "stablehlo.exponential"(%9) : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %11 = "stablehlo.log_plus_one"(%10) : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %12 = "stablehlo.add"(%2, %11) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %13 = "stablehlo.select"(%5, %7, %12) : (tensor<16x64xi1>, tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%13) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
