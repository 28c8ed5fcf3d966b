func.func @main(%a: tensor<16x64xf16>, %v: tensor<64xf16>) -> tensor<16xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<16xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<16xf32>) -> tensor<16xf32>
  %r = linalg.matvec ins(%a, %v : tensor<16x64xf16>, tensor<64xf16>) outs(%z : tensor<16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
