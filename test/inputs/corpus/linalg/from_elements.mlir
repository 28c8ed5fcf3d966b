func.func @main(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %x = arith.constant 1.5 : f32
  %y = arith.constant -2.0 : f32
  %v = tensor.from_elements %x, %y : tensor<2xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %b = linalg.broadcast ins(%v : tensor<2xf32>) outs(%e : tensor<4x2xf32>) dimensions = [0]
  %r = arith.mulf %a, %b : tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}
