func.func @main(%a: tensor<16x64xf32>) -> tensor<64xf32> {
  %zc = arith.constant 0xFF800000 : f32
  %ze = tensor.empty() : tensor<64xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.reduce ins(%a : tensor<16x64xf32>) outs(%z : tensor<64xf32>) dimensions = [0]
    (%in: f32, %acc: f32) {
      %m = arith.maximumf %in, %acc : f32
      linalg.yield %m : f32
    }
  return %s : tensor<64xf32>
}
