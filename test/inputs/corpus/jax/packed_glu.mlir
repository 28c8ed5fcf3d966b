"builtin.module"() <{sym_name = "jit_packed_glu"}> ({
  "func.func"() <{function_type = (tensor<8x128xf16>, tensor<128x256xf16>) -> tensor<8x128xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8x128xf16>, %arg1: tensor<128x256xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<8x128xf16>, tensor<128x256xf16>) -> tensor<8x256xf16>
    %1 = "stablehlo.slice"(%0) <{limit_indices = array<i64: 8, 128>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<8x256xf16>) -> tensor<8x128xf16>
    %2 = "stablehlo.slice"(%0) <{limit_indices = array<i64: 8, 256>, start_indices = array<i64: 0, 128>, strides = array<i64: 1, 1>}> : (tensor<8x256xf16>) -> tensor<8x128xf16>
    %3 = "stablehlo.negate"(%2) : (tensor<8x128xf16>) -> tensor<8x128xf16>
    %4 = "stablehlo.exponential"(%3) : (tensor<8x128xf16>) -> tensor<8x128xf16>
    %5 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<8x128xf16>
    %7 = "stablehlo.add"(%6, %4) : (tensor<8x128xf16>, tensor<8x128xf16>) -> tensor<8x128xf16>
    %8 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<8x128xf16>
    %10 = "stablehlo.divide"(%9, %7) : (tensor<8x128xf16>, tensor<8x128xf16>) -> tensor<8x128xf16>
    %11 = "stablehlo.multiply"(%1, %10) : (tensor<8x128xf16>, tensor<8x128xf16>) -> tensor<8x128xf16>
    "func.return"(%11) : (tensor<8x128xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
