func.func @main(%x: tensor<1x32xf16>, %w: tensor<32x16xf16>, %at: tensor<i32>, %cache: tensor<16x16xf16>)
    -> (tensor<1x16xf16>, tensor<16x16xf16>) {
  %c0 = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16xf16>
  %f = linalg.fill ins(%c0 : f16) outs(%e : tensor<1x16xf16>) -> tensor<1x16xf16>
  %k = linalg.matmul ins(%x, %w : tensor<1x32xf16>, tensor<32x16xf16>) outs(%f : tensor<1x16xf16>) -> tensor<1x16xf16>
  %n = tensor.extract %at[] : tensor<i32>
  %i = arith.index_cast %n : i32 to index
  %new = tensor.insert_slice %k into %cache[%i, 0] [1, 16] [1, 1] : tensor<1x16xf16> into tensor<16x16xf16>
  %te = tensor.empty() : tensor<16x16xf16>
  %t = linalg.transpose ins(%new : tensor<16x16xf16>) outs(%te : tensor<16x16xf16>) permutation = [1, 0]
  %s = linalg.matmul ins(%k, %t : tensor<1x16xf16>, tensor<16x16xf16>) outs(%f : tensor<1x16xf16>) -> tensor<1x16xf16>
  %p = math.tanh %s : tensor<1x16xf16>
  %o = linalg.matmul ins(%p, %new : tensor<1x16xf16>, tensor<16x16xf16>) outs(%f : tensor<1x16xf16>) -> tensor<1x16xf16>
  return %o, %new : tensor<1x16xf16>, tensor<16x16xf16>
}
