// relu(a @ b + bias), with sizes that fit tensor cores.
func.func @matmul_bias_relu(%a: tensor<64x128xf16>, %b: tensor<128x96xf16>, %bias: tensor<96xf32>) -> tensor<64x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x96xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x96xf32>) -> tensor<64x96xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x128xf16>, tensor<128x96xf16>) outs(%start : tensor<64x96xf32>) -> tensor<64x96xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%c, %bias : tensor<64x96xf32>, tensor<96xf32>) outs(%empty : tensor<64x96xf32>) {
    ^bb0(%x: f32, %y: f32, %_: f32):
      %sum = arith.addf %x, %y : f32
      %positive = arith.maximumf %sum, %zero : f32
      linalg.yield %positive : f32
  } -> tensor<64x96xf32>
  return %d : tensor<64x96xf32>
}
