// softmax(Q K^T / 8, where the mask is true) V: 4 heads of 32 queries and 96 keys of 64 elements, one mask of truth values for all heads.
#q = affine_map<(b, m, n, k) -> (b, m, k)>
#k = affine_map<(b, m, n, k) -> (b, n, k)>
#s = affine_map<(b, m, n, k) -> (b, m, n)>
#e = affine_map<(b, m, n) -> (b, m, n)>
#mk = affine_map<(b, m, n) -> (m, n)>
#r = affine_map<(b, m, n) -> (b, m)>
#v = affine_map<(b, m, n, k) -> (b, k, n)>
#p = affine_map<(b, m, n, k) -> (b, m, k)>
func.func @main(%q: tensor<4x32x64xf16>, %k: tensor<4x96x64xf16>, %v: tensor<4x96x64xf16>, %mask: tensor<32x96xi1>) -> tensor<4x32x64xf16> {
  %z = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<4x32x96xf32>
  %sf = linalg.fill ins(%z : f32) outs(%se : tensor<4x32x96xf32>) -> tensor<4x32x96xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<4x32x64xf16>, tensor<4x96x64xf16>) outs(%sf : tensor<4x32x96xf32>) {
  ^bb0(%a: f16, %b: f16, %o: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %m = arith.mulf %a32, %b32 : f32
    %t = arith.addf %o, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x32x96xf32>
  %sm = linalg.generic {indexing_maps = [#e, #mk, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %mask : tensor<4x32x96xf32>, tensor<32x96xi1>) outs(%se : tensor<4x32x96xf32>) {
  ^bb0(%a: f32, %b: i1, %o: f32):
    %c = arith.constant 0.125 : f32
    %x = arith.mulf %a, %c : f32
    %y = arith.select %b, %x, %ninf : f32
    linalg.yield %y : f32
  } -> tensor<4x32x96xf32>
  %re = tensor.empty() : tensor<4x32xf32>
  %rf = linalg.fill ins(%ninf : f32) outs(%re : tensor<4x32xf32>) -> tensor<4x32xf32>
  %mx = linalg.generic {indexing_maps = [#e, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%sm : tensor<4x32x96xf32>) outs(%rf : tensor<4x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.maximumf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<4x32xf32>
  %ex = linalg.generic {indexing_maps = [#e, #r, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%sm, %mx : tensor<4x32x96xf32>, tensor<4x32xf32>) outs(%se : tensor<4x32x96xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %x = math.exp %d : f32
    linalg.yield %x : f32
  } -> tensor<4x32x96xf32>
  %rz = linalg.fill ins(%z : f32) outs(%re : tensor<4x32xf32>) -> tensor<4x32xf32>
  %sum = linalg.generic {indexing_maps = [#e, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%ex : tensor<4x32x96xf32>) outs(%rz : tensor<4x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<4x32xf32>
  %he = tensor.empty() : tensor<4x32x96xf16>
  %pr = linalg.generic {indexing_maps = [#e, #r, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%ex, %sum : tensor<4x32x96xf32>, tensor<4x32xf32>) outs(%he : tensor<4x32x96xf16>) {
  ^bb0(%a: f32, %b: f32, %o: f16):
    %d = arith.divf %a, %b : f32
    %h = arith.truncf %d : f32 to f16
    linalg.yield %h : f16
  } -> tensor<4x32x96xf16>
  %oe = tensor.empty() : tensor<4x32x64xf32>
  %of = linalg.fill ins(%z : f32) outs(%oe : tensor<4x32x64xf32>) -> tensor<4x32x64xf32>
  %o = linalg.generic {indexing_maps = [#p, #v, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%pr, %v : tensor<4x32x96xf16>, tensor<4x96x64xf16>) outs(%of : tensor<4x32x64xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %m = arith.mulf %a32, %b32 : f32
    %t = arith.addf %c, %m : f32
    linalg.yield %t : f32
  } -> tensor<4x32x64xf32>
  %ge = tensor.empty() : tensor<4x32x64xf16>
  %g = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%o : tensor<4x32x64xf32>) outs(%ge : tensor<4x32x64xf16>) {
  ^bb0(%a: f32, %c: f16):
    %h = arith.truncf %a : f32 to f16
    linalg.yield %h : f16
  } -> tensor<4x32x64xf16>
  return %g : tensor<4x32x64xf16>
}
