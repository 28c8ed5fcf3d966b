module {
  func.func @main(%arg0: tensor<16x768xf16>, %arg1: tensor<768x3072xf16>, %arg2: tensor<3072x768xf16>) -> tensor<16x768xf16> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 5.000000e-01 : f32
    %cst_1 = arith.constant 1.000000e+00 : f32
    %cst_2 = arith.constant 1.41421354 : f32
    %0 = tensor.empty() : tensor<16x3072xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<16x3072xf32>) -> tensor<16x3072xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<16x768xf16>, tensor<768x3072xf16>) outs(%1 : tensor<16x3072xf32>) -> tensor<16x3072xf32>
    %3 = tensor.empty() : tensor<16x3072xf16>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<16x3072xf32>) outs(%3 : tensor<16x3072xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<16x3072xf16>
    %5 = tensor.empty() : tensor<16x3072xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<16x3072xf16>) outs(%5 : tensor<16x3072xf32>) {
    ^bb0(%in_0: f16, %out: f32):
      %y = arith.extf %in_0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<16x3072xf32>
    %7 = tensor.empty() : tensor<16x3072xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<16x3072xf32>) outs(%7 : tensor<16x3072xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %a = arith.divf %in_0, %cst_2 : f32
      %b = math.erf %a : f32
      %c = arith.addf %b, %cst_1 : f32
      %d = arith.mulf %c, %cst_0 : f32
      %y = arith.mulf %in_0, %d : f32
      linalg.yield %y : f32
    } -> tensor<16x3072xf32>
    %9 = tensor.empty() : tensor<16x3072xf16>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<16x3072xf32>) outs(%9 : tensor<16x3072xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<16x3072xf16>
    %11 = tensor.empty() : tensor<16x768xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<16x768xf32>) -> tensor<16x768xf32>
    %13 = linalg.matmul ins(%10, %arg2 : tensor<16x3072xf16>, tensor<3072x768xf16>) outs(%12 : tensor<16x768xf32>) -> tensor<16x768xf32>
    %14 = tensor.empty() : tensor<16x768xf16>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<16x768xf32>) outs(%14 : tensor<16x768xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<16x768xf16>
    return %15 : tensor<16x768xf16>
  }
}
