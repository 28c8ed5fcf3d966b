func.func @main(%a: tensor<64x16xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<16x32xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(k, n, m) -> (k, m)>, affine_map<(k, n, m) -> (k, n)>, affine_map<(k, n, m) -> (m, n)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%a, %w : tensor<64x16xf16>, tensor<64x32xf16>) outs(%z : tensor<16x32xf32>) {
  ^bb0(%x: f16, %y: f16, %o: f32):
    %p = arith.extf %x : f16 to f32
    %q = arith.extf %y : f16 to f32
    %m = arith.mulf %q, %p : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
