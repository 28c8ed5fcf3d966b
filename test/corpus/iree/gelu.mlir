// Element by element, with erf; the length is no multiple of anything.
#id = affine_map<(i) -> (i)>
func.func @gelu(%x: tensor<1003xf32>) -> tensor<1003xf32> {
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.70710678 : f32
  %out = tensor.empty() : tensor<1003xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<1003xf32>) outs(%out : tensor<1003xf32>) {
    ^bb0(%a: f32, %_: f32):
      %scaled = arith.mulf %a, %root : f32
      %e = math.erf %scaled : f32
      %sum = arith.addf %e, %one : f32
      %part = arith.mulf %a, %half : f32
      %r = arith.mulf %part, %sum : f32
      linalg.yield %r : f32
  } -> tensor<1003xf32>
  return %y : tensor<1003xf32>
}
