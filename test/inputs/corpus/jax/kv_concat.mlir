"builtin.module"() <{sym_name = "jit_kv_concat"}> ({
  "func.func"() <{function_type = (tensor<1x8x32xf16>, tensor<1x64x32xf16>, tensor<1x64x32xf16>, tensor<1x1x32xf16>, tensor<1x1x32xf16>) -> tensor<1x8x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<1x8x32xf16>, %arg1: tensor<1x64x32xf16>, %arg2: tensor<1x64x32xf16>, %arg3: tensor<1x1x32xf16>, %arg4: tensor<1x1x32xf16>):
    %0 = "stablehlo.concatenate"(%arg1, %arg3) <{dimension = 1 : i64}> : (tensor<1x64x32xf16>, tensor<1x1x32xf16>) -> tensor<1x65x32xf16>
    %1 = "stablehlo.concatenate"(%arg2, %arg4) <{dimension = 1 : i64}> : (tensor<1x64x32xf16>, tensor<1x1x32xf16>) -> tensor<1x65x32xf16>
    %2 = "stablehlo.dot_general"(%arg0, %0) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x8x32xf16>, tensor<1x65x32xf16>) -> tensor<1x8x65xf32>
    %3 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x8x65xf32>
    %5 = "stablehlo.multiply"(%2, %4) : (tensor<1x8x65xf32>, tensor<1x8x65xf32>) -> tensor<1x8x65xf32>
    %6 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.reduce"(%5, %6) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %23 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%23) : (tensor<f32>) -> ()
    }) : (tensor<1x8x65xf32>, tensor<f32>) -> tensor<1x8xf32>
    %8 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x8xf32>
    %10 = "stablehlo.maximum"(%9, %7) : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x8xf32>) -> tensor<1x8x1xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x8x1xf32>) -> tensor<1x8x65xf32>
    %13 = "stablehlo.subtract"(%5, %12) : (tensor<1x8x65xf32>, tensor<1x8x65xf32>) -> tensor<1x8x65xf32>
    %14 = "stablehlo.exponential"(%13) : (tensor<1x8x65xf32>) -> tensor<1x8x65xf32>
    %15 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %16 = "stablehlo.reduce"(%14, %15) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %22 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%22) : (tensor<f32>) -> ()
    }) : (tensor<1x8x65xf32>, tensor<f32>) -> tensor<1x8xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x8xf32>) -> tensor<1x8x1xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x8x1xf32>) -> tensor<1x8x65xf32>
    %19 = "stablehlo.divide"(%14, %18) : (tensor<1x8x65xf32>, tensor<1x8x65xf32>) -> tensor<1x8x65xf32>
    %20 = "stablehlo.convert"(%19) : (tensor<1x8x65xf32>) -> tensor<1x8x65xf16>
    %21 = "stablehlo.dot_general"(%20, %1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x8x65xf16>, tensor<1x65x32xf16>) -> tensor<1x8x32xf16>
    "func.return"(%21) : (tensor<1x8x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
