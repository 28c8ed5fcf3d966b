"builtin.module"() <{sym_name = "jit_attn_bool"}> ({
  "func.func"() <{function_type = (tensor<4x16x32xf16>, tensor<4x48x32xf16>, tensor<4x48x32xf16>, tensor<16x48xi1>) -> tensor<4x16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<4x16x32xf16>, %arg4: tensor<4x48x32xf16>, %arg5: tensor<4x48x32xf16>, %arg6: tensor<16x48xi1>):
    %4 = "stablehlo.dot_general"(%arg3, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x32xf16>, tensor<4x48x32xf16>) -> tensor<4x16x48xf32>
    %5 = "stablehlo.constant"() <{value = dense<0.176776692> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16x48xf32>
    %7 = "stablehlo.multiply"(%4, %6) : (tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %8 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %9 = "func.call"(%arg6, %7, %8) <{callee = @_where}> : (tensor<16x48xi1>, tensor<4x16x48xf32>, tensor<f32>) -> tensor<4x16x48xf32>
    %10 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.reduce"(%9, %10) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %27 = "stablehlo.maximum"(%arg9, %arg10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%27) : (tensor<f32>) -> ()
    }) : (tensor<4x16x48xf32>, tensor<f32>) -> tensor<4x16xf32>
    %12 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16xf32>
    %14 = "stablehlo.maximum"(%13, %11) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x16xf32>) -> tensor<4x16x1xf32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x16x1xf32>) -> tensor<4x16x48xf32>
    %17 = "stablehlo.subtract"(%9, %16) : (tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %18 = "stablehlo.exponential"(%17) : (tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %19 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %20 = "stablehlo.reduce"(%18, %19) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %26 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%26) : (tensor<f32>) -> ()
    }) : (tensor<4x16x48xf32>, tensor<f32>) -> tensor<4x16xf32>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x16xf32>) -> tensor<4x16x1xf32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x16x1xf32>) -> tensor<4x16x48xf32>
    %23 = "stablehlo.divide"(%18, %22) : (tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    %24 = "stablehlo.convert"(%23) : (tensor<4x16x48xf32>) -> tensor<4x16x48xf16>
    %25 = "stablehlo.dot_general"(%24, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x48xf16>, tensor<4x48x32xf16>) -> tensor<4x16x32xf16>
    "func.return"(%25) : (tensor<4x16x32xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x48xi1>, tensor<4x16x48xf32>, tensor<f32>) -> tensor<4x16x48xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x48xi1>, %arg1: tensor<4x16x48xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x48xi1>) -> tensor<4x16x48xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16x48xf32>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<4x16x48xi1>, tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
    "func.return"(%3) : (tensor<4x16x48xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
