"builtin.module"() <{sym_name = "jit_self_attention"}> ({
  "func.func"() <{function_type = (tensor<2x16x64xf16>, tensor<64x192xf16>, tensor<64x64xf16>) -> tensor<2x16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x16x64xf16>, %arg1: tensor<64x192xf16>, %arg2: tensor<64x64xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf16>, tensor<64x192xf16>) -> tensor<2x16x192xf16>
    %1 = "stablehlo.reshape"(%0) : (tensor<2x16x192xf16>) -> tensor<2x16x3x4x16xf16>
    %2 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 1, 4, 16>, start_indices = array<i64: 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x16x3x4x16xf16>) -> tensor<2x16x1x4x16xf16>
    %3 = "stablehlo.reshape"(%2) : (tensor<2x16x1x4x16xf16>) -> tensor<2x16x4x16xf16>
    %4 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 2, 4, 16>, start_indices = array<i64: 0, 0, 1, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x16x3x4x16xf16>) -> tensor<2x16x1x4x16xf16>
    %5 = "stablehlo.reshape"(%4) : (tensor<2x16x1x4x16xf16>) -> tensor<2x16x4x16xf16>
    %6 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 3, 4, 16>, start_indices = array<i64: 0, 0, 2, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x16x3x4x16xf16>) -> tensor<2x16x1x4x16xf16>
    %7 = "stablehlo.reshape"(%6) : (tensor<2x16x1x4x16xf16>) -> tensor<2x16x4x16xf16>
    %8 = "stablehlo.dot_general"(%3, %5) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>) -> tensor<2x4x16x16xf32>
    %9 = "stablehlo.constant"() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16x16xf32>
    %11 = "stablehlo.multiply"(%8, %10) : (tensor<2x4x16x16xf32>, tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf32>
    %12 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %13 = "stablehlo.reduce"(%11, %12) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %32 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%32) : (tensor<f32>) -> ()
    }) : (tensor<2x4x16x16xf32>, tensor<f32>) -> tensor<2x4x16xf32>
    %14 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16xf32>
    %16 = "stablehlo.maximum"(%15, %13) : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x16xf32>) -> tensor<2x4x16x1xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x16x1xf32>) -> tensor<2x4x16x16xf32>
    %19 = "stablehlo.subtract"(%11, %18) : (tensor<2x4x16x16xf32>, tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf32>
    %20 = "stablehlo.exponential"(%19) : (tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf32>
    %21 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %22 = "stablehlo.reduce"(%20, %21) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %31 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%31) : (tensor<f32>) -> ()
    }) : (tensor<2x4x16x16xf32>, tensor<f32>) -> tensor<2x4x16xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x16xf32>) -> tensor<2x4x16x1xf32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x16x1xf32>) -> tensor<2x4x16x16xf32>
    %25 = "stablehlo.divide"(%20, %24) : (tensor<2x4x16x16xf32>, tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf32>
    %26 = "stablehlo.convert"(%25) : (tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf16>
    %27 = "stablehlo.dot_general"(%7, %26) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x4x16xf16>, tensor<2x4x16x16xf16>) -> tensor<2x4x16x16xf16>
    %28 = "stablehlo.transpose"(%27) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x16x16xf16>) -> tensor<2x16x4x16xf16>
    %29 = "stablehlo.reshape"(%28) : (tensor<2x16x4x16xf16>) -> tensor<2x16x64xf16>
    %30 = "stablehlo.dot_general"(%29, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf16>, tensor<64x64xf16>) -> tensor<2x16x64xf16>
    "func.return"(%30) : (tensor<2x16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
