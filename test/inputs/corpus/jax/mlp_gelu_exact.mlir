"builtin.module"() <{sym_name = "jit_mlp_gelu_exact"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64x128xf16>, tensor<128xf16>, tensor<128x64xf16>, tensor<64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<64x128xf16>, %arg2: tensor<128xf16>, %arg3: tensor<128x64xf16>, %arg4: tensor<64xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x128xf16>) -> tensor<16x128xf16>
    %1 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 1>}> : (tensor<128xf16>) -> tensor<1x128xf16>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x128xf16>) -> tensor<16x128xf16>
    %3 = "stablehlo.add"(%0, %2) : (tensor<16x128xf16>, tensor<16x128xf16>) -> tensor<16x128xf16>
    %4 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f16>}> : () -> tensor<f16>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x128xf16>
    %6 = "stablehlo.multiply"(%5, %3) : (tensor<16x128xf16>, tensor<16x128xf16>) -> tensor<16x128xf16>
    %7 = "stablehlo.negate"(%3) : (tensor<16x128xf16>) -> tensor<16x128xf16>
    %8 = "stablehlo.constant"() <{value = dense<7.070310e-01> : tensor<f16>}> : () -> tensor<f16>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x128xf16>
    %10 = "stablehlo.multiply"(%7, %9) : (tensor<16x128xf16>, tensor<16x128xf16>) -> tensor<16x128xf16>
    %11 = "chlo.erfc"(%10) : (tensor<16x128xf16>) -> tensor<16x128xf16>
    %12 = "stablehlo.multiply"(%6, %11) : (tensor<16x128xf16>, tensor<16x128xf16>) -> tensor<16x128xf16>
    %13 = "stablehlo.dot_general"(%12, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x128xf16>, tensor<128x64xf16>) -> tensor<16x64xf16>
    %14 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64: 1>}> : (tensor<64xf16>) -> tensor<1x64xf16>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x64xf16>) -> tensor<16x64xf16>
    %16 = "stablehlo.add"(%13, %15) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%16) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
