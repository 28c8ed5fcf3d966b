func.func @main(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>) {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = math.exp %a : tensor<2x2xf32>
  return %r, %c : tensor<2x2xf32>, tensor<2xf32>
}
