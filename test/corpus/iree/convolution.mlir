func.func @convolution(%x: tensor<1x10x12x16xf16>, %w: tensor<3x3x16x24xf16>) -> tensor<1x8x10x24xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x10x24xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x10x24xf32>) -> tensor<1x8x10x24xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
      ins(%x, %w : tensor<1x10x12x16xf16>, tensor<3x3x16x24xf16>) outs(%start : tensor<1x8x10x24xf32>) -> tensor<1x8x10x24xf32>
  return %y : tensor<1x8x10x24xf32>
}
