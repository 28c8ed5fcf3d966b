func.func @main(%a: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.cast %a : tensor<16x64xf32> to tensor<?x64xf32>
  %n = tensor.dim %d, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %x = linalg.exp ins(%d : tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = tensor.cast %x : tensor<?x64xf32> to tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
