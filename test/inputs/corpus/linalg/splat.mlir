func.func @main(%a: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %x = arith.constant 1.5 : f32
  %v = tensor.splat %x : tensor<16x64xf32>
  %r = arith.mulf %a, %v : tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
