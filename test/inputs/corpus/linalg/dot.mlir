func.func @main(%v: tensor<64xf32>, %w: tensor<64xf32>) -> tensor<f32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<f32>) -> tensor<f32>
  %r = linalg.dot ins(%v, %w : tensor<64xf32>, tensor<64xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
