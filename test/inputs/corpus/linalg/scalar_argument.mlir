func.func @main(%a: tensor<16x64xf32>, %s: tensor<f32>) -> tensor<16x64xf32> {
  %x = tensor.extract %s[] : tensor<f32>
  %v = tensor.splat %x : tensor<16x64xf32>
  %r = arith.mulf %a, %v : tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
