"builtin.module"() <{sym_name = "jit_softplus"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<16x64xf16>):
    %14 = "stablehlo.convert"(%arg1) : (tensor<16x64xf16>) -> tensor<16x64xf32>
    %15 = "func.call"(%14) <{callee = @softplus}> : (tensor<16x64xf32>) -> tensor<16x64xf32>
    "func.return"(%15) : (tensor<16x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf32>) -> tensor<16x64xf32>, sym_name = "softplus", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x64xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x64xf32>
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %3 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x64xf32>
    %4 = "stablehlo.subtract"(%arg0, %3) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %5 = "stablehlo.compare"(%4, %4) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xi1>
    %6 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x64xf32>
    %7 = "stablehlo.add"(%arg0, %6) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %8 = "stablehlo.abs"(%4) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %9 = "stablehlo.negate"(%8) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %10 = "stablehlo.exponential"(%9) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %11 = "stablehlo.log_plus_one"(%10) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %12 = "stablehlo.add"(%2, %11) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %13 = "stablehlo.select"(%5, %7, %12) : (tensor<16x64xi1>, tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    "func.return"(%13) : (tensor<16x64xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
