func.func @main(%a: tensor<16x64xf32>) -> tensor<16x32xf32> {
  %x = tensor.extract_slice %a[0, 0] [16, 32] [1, 1] : tensor<16x64xf32> to tensor<16x32xf32>
  %y = tensor.extract_slice %a[0, 1] [16, 32] [1, 2] : tensor<16x64xf32> to tensor<16x32xf32>
  %r = arith.mulf %x, %y : tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
