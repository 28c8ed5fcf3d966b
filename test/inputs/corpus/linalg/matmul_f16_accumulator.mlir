func.func @main(%a: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf16> {
  %zc = arith.constant 0.0 : f16
  %ze = tensor.empty() : tensor<16x32xf16>
  %z = linalg.fill ins(%zc : f16) outs(%ze : tensor<16x32xf16>) -> tensor<16x32xf16>
  %r = linalg.matmul ins(%a, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%z : tensor<16x32xf16>) -> tensor<16x32xf16>
  return %r : tensor<16x32xf16>
}
