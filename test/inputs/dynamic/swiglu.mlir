// silu(x Wg) * (x Wu) for any number of rows of x, as a framework exports it with a dynamic batch.
#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<?x2048xbf16>, %arg1: tensor<2048x2048xbf16>, %arg2: tensor<2048x2048xbf16>) -> tensor<?x2048xbf16> {
    %c = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c : tensor<?x2048xbf16>
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %0 = tensor.empty(%dim) : tensor<?x2048xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<?x2048xbf16>, tensor<2048x2048xbf16>) outs(%1 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %3 = tensor.empty(%dim) : tensor<?x2048xbf16>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<?x2048xf32>) outs(%3 : tensor<?x2048xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %12 = arith.truncf %in : f32 to bf16
      linalg.yield %12 : bf16
    } -> tensor<?x2048xbf16>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<?x2048xbf16>) outs(%0 : tensor<?x2048xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %12 = arith.extf %in : bf16 to f32
      linalg.yield %12 : f32
    } -> tensor<?x2048xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<?x2048xf32>) outs(%0 : tensor<?x2048xf32>) {
    ^bb0(%in: f32, %out: f32):
      %12 = arith.negf %in : f32
      %13 = math.exp %12 : f32
      %14 = arith.addf %13, %cst_0 : f32
      %15 = arith.divf %cst_0, %14 : f32
      linalg.yield %15 : f32
    } -> tensor<?x2048xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%5, %6 : tensor<?x2048xf32>, tensor<?x2048xf32>) outs(%0 : tensor<?x2048xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %12 = arith.mulf %in, %in_1 : f32
      linalg.yield %12 : f32
    } -> tensor<?x2048xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<?x2048xf32>) outs(%3 : tensor<?x2048xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %12 = arith.truncf %in : f32 to bf16
      linalg.yield %12 : bf16
    } -> tensor<?x2048xbf16>
    %9 = linalg.matmul ins(%arg0, %arg2 : tensor<?x2048xbf16>, tensor<2048x2048xbf16>) outs(%1 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<?x2048xf32>) outs(%3 : tensor<?x2048xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %12 = arith.truncf %in : f32 to bf16
      linalg.yield %12 : bf16
    } -> tensor<?x2048xbf16>
    %11 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%8, %10 : tensor<?x2048xbf16>, tensor<?x2048xbf16>) outs(%3 : tensor<?x2048xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %12 = arith.mulf %in, %in_1 : bf16
      linalg.yield %12 : bf16
    } -> tensor<?x2048xbf16>
    return %11 : tensor<?x2048xbf16>
  }
}
