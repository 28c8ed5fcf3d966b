func.func @main(%a: tensor<2x4x8x8xf16>, %b: tensor<3x4x8x8xf16>) -> tensor<2x3x8x8xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<2x3x8x8xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %r = linalg.mmt4d ins(%a, %b : tensor<2x4x8x8xf16>, tensor<3x4x8x8xf16>) outs(%z : tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  return %r : tensor<2x3x8x8xf32>
}
