"builtin.module"() <{sym_name = "jit_leaky"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg4: tensor<16x64xf16>):
    %8 = "func.call"(%arg4) <{callee = @leaky_relu}> : (tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%8) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "leaky_relu", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<16x64xf16>):
    %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %3 = "stablehlo.compare"(%arg3, %2) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xi1>
    %4 = "stablehlo.constant"() <{value = dense<1.000210e-02> : tensor<f16>}> : () -> tensor<f16>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %6 = "stablehlo.multiply"(%5, %arg3) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %7 = "func.call"(%3, %arg3, %6) <{callee = @_where}> : (tensor<16x64xi1>, tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%7) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xi1>, tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x64xi1>, %arg1: tensor<16x64xf16>, %arg2: tensor<16x64xf16>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<16x64xi1>, tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%0) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
