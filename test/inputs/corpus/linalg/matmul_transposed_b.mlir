func.func @main(%a: tensor<16x64xf16>, %w: tensor<32x64xf16>) -> tensor<16x32xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<16x32xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %w : tensor<16x64xf16>, tensor<32x64xf16>) outs(%z : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
