"builtin.module"() <{sym_name = "jit_attention_block"}> ({
  "func.func"() <{function_type = (tensor<2x16x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<2x16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x16x64xf16>, %arg1: tensor<64x64xf16>, %arg2: tensor<64x64xf16>, %arg3: tensor<64x64xf16>, %arg4: tensor<64x64xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf16>, tensor<64x64xf16>) -> tensor<2x16x64xf16>
    %1 = "stablehlo.reshape"(%0) : (tensor<2x16x64xf16>) -> tensor<2x16x4x16xf16>
    %2 = "stablehlo.dot_general"(%arg0, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf16>, tensor<64x64xf16>) -> tensor<2x16x64xf16>
    %3 = "stablehlo.reshape"(%2) : (tensor<2x16x64xf16>) -> tensor<2x16x4x16xf16>
    %4 = "stablehlo.dot_general"(%arg0, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf16>, tensor<64x64xf16>) -> tensor<2x16x64xf16>
    %5 = "stablehlo.reshape"(%4) : (tensor<2x16x64xf16>) -> tensor<2x16x4x16xf16>
    %6 = "stablehlo.reshape"(%1) : (tensor<2x16x4x16xf16>) -> tensor<2x16x4x1x16xf16>
    %7 = "stablehlo.dot_general"(%6, %3) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x4x1x16xf16>, tensor<2x16x4x16xf16>) -> tensor<2x4x16x1x16xf32>
    %8 = "stablehlo.constant"() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16x1x16xf32>
    %10 = "stablehlo.multiply"(%7, %9) : (tensor<2x4x16x1x16xf32>, tensor<2x4x16x1x16xf32>) -> tensor<2x4x16x1x16xf32>
    %11 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %12 = "stablehlo.reduce"(%10, %11) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %36 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%36) : (tensor<f32>) -> ()
    }) : (tensor<2x4x16x1x16xf32>, tensor<f32>) -> tensor<2x4x16x1xf32>
    %13 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16x1xf32>
    %15 = "stablehlo.maximum"(%14, %12) : (tensor<2x4x16x1xf32>, tensor<2x4x16x1xf32>) -> tensor<2x4x16x1xf32>
    %16 = "stablehlo.transpose"(%15) <{permutation = array<i64: 3, 0, 1, 2>}> : (tensor<2x4x16x1xf32>) -> tensor<1x2x4x16xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16x1xf32>
    %18 = "stablehlo.transpose"(%10) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x4x16x1x16xf32>) -> tensor<1x2x4x16x16xf32>
    %19 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x16x1xf32>) -> tensor<1x2x4x16x16xf32>
    %20 = "stablehlo.subtract"(%18, %19) : (tensor<1x2x4x16x16xf32>, tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    %21 = "stablehlo.exponential"(%20) : (tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    %22 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %23 = "stablehlo.reduce"(%21, %22) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %35 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%35) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x16x16xf32>, tensor<f32>) -> tensor<1x2x4x16xf32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16x1xf32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x16x1xf32>) -> tensor<1x2x4x16x16xf32>
    %26 = "stablehlo.divide"(%21, %25) : (tensor<1x2x4x16x16xf32>, tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    %27 = "stablehlo.convert"(%26) : (tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf16>
    %28 = "stablehlo.dot_general"(%5, %27) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x4x16xf16>, tensor<1x2x4x16x16xf16>) -> tensor<2x4x16x1x16xf16>
    %29 = "stablehlo.transpose"(%28) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x4x16x1x16xf16>) -> tensor<1x2x16x4x16xf16>
    %30 = "stablehlo.transpose"(%29) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x2x16x4x16xf16>) -> tensor<2x16x4x1x16xf16>
    %31 = "stablehlo.reshape"(%30) : (tensor<2x16x4x1x16xf16>) -> tensor<2x16x4x16xf16>
    %32 = "stablehlo.reshape"(%31) : (tensor<2x16x4x16xf16>) -> tensor<2x16x64xf16>
    %33 = "stablehlo.dot_general"(%32, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf16>, tensor<64x64xf16>) -> tensor<2x16x64xf16>
    %34 = "stablehlo.add"(%33, %arg0) : (tensor<2x16x64xf16>, tensor<2x16x64xf16>) -> tensor<2x16x64xf16>
    "func.return"(%34) : (tensor<2x16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
