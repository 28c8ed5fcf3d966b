func.func @main(%a: tensor<4x16x32xf16>, %w: tensor<32x64xf16>) -> tensor<4x16x8x8xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<64x64xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = tensor.collapse_shape %a [[0, 1], [2]] : tensor<4x16x32xf16> into tensor<64x32xf16>
  %m = linalg.matmul ins(%c, %w : tensor<64x32xf16>, tensor<32x64xf16>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = tensor.expand_shape %m [[0, 1], [2, 3]] output_shape [4, 16, 8, 8] : tensor<64x64xf32> into tensor<4x16x8x8xf32>
  return %r : tensor<4x16x8x8xf32>
}
