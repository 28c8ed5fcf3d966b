func.func @main(%a: tensor<4x16xf32>) -> tensor<64xf32> {
  %s = arith.constant dense<[64]> : tensor<1xi64>
  %e = math.exp %a : tensor<4x16xf32>
  %r = tensor.reshape %e(%s) : (tensor<4x16xf32>, tensor<1xi64>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
