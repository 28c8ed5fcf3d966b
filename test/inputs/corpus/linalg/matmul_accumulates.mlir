func.func @main(%a: tensor<16x64xf16>, %w: tensor<64x32xf16>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %r = linalg.matmul ins(%a, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
