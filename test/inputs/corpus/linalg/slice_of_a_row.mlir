func.func @main(%a: tensor<16x64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %x = tensor.extract_slice %a[3, 0] [1, 64] [1, 1] : tensor<16x64xf32> to tensor<64xf32>
  %r = arith.addf %x, %b : tensor<64xf32>
  return %r : tensor<64xf32>
}
