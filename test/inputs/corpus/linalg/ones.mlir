func.func @main(%a: tensor<1x1x1xf32>) -> tensor<1x1x1xf32> {
  %r = math.exp %a : tensor<1x1x1xf32>
  return %r : tensor<1x1x1xf32>
}
