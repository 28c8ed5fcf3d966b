func.func @main(%a: tensor<16x64xf32>) -> tensor<64x16xf32> {
  %e = tensor.empty() : tensor<64x16xf32>
  %t = linalg.transpose ins(%a : tensor<16x64xf32>) outs(%e : tensor<64x16xf32>) permutation = [1, 0]
  %e2 = tensor.empty() : tensor<64x16xf32>
  %r = linalg.copy ins(%t : tensor<64x16xf32>) outs(%e2 : tensor<64x16xf32>) -> tensor<64x16xf32>
  return %r : tensor<64x16xf32>
}
