"builtin.module"() ({
  "func.func"() <{function_type = (tensor<16x1x128xf16>, tensor<16x2048x128xf16>, tensor<16x2048x128xf16>) -> tensor<16x1x128xf16>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<16x1x128xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":2:19), %arg1: tensor<16x2048x128xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":2:48), %arg2: tensor<16x2048x128xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":2:80)):
    %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":3:12)
    %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":4:14)
    %2 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 0, 2, 1>}> : (tensor<16x2048x128xf16>) -> tensor<16x128x2048xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":5:10)
    %3 = "stablehlo.reshape"(%arg0) : (tensor<16x1x128xf16>) -> tensor<16x1x128xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":6:10)
    %4 = "stablehlo.reshape"(%2) : (tensor<16x128x2048xf16>) -> tensor<16x128x2048xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":7:10)
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<16x128x2048xf16>) -> tensor<16x128x2048xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":8:10)
    %6 = "stablehlo.dot_general"(%3, %5) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<16x1x128xf16>, tensor<16x128x2048xf16>) -> tensor<16x1x2048xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":9:10)
    %7 = "stablehlo.reshape"(%6) : (tensor<16x1x2048xf16>) -> tensor<16x1x2048xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":10:10)
    %8 = "stablehlo.convert"(%7) : (tensor<16x1x2048xf16>) -> tensor<16x1x2048xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":11:10)
    %9 = "stablehlo.reduce"(%8, %0) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<f32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":12:26), %arg6: tensor<f32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":12:26)):
      %25 = "stablehlo.maximum"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":12:26)
      "stablehlo.return"(%25) : (tensor<f32>) -> () loc("attention_b2_g8_h2048_d128.stablehlo.mlir":12:26)
    }) : (tensor<16x1x2048xf32>, tensor<f32>) -> tensor<16x1xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":12:26)
    %10 = "stablehlo.reshape"(%9) : (tensor<16x1xf32>) -> tensor<16x1x1xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":13:10)
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<16x1x1xf32>) -> tensor<16x1x2048xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":14:10)
    %12 = "stablehlo.subtract"(%8, %11) : (tensor<16x1x2048xf32>, tensor<16x1x2048xf32>) -> tensor<16x1x2048xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":15:11)
    %13 = "stablehlo.exponential"(%12) : (tensor<16x1x2048xf32>) -> tensor<16x1x2048xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":16:11)
    %14 = "stablehlo.reduce"(%13, %1) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg3: tensor<f32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":17:27), %arg4: tensor<f32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":17:27)):
      %24 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":17:27)
      "stablehlo.return"(%24) : (tensor<f32>) -> () loc("attention_b2_g8_h2048_d128.stablehlo.mlir":17:27)
    }) : (tensor<16x1x2048xf32>, tensor<f32>) -> tensor<16x1xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":17:27)
    %15 = "stablehlo.reshape"(%14) : (tensor<16x1xf32>) -> tensor<16x1x1xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":18:11)
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<16x1x1xf32>) -> tensor<16x1x2048xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":19:11)
    %17 = "stablehlo.divide"(%13, %16) : (tensor<16x1x2048xf32>, tensor<16x1x2048xf32>) -> tensor<16x1x2048xf32> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":20:11)
    %18 = "stablehlo.convert"(%17) : (tensor<16x1x2048xf32>) -> tensor<16x1x2048xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":21:11)
    %19 = "stablehlo.reshape"(%18) : (tensor<16x1x2048xf16>) -> tensor<16x1x2048xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":22:11)
    %20 = "stablehlo.reshape"(%arg2) : (tensor<16x2048x128xf16>) -> tensor<16x2048x128xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":23:11)
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<16x2048x128xf16>) -> tensor<16x2048x128xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":24:11)
    %22 = "stablehlo.dot_general"(%19, %21) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<16x1x2048xf16>, tensor<16x2048x128xf16>) -> tensor<16x1x128xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":25:11)
    %23 = "stablehlo.reshape"(%22) : (tensor<16x1x128xf16>) -> tensor<16x1x128xf16> loc("attention_b2_g8_h2048_d128.stablehlo.mlir":26:11)
    "func.return"(%23) : (tensor<16x1x128xf16>) -> () loc("attention_b2_g8_h2048_d128.stablehlo.mlir":27:5)
  }) : () -> () loc("attention_b2_g8_h2048_d128.stablehlo.mlir":2:3)
}) : () -> () loc("attention_b2_g8_h2048_d128.stablehlo.mlir":1:1)
