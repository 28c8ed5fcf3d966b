"builtin.module"() ({
  "func.func"() <{function_type = (tensor<16x1024xf16>, tensor<1024x1024xf16>) -> tensor<16x1024xf16>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<16x1024xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":2:19), %arg1: tensor<1024x1024xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":2:47)):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f16>}> : () -> tensor<f16> loc("rms_norm_d1024_n16.stablehlo.mlir":3:12)
    %1 = "arith.constant"() <{value = dense<1024> : tensor<1xi64>}> : () -> tensor<1xi64> loc("rms_norm_d1024_n16.stablehlo.mlir":4:14)
    %2 = "arith.constant"() <{value = dense<9.9999999999999995E-7> : tensor<1xf64>}> : () -> tensor<1xf64> loc("rms_norm_d1024_n16.stablehlo.mlir":5:14)
    %3 = "stablehlo.multiply"(%arg0, %arg0) : (tensor<16x1024xf16>, tensor<16x1024xf16>) -> tensor<16x1024xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":6:10)
    %4 = "stablehlo.reduce"(%3, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg2: tensor<f16> loc("rms_norm_d1024_n16.stablehlo.mlir":7:26), %arg3: tensor<f16> loc("rms_norm_d1024_n16.stablehlo.mlir":7:26)):
      %18 = "stablehlo.add"(%arg2, %arg3) : (tensor<f16>, tensor<f16>) -> tensor<f16> loc("rms_norm_d1024_n16.stablehlo.mlir":7:26)
      "stablehlo.return"(%18) : (tensor<f16>) -> () loc("rms_norm_d1024_n16.stablehlo.mlir":7:26)
    }) : (tensor<16x1024xf16>, tensor<f16>) -> tensor<16xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":7:26)
    %5 = "stablehlo.reshape"(%4) : (tensor<16xf16>) -> tensor<16x1xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":8:10)
    %6 = "stablehlo.convert"(%1) : (tensor<1xi64>) -> tensor<1xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":9:10)
    %7 = "stablehlo.reshape"(%6) : (tensor<1xf16>) -> tensor<f16> loc("rms_norm_d1024_n16.stablehlo.mlir":10:10)
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x1xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":11:10)
    %9 = "stablehlo.divide"(%5, %8) : (tensor<16x1xf16>, tensor<16x1xf16>) -> tensor<16x1xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":12:10)
    %10 = "stablehlo.convert"(%2) : (tensor<1xf64>) -> tensor<1xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":13:10)
    %11 = "stablehlo.reshape"(%10) : (tensor<1xf16>) -> tensor<f16> loc("rms_norm_d1024_n16.stablehlo.mlir":14:10)
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x1xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":15:10)
    %13 = "stablehlo.add"(%9, %12) : (tensor<16x1xf16>, tensor<16x1xf16>) -> tensor<16x1xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":16:11)
    %14 = "stablehlo.rsqrt"(%13) : (tensor<16x1xf16>) -> tensor<16x1xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":17:11)
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf16>) -> tensor<16x1024xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":18:11)
    %16 = "stablehlo.multiply"(%arg0, %15) : (tensor<16x1024xf16>, tensor<16x1024xf16>) -> tensor<16x1024xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":19:11)
    %17 = "stablehlo.dot_general"(%16, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x1024xf16>, tensor<1024x1024xf16>) -> tensor<16x1024xf16> loc("rms_norm_d1024_n16.stablehlo.mlir":20:11)
    "func.return"(%17) : (tensor<16x1024xf16>) -> () loc("rms_norm_d1024_n16.stablehlo.mlir":21:5)
  }) : () -> () loc("rms_norm_d1024_n16.stablehlo.mlir":2:3)
}) : () -> () loc("rms_norm_d1024_n16.stablehlo.mlir":1:1)
