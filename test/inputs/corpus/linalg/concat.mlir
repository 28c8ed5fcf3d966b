func.func @main(%a: tensor<16x64xf32>, %b: tensor<16x16xf32>) -> tensor<16x80xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<16x64xf32>, tensor<16x16xf32>) -> tensor<16x80xf32>
  %r = math.tanh %c : tensor<16x80xf32>
  return %r : tensor<16x80xf32>
}
