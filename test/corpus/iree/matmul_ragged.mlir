// Sizes that no tile divides.
func.func @matmul_ragged(%a: tensor<45x51xf16>, %b: tensor<51x37xf16>) -> tensor<45x37xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<45x37xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<45x37xf32>) -> tensor<45x37xf32>
  %c = linalg.matmul ins(%a, %b : tensor<45x51xf16>, tensor<51x37xf16>) outs(%start : tensor<45x37xf32>) -> tensor<45x37xf32>
  return %c : tensor<45x37xf32>
}
