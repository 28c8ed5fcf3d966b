func.func @main(%a: tensor<16x64xf32>) -> tensor<2x8x8x8xf32> {
  %e = tensor.empty() : tensor<2x8x8x8xf32>
  %x = math.exp %a : tensor<16x64xf32>
  %r = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %e : tensor<16x64xf32> -> tensor<2x8x8x8xf32>
  return %r : tensor<2x8x8x8xf32>
}
