func.func @main(%a: tensor<16x64xf16>) -> tensor<16x64xf16> {
  %e = tensor.empty() : tensor<16x64xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<16x64xf16>) outs(%e : tensor<16x64xf16>) {
  ^bb0(%x: f16, %o: f16):
    %w = arith.extf %x : f16 to f64
    %two = arith.constant 2.0 : f64
    %p = math.powf %w, %two : f64
    %t = arith.truncf %p : f64 to f32
    %h = arith.constant 0.5 : f32
    %m = arith.mulf %t, %h : f32
    %y = arith.truncf %m : f32 to f16
    linalg.yield %y : f16
  } -> tensor<16x64xf16>
  return %r : tensor<16x64xf16>
}
