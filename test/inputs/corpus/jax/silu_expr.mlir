"builtin.module"() <{sym_name = "jit_silu_expr"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64x128xf16>) -> tensor<16x128xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<64x128xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x128xf16>) -> tensor<16x128xf16>
    %1 = "stablehlo.negate"(%0) : (tensor<16x128xf16>) -> tensor<16x128xf16>
    %2 = "stablehlo.exponential"(%1) : (tensor<16x128xf16>) -> tensor<16x128xf16>
    %3 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x128xf16>
    %5 = "stablehlo.add"(%4, %2) : (tensor<16x128xf16>, tensor<16x128xf16>) -> tensor<16x128xf16>
    %6 = "stablehlo.divide"(%0, %5) : (tensor<16x128xf16>, tensor<16x128xf16>) -> tensor<16x128xf16>
    "func.return"(%6) : (tensor<16x128xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
