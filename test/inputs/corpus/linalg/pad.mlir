func.func @main(%a: tensor<16x60xf32>, %w: tensor<64x32xf32>) -> tensor<16x32xf32> {
  %c = arith.constant 0.0 : f32
  %p = tensor.pad %a low[0, 0] high[0, 4] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<16x60xf32> to tensor<16x64xf32>
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<16x32xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.matmul ins(%p, %w : tensor<16x64xf32>, tensor<64x32xf32>) outs(%z : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
