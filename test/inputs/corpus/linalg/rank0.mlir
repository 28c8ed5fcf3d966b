func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %r = arith.addf %a, %b : tensor<f32>
  return %r : tensor<f32>
}
