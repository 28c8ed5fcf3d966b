// Two tensors added, for any number of tokens: the dims of both must agree.
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<?x2048xf16> loc("x"), %y: tensor<?x2048xf16> loc("y")) -> tensor<?x2048xf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2048xf16>
  %e = tensor.empty(%n) : tensor<?x2048xf16>
  %r = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<?x2048xf16>, tensor<?x2048xf16>) outs(%e : tensor<?x2048xf16>) {
  ^bb0(%a: f16, %b: f16, %out: f16):
    %s = arith.addf %a, %b : f16
    linalg.yield %s : f16
  } -> tensor<?x2048xf16>
  return %r : tensor<?x2048xf16>
}
