func.func @main(%a: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %sq = linalg.map { arith.mulf } ins(%a, %a : tensor<16x64xf32>, tensor<16x64xf32>) outs(%e : tensor<16x64xf32>)
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<16xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.reduce { arith.addf } ins(%sq : tensor<16x64xf32>) outs(%z : tensor<16xf32>) dimensions = [1]
  %b = linalg.broadcast ins(%s : tensor<16xf32>) outs(%e : tensor<16x64xf32>) dimensions = [1]
  %r = linalg.div ins(%a, %b : tensor<16x64xf32>, tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
