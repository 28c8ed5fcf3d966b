"builtin.module"() <{sym_name = "jit_dpa_bias"}> ({
  "func.func"() <{function_type = (tensor<2x16x4x32xf16>, tensor<2x48x4x32xf16>, tensor<2x48x4x32xf16>, tensor<2x4x16x48xf16>) -> tensor<2x16x4x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x16x4x32xf16>, %arg1: tensor<2x48x4x32xf16>, %arg2: tensor<2x48x4x32xf16>, %arg3: tensor<2x4x16x48xf16>):
    %0 = "stablehlo.reshape"(%arg0) : (tensor<2x16x4x32xf16>) -> tensor<2x16x4x1x32xf16>
    %1 = "stablehlo.reshape"(%arg3) : (tensor<2x4x16x48xf16>) -> tensor<2x4x1x16x48xf16>
    %2 = "stablehlo.dot_general"(%0, %arg1) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x4x1x32xf16>, tensor<2x48x4x32xf16>) -> tensor<2x4x16x1x48xf32>
    %3 = "stablehlo.constant"() <{value = dense<0.176776692> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16x1x48xf32>
    %5 = "stablehlo.multiply"(%2, %4) : (tensor<2x4x16x1x48xf32>, tensor<2x4x16x1x48xf32>) -> tensor<2x4x16x1x48xf32>
    %6 = "stablehlo.convert"(%1) : (tensor<2x4x1x16x48xf16>) -> tensor<2x4x1x16x48xf32>
    %7 = "stablehlo.transpose"(%5) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x4x16x1x48xf32>) -> tensor<1x2x4x16x48xf32>
    %8 = "stablehlo.transpose"(%6) <{permutation = array<i64: 2, 0, 1, 3, 4>}> : (tensor<2x4x1x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    %9 = "stablehlo.add"(%7, %8) : (tensor<1x2x4x16x48xf32>, tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    %10 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.reduce"(%9, %10) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %30 = "stablehlo.maximum"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%30) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x16x48xf32>, tensor<f32>) -> tensor<1x2x4x16xf32>
    %12 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x4x16xf32>
    %14 = "stablehlo.maximum"(%13, %11) : (tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16x1xf32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x16x1xf32>) -> tensor<1x2x4x16x48xf32>
    %17 = "stablehlo.subtract"(%9, %16) : (tensor<1x2x4x16x48xf32>, tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    %18 = "stablehlo.exponential"(%17) : (tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    %19 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %20 = "stablehlo.reduce"(%18, %19) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %29 = "stablehlo.add"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%29) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x16x48xf32>, tensor<f32>) -> tensor<1x2x4x16xf32>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16x1xf32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x16x1xf32>) -> tensor<1x2x4x16x48xf32>
    %23 = "stablehlo.divide"(%18, %22) : (tensor<1x2x4x16x48xf32>, tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    %24 = "stablehlo.convert"(%23) : (tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf16>
    %25 = "stablehlo.dot_general"(%arg2, %24) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x48x4x32xf16>, tensor<1x2x4x16x48xf16>) -> tensor<2x4x32x1x16xf16>
    %26 = "stablehlo.transpose"(%25) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x4x32x1x16xf16>) -> tensor<1x2x16x4x32xf16>
    %27 = "stablehlo.transpose"(%26) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x2x16x4x32xf16>) -> tensor<2x16x4x1x32xf16>
    %28 = "stablehlo.reshape"(%27) : (tensor<2x16x4x1x32xf16>) -> tensor<2x16x4x32xf16>
    "func.return"(%28) : (tensor<2x16x4x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
