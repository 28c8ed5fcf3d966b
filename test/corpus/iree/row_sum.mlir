func.func @row_sum(%x: tensor<7x1037xf32>) -> tensor<7xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<7xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<7xf32>) -> tensor<7xf32>
  %y = linalg.reduce { arith.addf } ins(%x : tensor<7x1037xf32>) outs(%start : tensor<7xf32>) dimensions = [1]
  return %y : tensor<7xf32>
}
