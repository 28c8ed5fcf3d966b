"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8x2048xf16>, tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<8x2048xf16>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<8x2048xf16> loc("swiglu_d2048_n8.stablehlo.mlir":2:19), %arg1: tensor<2048x2048xf16> loc("swiglu_d2048_n8.stablehlo.mlir":2:46), %arg2: tensor<2048x2048xf16> loc("swiglu_d2048_n8.stablehlo.mlir":2:76)):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x2048xf16>, tensor<2048x2048xf16>) -> tensor<8x2048xf16> loc("swiglu_d2048_n8.stablehlo.mlir":3:10)
    %1 = "stablehlo.convert"(%0) : (tensor<8x2048xf16>) -> tensor<8x2048xf32> loc("swiglu_d2048_n8.stablehlo.mlir":4:10)
    %2 = "stablehlo.logistic"(%1) : (tensor<8x2048xf32>) -> tensor<8x2048xf32> loc("swiglu_d2048_n8.stablehlo.mlir":5:10)
    %3 = "stablehlo.multiply"(%1, %2) : (tensor<8x2048xf32>, tensor<8x2048xf32>) -> tensor<8x2048xf32> loc("swiglu_d2048_n8.stablehlo.mlir":6:10)
    %4 = "stablehlo.convert"(%3) : (tensor<8x2048xf32>) -> tensor<8x2048xf16> loc("swiglu_d2048_n8.stablehlo.mlir":7:10)
    %5 = "stablehlo.dot_general"(%arg0, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x2048xf16>, tensor<2048x2048xf16>) -> tensor<8x2048xf16> loc("swiglu_d2048_n8.stablehlo.mlir":8:10)
    %6 = "stablehlo.multiply"(%4, %5) : (tensor<8x2048xf16>, tensor<8x2048xf16>) -> tensor<8x2048xf16> loc("swiglu_d2048_n8.stablehlo.mlir":9:10)
    "func.return"(%6) : (tensor<8x2048xf16>) -> () loc("swiglu_d2048_n8.stablehlo.mlir":10:5)
  }) : () -> () loc("swiglu_d2048_n8.stablehlo.mlir":2:3)
}) : () -> () loc("swiglu_d2048_n8.stablehlo.mlir":1:1)
