"builtin.module"() <{sym_name = "jit_rope_attention"}> ({
  "func.func"() <{function_type = (tensor<2x4x16x32xf16>, tensor<2x4x16x32xf16>, tensor<2x4x16x32xf16>, tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<2x4x16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x4x16x32xf16>, %arg1: tensor<2x4x16x32xf16>, %arg2: tensor<2x4x16x32xf16>, %arg3: tensor<16x32xf16>, %arg4: tensor<16x32xf16>):
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 2, 4, 16, 16>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x4x16x32xf16>) -> tensor<2x4x16x16xf16>
    %1 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 2, 4, 16, 32>, start_indices = array<i64: 0, 0, 0, 16>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x4x16x32xf16>) -> tensor<2x4x16x16xf16>
    %2 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<16x32xf16>) -> tensor<1x1x16x32xf16>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x16x32xf16>) -> tensor<2x4x16x32xf16>
    %4 = "stablehlo.multiply"(%arg0, %3) : (tensor<2x4x16x32xf16>, tensor<2x4x16x32xf16>) -> tensor<2x4x16x32xf16>
    %5 = "stablehlo.negate"(%1) : (tensor<2x4x16x16xf16>) -> tensor<2x4x16x16xf16>
    %6 = "stablehlo.concatenate"(%5, %0) <{dimension = 3 : i64}> : (tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>) -> tensor<2x4x16x32xf16>
    %7 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<16x32xf16>) -> tensor<1x1x16x32xf16>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x16x32xf16>) -> tensor<2x4x16x32xf16>
    %9 = "stablehlo.multiply"(%6, %8) : (tensor<2x4x16x32xf16>, tensor<2x4x16x32xf16>) -> tensor<2x4x16x32xf16>
    %10 = "stablehlo.add"(%4, %9) : (tensor<2x4x16x32xf16>, tensor<2x4x16x32xf16>) -> tensor<2x4x16x32xf16>
    %11 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 2, 4, 16, 16>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x4x16x32xf16>) -> tensor<2x4x16x16xf16>
    %12 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 2, 4, 16, 32>, start_indices = array<i64: 0, 0, 0, 16>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x4x16x32xf16>) -> tensor<2x4x16x16xf16>
    %13 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<16x32xf16>) -> tensor<1x1x16x32xf16>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x16x32xf16>) -> tensor<2x4x16x32xf16>
    %15 = "stablehlo.multiply"(%arg1, %14) : (tensor<2x4x16x32xf16>, tensor<2x4x16x32xf16>) -> tensor<2x4x16x32xf16>
    %16 = "stablehlo.negate"(%12) : (tensor<2x4x16x16xf16>) -> tensor<2x4x16x16xf16>
    %17 = "stablehlo.concatenate"(%16, %11) <{dimension = 3 : i64}> : (tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>) -> tensor<2x4x16x32xf16>
    %18 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<16x32xf16>) -> tensor<1x1x16x32xf16>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x16x32xf16>) -> tensor<2x4x16x32xf16>
    %20 = "stablehlo.multiply"(%17, %19) : (tensor<2x4x16x32xf16>, tensor<2x4x16x32xf16>) -> tensor<2x4x16x32xf16>
    %21 = "stablehlo.add"(%15, %20) : (tensor<2x4x16x32xf16>, tensor<2x4x16x32xf16>) -> tensor<2x4x16x32xf16>
    %22 = "stablehlo.dot_general"(%10, %21) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x4x16x32xf16>, tensor<2x4x16x32xf16>) -> tensor<2x4x16x16xf32>
    %23 = "stablehlo.constant"() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16x16xf32>
    %25 = "stablehlo.multiply"(%22, %24) : (tensor<2x4x16x16xf32>, tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf32>
    %26 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %27 = "stablehlo.reduce"(%25, %26) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %43 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%43) : (tensor<f32>) -> ()
    }) : (tensor<2x4x16x16xf32>, tensor<f32>) -> tensor<2x4x16xf32>
    %28 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16xf32>
    %30 = "stablehlo.maximum"(%29, %27) : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x16xf32>) -> tensor<2x4x16x1xf32>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x16x1xf32>) -> tensor<2x4x16x16xf32>
    %33 = "stablehlo.subtract"(%25, %32) : (tensor<2x4x16x16xf32>, tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf32>
    %34 = "stablehlo.exponential"(%33) : (tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf32>
    %35 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %36 = "stablehlo.reduce"(%34, %35) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %42 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%42) : (tensor<f32>) -> ()
    }) : (tensor<2x4x16x16xf32>, tensor<f32>) -> tensor<2x4x16xf32>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x16xf32>) -> tensor<2x4x16x1xf32>
    %38 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x16x1xf32>) -> tensor<2x4x16x16xf32>
    %39 = "stablehlo.divide"(%34, %38) : (tensor<2x4x16x16xf32>, tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf32>
    %40 = "stablehlo.convert"(%39) : (tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf16>
    %41 = "stablehlo.dot_general"(%40, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x4x16x16xf16>, tensor<2x4x16x32xf16>) -> tensor<2x4x16x32xf16>
    "func.return"(%41) : (tensor<2x4x16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
