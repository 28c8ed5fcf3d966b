// What examples/downstream/xdsl_pipeline.py compiles: one function for the GPU, and one that is not.

func.func @layer(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf16> attributes {acme.gpu} {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<16x32xf16>
  %init = linalg.fill ins(%zero : f16) outs(%empty : tensor<16x32xf16>) -> tensor<16x32xf16>
  %y = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%init : tensor<16x32xf16>) -> tensor<16x32xf16>
  return %y : tensor<16x32xf16>
}

func.func @host(%n: i64) -> i64 {
  return %n : i64
}
