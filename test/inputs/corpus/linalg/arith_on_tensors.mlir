func.func @main(%a: tensor<16x64xf32>, %b: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %s = arith.addf %a, %b : tensor<16x64xf32>
  %e = math.exp %s : tensor<16x64xf32>
  %c = arith.constant dense<2.0> : tensor<16x64xf32>
  %r = arith.divf %e, %c : tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
