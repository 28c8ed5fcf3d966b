func.func @main(%a: tensor<4x16x32xf16>, %b: tensor<4x32xf16>) -> tensor<4x16xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<4x16xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = linalg.batch_matvec ins(%a, %b : tensor<4x16x32xf16>, tensor<4x32xf16>) outs(%z : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
