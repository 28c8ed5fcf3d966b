func.func @main(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %r = math.exp %a : tensor<2x2xf32>
  return %r, %r : tensor<2x2xf32>, tensor<2x2xf32>
}
