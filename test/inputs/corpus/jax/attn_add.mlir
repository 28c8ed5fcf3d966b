"builtin.module"() <{sym_name = "jit_attn_add"}> ({
  "func.func"() <{function_type = (tensor<4x16x32xf16>, tensor<4x48x32xf16>, tensor<4x48x32xf16>, tensor<16x48xf16>) -> tensor<4x16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x16x32xf16>, %arg1: tensor<4x48x32xf16>, %arg2: tensor<4x48x32xf16>, %arg3: tensor<16x48xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x32xf16>, tensor<4x48x32xf16>) -> tensor<4x16x48xf16>
    %1 = "stablehlo.constant"() <{value = dense<1.767580e-01> : tensor<f16>}> : () -> tensor<f16>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<4x16x48xf16>
    %3 = "stablehlo.multiply"(%0, %2) : (tensor<4x16x48xf16>, tensor<4x16x48xf16>) -> tensor<4x16x48xf16>
    %4 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x48xf16>) -> tensor<1x16x48xf16>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x16x48xf16>) -> tensor<4x16x48xf16>
    %6 = "stablehlo.add"(%3, %5) : (tensor<4x16x48xf16>, tensor<4x16x48xf16>) -> tensor<4x16x48xf16>
    %7 = "stablehlo.convert"(%6) : (tensor<4x16x48xf16>) -> tensor<4x16x48xf32>
    %8 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.reduce"(%7, %8) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %25 = "stablehlo.maximum"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%25) : (tensor<f32>) -> ()
    }) : (tensor<4x16x48xf32>, tensor<f32>) -> tensor<4x16xf32>
    %10 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16xf32>
    %12 = "stablehlo.maximum"(%11, %9) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x16xf32>) -> tensor<4x16x1xf32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x16x1xf32>) -> tensor<4x16x48xf32>
    %15 = "stablehlo.subtract"(%7, %14) : (tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %16 = "stablehlo.exponential"(%15) : (tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %17 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %18 = "stablehlo.reduce"(%16, %17) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %24 = "stablehlo.add"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%24) : (tensor<f32>) -> ()
    }) : (tensor<4x16x48xf32>, tensor<f32>) -> tensor<4x16xf32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x16xf32>) -> tensor<4x16x1xf32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x16x1xf32>) -> tensor<4x16x48xf32>
    %21 = "stablehlo.divide"(%16, %20) : (tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %22 = "stablehlo.convert"(%21) : (tensor<4x16x48xf32>) -> tensor<4x16x48xf16>
    %23 = "stablehlo.dot_general"(%22, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x48xf16>, tensor<4x48x32xf16>) -> tensor<4x16x32xf16>
    "func.return"(%23) : (tensor<4x16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
