"builtin.module"() <{sym_name = "jit_norm_mlp_residual"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64x32xf16>, tensor<64x32xf16>, tensor<32x64xf16>, tensor<64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<16x64xf16>, %arg2: tensor<64x32xf16>, %arg3: tensor<64x32xf16>, %arg4: tensor<32x64xf16>, %arg5: tensor<64xf16>):
    %9 = "stablehlo.convert"(%arg1) : (tensor<16x64xf16>) -> tensor<16x64xf32>
    %10 = "stablehlo.multiply"(%9, %9) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %11 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %12 = "stablehlo.reduce"(%10, %11) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %33 = "stablehlo.add"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%33) : (tensor<f32>) -> ()
    }) : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %14 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %16 = "stablehlo.divide"(%13, %15) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %17 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %19 = "stablehlo.add"(%16, %18) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %20 = "stablehlo.rsqrt"(%19) : (tensor<16x1xf32>) -> tensor<16x1xf32>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %22 = "stablehlo.multiply"(%9, %21) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %23 = "stablehlo.convert"(%22) : (tensor<16x64xf32>) -> tensor<16x64xf16>
    %24 = "stablehlo.broadcast_in_dim"(%arg5) <{broadcast_dimensions = array<i64: 1>}> : (tensor<64xf16>) -> tensor<1x64xf16>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x64xf16>) -> tensor<16x64xf16>
    %26 = "stablehlo.multiply"(%23, %25) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %27 = "stablehlo.dot_general"(%26, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>
    %28 = "func.call"(%27) <{callee = @silu}> : (tensor<16x32xf16>) -> tensor<16x32xf16>
    %29 = "stablehlo.dot_general"(%26, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>
    %30 = "stablehlo.multiply"(%28, %29) : (tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<16x32xf16>
    %31 = "stablehlo.dot_general"(%30, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x32xf16>, tensor<32x64xf16>) -> tensor<16x64xf16>
    %32 = "stablehlo.add"(%arg1, %31) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%32) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x32xf16>) -> tensor<16x32xf16>, sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x32xf16>):
    %0 = "stablehlo.negate"(%arg0) : (tensor<16x32xf16>) -> tensor<16x32xf16>
    %1 = "stablehlo.exponential"(%0) : (tensor<16x32xf16>) -> tensor<16x32xf16>
    %2 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x32xf16>
    %4 = "stablehlo.add"(%3, %1) : (tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<16x32xf16>
    %5 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x32xf16>
    %7 = "stablehlo.divide"(%6, %4) : (tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<16x32xf16>
    %8 = "stablehlo.multiply"(%arg0, %7) : (tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<16x32xf16>
    "func.return"(%8) : (tensor<16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
