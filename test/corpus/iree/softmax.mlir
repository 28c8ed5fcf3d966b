func.func @softmax(%x: tensor<5x192xf32>) -> tensor<5x192xf32> {
  %empty = tensor.empty() : tensor<5x192xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<5x192xf32>) outs(%empty : tensor<5x192xf32>) -> tensor<5x192xf32>
  return %y : tensor<5x192xf32>
}
