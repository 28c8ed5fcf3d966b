func.func private @silu(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %n = arith.negf %x : tensor<16x32xf32>
  %e = math.exp %n : tensor<16x32xf32>
  %o = arith.constant dense<1.0> : tensor<16x32xf32>
  %d = arith.addf %e, %o : tensor<16x32xf32>
  %r = arith.divf %x, %d : tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
func.func private @layer(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf32> {
  %zc = arith.constant 0.0 : f32
  %ze = tensor.empty() : tensor<16x32xf32>
  %z = linalg.fill ins(%zc : f32) outs(%ze : tensor<16x32xf32>) -> tensor<16x32xf32>
  %m = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%z : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = call @silu(%m) : (tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
func.func @main(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf32> {
  %r = call @layer(%x, %w) : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
