func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c = arith.constant dense<[[1.0, -2.0, 3.0], [0.5, 0.25, 4.0]]> : tensor<2x3xf32>
  %r = arith.mulf %a, %c : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
