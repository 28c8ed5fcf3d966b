"builtin.module"() ({
  "func.func"() <{function_type = (tensor<16x4096xf16>, tensor<4096x4096xf16>, tensor<4096x16xf16>, tensor<16x4096xf16>) -> tensor<16x4096xf16>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<16x4096xf16> loc("lora.stablehlo.mlir":2:19), %arg1: tensor<4096x4096xf16> loc("lora.stablehlo.mlir":2:47), %arg2: tensor<4096x16xf16> loc("lora.stablehlo.mlir":2:77), %arg3: tensor<16x4096xf16> loc("lora.stablehlo.mlir":2:105)):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x4096xf16>, tensor<4096x4096xf16>) -> tensor<16x4096xf16> loc("lora.stablehlo.mlir":3:10)
    %1 = "stablehlo.dot_general"(%arg0, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x4096xf16>, tensor<4096x16xf16>) -> tensor<16x16xf16> loc("lora.stablehlo.mlir":4:10)
    %2 = "stablehlo.dot_general"(%1, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x16xf16>, tensor<16x4096xf16>) -> tensor<16x4096xf16> loc("lora.stablehlo.mlir":5:10)
    %3 = "stablehlo.add"(%0, %2) : (tensor<16x4096xf16>, tensor<16x4096xf16>) -> tensor<16x4096xf16> loc("lora.stablehlo.mlir":6:10)
    "func.return"(%3) : (tensor<16x4096xf16>) -> () loc("lora.stablehlo.mlir":7:5)
  }) : () -> () loc("lora.stablehlo.mlir":2:3)
}) : () -> () loc("lora.stablehlo.mlir":1:1)
