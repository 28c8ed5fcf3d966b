func.func @main(%a: tensor<4x16x32xf16>, %b: tensor<4x32x24xf16>) -> tensor<16x24xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<16x24xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<16x24xf32>) -> tensor<16x24xf32>
  %r = linalg.batch_reduce_matmul ins(%a, %b : tensor<4x16x32xf16>, tensor<4x32x24xf16>) outs(%z : tensor<16x24xf32>) -> tensor<16x24xf32>
  return %r : tensor<16x24xf32>
}
