func.func @main(%a: tensor<16x64xf32>) -> tensor<16xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<16xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<16x64xf32>) outs(%z : tensor<16xf32>) dimensions = [1]
  %n = arith.constant 64 : i64
  %f = arith.sitofp %n : i64 to f32
  %e = tensor.empty() : tensor<16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.divf %x, %f : f32
    linalg.yield %y : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}
