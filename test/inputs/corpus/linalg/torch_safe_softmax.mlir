// What PyTorch's attention with a mask computes: rows without any score are zero, not NaN.
#e = affine_map<(b, m, n) -> (b, m, n)>
#mask = affine_map<(b, m, n) -> (m, n)>
#one = affine_map<(b, m, n) -> (b, m, 0)>
#red = affine_map<(b, m, n) -> (b, m)>
func.func @main(%s: tensor<4x16x32xf32>, %mask: tensor<16x32xi1>) -> tensor<4x16x32xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %false = arith.constant false
  %whole = tensor.empty() : tensor<4x16x32xf32>
  %bits = tensor.empty() : tensor<4x16x32xi1>
  %rows = tensor.empty() : tensor<4x16xf32>
  %rowbits = tensor.empty() : tensor<4x16xi1>
  %x = linalg.generic {indexing_maps = [#e, #mask, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %mask : tensor<4x16x32xf32>, tensor<16x32xi1>) outs(%whole : tensor<4x16x32xf32>) {
  ^bb0(%v: f32, %m: i1, %o: f32):
    %y = arith.select %m, %v, %low : f32
    linalg.yield %y : f32
  } -> tensor<4x16x32xf32>
  %min = linalg.fill ins(%low : f32) outs(%rows : tensor<4x16xf32>) -> tensor<4x16xf32>
  %top = linalg.generic {indexing_maps = [#e, #red], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x16x32xf32>) outs(%min : tensor<4x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %y = arith.maximumf %v, %o : f32
    linalg.yield %y : f32
  } -> tensor<4x16xf32>
  %t = tensor.expand_shape %top [[0], [1, 2]] output_shape [4, 16, 1] : tensor<4x16xf32> into tensor<4x16x1xf32>
  %exp = linalg.generic {indexing_maps = [#e, #one, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %t : tensor<4x16x32xf32>, tensor<4x16x1xf32>) outs(%whole : tensor<4x16x32xf32>) {
  ^bb0(%v: f32, %m: f32, %o: f32):
    %d = arith.subf %v, %m : f32
    %y = math.exp %d : f32
    linalg.yield %y : f32
  } -> tensor<4x16x32xf32>
  %nil = linalg.fill ins(%zero : f32) outs(%rows : tensor<4x16xf32>) -> tensor<4x16xf32>
  %sum = linalg.generic {indexing_maps = [#e, #red], iterator_types = ["parallel", "parallel", "reduction"]} ins(%exp : tensor<4x16x32xf32>) outs(%nil : tensor<4x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %y = arith.addf %v, %o : f32
    linalg.yield %y : f32
  } -> tensor<4x16xf32>
  %u = tensor.expand_shape %sum [[0], [1, 2]] output_shape [4, 16, 1] : tensor<4x16xf32> into tensor<4x16x1xf32>
  %p = linalg.generic {indexing_maps = [#e, #one, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%exp, %u : tensor<4x16x32xf32>, tensor<4x16x1xf32>) outs(%whole : tensor<4x16x32xf32>) {
  ^bb0(%v: f32, %m: f32, %o: f32):
    %y = arith.divf %v, %m : f32
    linalg.yield %y : f32
  } -> tensor<4x16x32xf32>
  %ne = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x16x32xf32>) outs(%bits : tensor<4x16x32xi1>) {
  ^bb0(%v: f32, %o: i1):
    %c = arith.cmpf une, %v, %low : f32
    linalg.yield %c : i1
  } -> tensor<4x16x32xi1>
  %none = linalg.fill ins(%false : i1) outs(%rowbits : tensor<4x16xi1>) -> tensor<4x16xi1>
  %any = linalg.generic {indexing_maps = [#e, #red], iterator_types = ["parallel", "parallel", "reduction"]} ins(%ne : tensor<4x16x32xi1>) outs(%none : tensor<4x16xi1>) {
  ^bb0(%v: i1, %o: i1):
    %y = arith.ori %v, %o : i1
    linalg.yield %y : i1
  } -> tensor<4x16xi1>
  %a = tensor.expand_shape %any [[0], [1, 2]] output_shape [4, 16, 1] : tensor<4x16xi1> into tensor<4x16x1xi1>
  %r = linalg.generic {indexing_maps = [#one, #e, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %p : tensor<4x16x1xi1>, tensor<4x16x32xf32>) outs(%whole : tensor<4x16x32xf32>) {
  ^bb0(%c: i1, %v: f32, %o: f32):
    %y = arith.select %c, %v, %zero : f32
    linalg.yield %y : f32
  } -> tensor<4x16x32xf32>
  return %r : tensor<4x16x32xf32>
}
