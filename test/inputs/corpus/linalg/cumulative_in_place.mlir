func.func @main(%a: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<16x64xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<16x64xf32>) -> tensor<16x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<16x64xf32>) outs(%z : tensor<16x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
