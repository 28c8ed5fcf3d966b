// Integers: exact.
func.func @matmul_i8(%a: tensor<16x32xi8>, %b: tensor<32x24xi8>) -> tensor<16x24xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16x24xi32>
  %start = linalg.fill ins(%zero : i32) outs(%empty : tensor<16x24xi32>) -> tensor<16x24xi32>
  %c = linalg.matmul ins(%a, %b : tensor<16x32xi8>, tensor<32x24xi8>) outs(%start : tensor<16x24xi32>) -> tensor<16x24xi32>
  return %c : tensor<16x24xi32>
}
