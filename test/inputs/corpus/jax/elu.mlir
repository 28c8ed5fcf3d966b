"builtin.module"() <{sym_name = "jit_elu"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg7: tensor<16x64xf16>):
    %17 = "func.call"(%arg7) <{callee = @elu}> : (tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%17) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "elu", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<16x64xf16>):
    %4 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %6 = "stablehlo.compare"(%arg6, %5) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xi1>
    %7 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %9 = "stablehlo.compare"(%arg6, %8) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xi1>
    %10 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %11 = "func.call"(%9, %10, %arg6) <{callee = @_where}> : (tensor<16x64xi1>, tensor<f32>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %12 = "stablehlo.exponential_minus_one"(%11) : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %13 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %15 = "stablehlo.multiply"(%14, %12) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %16 = "func.call"(%6, %arg6, %15) <{callee = @_where_0}> : (tensor<16x64xi1>, tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%16) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xi1>, tensor<f32>, tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<16x64xi1>, %arg4: tensor<f32>, %arg5: tensor<16x64xf16>):
    %1 = "stablehlo.convert"(%arg4) : (tensor<f32>) -> tensor<f16>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %3 = "stablehlo.select"(%arg3, %2, %arg5) : (tensor<16x64xi1>, tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%3) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xi1>, tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "_where_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x64xi1>, %arg1: tensor<16x64xf16>, %arg2: tensor<16x64xf16>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<16x64xi1>, tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%0) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
