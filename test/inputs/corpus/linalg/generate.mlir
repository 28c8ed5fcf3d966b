func.func @main(%a: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %v = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c = arith.cmpi sge, %i, %j : index
    %t = arith.constant 1.0 : f32
    %f = arith.constant 0.0 : f32
    %x = arith.select %c, %t, %f : f32
    tensor.yield %x : f32
  } : tensor<16x64xf32>
  %r = arith.mulf %a, %v : tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
