// Sizes known at launch only: the kernel gets them as scalars after the pointers.
func.func @matmul_dynamic(%a: tensor<?x32xf32>, %b: tensor<32x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x32xf32>
  %n = tensor.dim %b, %c1 : tensor<32x?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x32xf32>, tensor<32x?xf32>) outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}
