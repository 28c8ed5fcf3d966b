// x / sqrt(mean(x * x) + eps) * w for each row, as linalg on f16 with sums in f32.
#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @rms_norm(%x: tensor<12x256xf16>, %w: tensor<256xf16>) -> tensor<12x256xf16> {
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-6 : f32
  %count = arith.constant 256.0 : f32
  %sums = tensor.empty() : tensor<12xf32>
  %out = tensor.empty() : tensor<12x256xf16>
  %start = linalg.fill ins(%zero : f32) outs(%sums : tensor<12xf32>) -> tensor<12xf32>
  %squares = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<12x256xf16>) outs(%start : tensor<12xf32>) {
    ^bb0(%a: f16, %sum: f32):
      %wide = arith.extf %a : f16 to f32
      %square = arith.mulf %wide, %wide : f32
      %next = arith.addf %sum, %square : f32
      linalg.yield %next : f32
  } -> tensor<12xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares, %w : tensor<12x256xf16>, tensor<12xf32>, tensor<256xf16>) outs(%out : tensor<12x256xf16>) {
    ^bb0(%a: f16, %sum: f32, %b: f16, %_: f16):
      %wide = arith.extf %a : f16 to f32
      %weight = arith.extf %b : f16 to f32
      %mean = arith.divf %sum, %count : f32
      %safe = arith.addf %mean, %eps : f32
      %scale = math.rsqrt %safe : f32
      %scaled = arith.mulf %wide, %scale : f32
      %weighted = arith.mulf %scaled, %weight : f32
      %short = arith.truncf %weighted : f32 to f16
      linalg.yield %short : f16
  } -> tensor<12x256xf16>
  return %y : tensor<12x256xf16>
}
