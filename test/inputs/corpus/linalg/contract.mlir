func.func @main(%a: tensor<16x4x32xf16>, %b: tensor<24x32x4xf16>) -> tensor<4x24x16xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<4x24x16xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<4x24x16xf32>) -> tensor<4x24x16xf32>
  %r = linalg.contract indexing_maps = [affine_map<(h, m, n, k) -> (m, h, k)>, affine_map<(h, m, n, k) -> (n, k, h)>, affine_map<(h, m, n, k) -> (h, n, m)>] ins(%a, %b : tensor<16x4x32xf16>, tensor<24x32x4xf16>) outs(%z : tensor<4x24x16xf32>) -> tensor<4x24x16xf32>
  return %r : tensor<4x24x16xf32>
}
