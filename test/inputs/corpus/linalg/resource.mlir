func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = arith.constant dense_resource<w> : tensor<2x2xf32>
  %r = arith.mulf %a, %c : tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F000000400000404000008040"
    }
  }
#-}
