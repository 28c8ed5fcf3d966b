"builtin.module"() <{sym_name = "jit_attn_lse"}> ({
  "func.func"() <{function_type = (tensor<4x16x32xf16>, tensor<4x48x32xf16>, tensor<4x48x32xf16>) -> tensor<4x16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x16x32xf16>, %arg1: tensor<4x48x32xf16>, %arg2: tensor<4x48x32xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x32xf16>, tensor<4x48x32xf16>) -> tensor<4x16x48xf32>
    %1 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16x48xf32>
    %3 = "stablehlo.multiply"(%0, %2) : (tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %4 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.reduce"(%3, %4) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %29 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%29) : (tensor<f32>) -> ()
    }) : (tensor<4x16x48xf32>, tensor<f32>) -> tensor<4x16xf32>
    %6 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16xf32>
    %8 = "stablehlo.maximum"(%7, %5) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x16xf32>) -> tensor<4x16x1xf32>
    %10 = "stablehlo.is_finite"(%9) : (tensor<4x16x1xf32>) -> tensor<4x16x1xi1>
    %11 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16x1xf32>
    %13 = "stablehlo.select"(%10, %9, %12) : (tensor<4x16x1xi1>, tensor<4x16x1xf32>, tensor<4x16x1xf32>) -> tensor<4x16x1xf32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x16x1xf32>) -> tensor<4x16x48xf32>
    %15 = "stablehlo.subtract"(%3, %14) : (tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %16 = "stablehlo.exponential"(%15) : (tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %17 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %18 = "stablehlo.reduce"(%16, %17) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %28 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%28) : (tensor<f32>) -> ()
    }) : (tensor<4x16x48xf32>, tensor<f32>) -> tensor<4x16xf32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x16xf32>) -> tensor<4x16x1xf32>
    %20 = "stablehlo.abs"(%19) : (tensor<4x16x1xf32>) -> tensor<4x16x1xf32>
    %21 = "stablehlo.log"(%20) : (tensor<4x16x1xf32>) -> tensor<4x16x1xf32>
    %22 = "stablehlo.add"(%21, %13) : (tensor<4x16x1xf32>, tensor<4x16x1xf32>) -> tensor<4x16x1xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x16x1xf32>) -> tensor<4x16x48xf32>
    %24 = "stablehlo.subtract"(%3, %23) : (tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %25 = "stablehlo.exponential"(%24) : (tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %26 = "stablehlo.convert"(%25) : (tensor<4x16x48xf32>) -> tensor<4x16x48xf16>
    %27 = "stablehlo.dot_general"(%26, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x48xf16>, tensor<4x48x32xf16>) -> tensor<4x16x32xf16>
    "func.return"(%27) : (tensor<4x16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
