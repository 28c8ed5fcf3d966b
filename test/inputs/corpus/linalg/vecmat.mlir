func.func @main(%v: tensor<16xf16>, %a: tensor<16x64xf16>) -> tensor<64xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<64xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.vecmat ins(%v, %a : tensor<16xf16>, tensor<16x64xf16>) outs(%z : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
