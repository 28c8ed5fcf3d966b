// RMSNorm and a product for any number of tokens, as torch-mlir writes it with a dynamic dim.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0, 0)>
module {
  func.func @main(%arg0: tensor<?x1024xf16>, %arg1: tensor<1024x1024xf16>) -> tensor<?x1024xf16> {
    %c = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c : tensor<?x1024xf16>
    %cst = arith.constant 0.000000e+00 : f16
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant 9.9999999999999995E-7 : f64
    %cst_2 = arith.constant 1.024000e+03 : f16
    %0 = tensor.empty(%dim) : tensor<?x1024xf16>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg0 : tensor<?x1024xf16>, tensor<?x1024xf16>) outs(%0 : tensor<?x1024xf16>) {
    ^bb0(%in: f16, %in_3: f16, %out: f16):
      %13 = arith.mulf %in, %in_3 : f16
      linalg.yield %13 : f16
    } -> tensor<?x1024xf16>
    %2 = tensor.empty(%dim) : tensor<?x1xf16>
    %3 = linalg.fill ins(%cst : f16) outs(%2 : tensor<?x1xf16>) -> tensor<?x1xf16>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<?x1024xf16>) outs(%3 : tensor<?x1xf16>) {
    ^bb0(%in: f16, %out: f16):
      %13 = arith.addf %in, %out : f16
      linalg.yield %13 : f16
    } -> tensor<?x1xf16>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<?x1xf16>) outs(%2 : tensor<?x1xf16>) {
    ^bb0(%in: f16, %out: f16):
      %13 = arith.divf %in, %cst_2 : f16
      linalg.yield %13 : f16
    } -> tensor<?x1xf16>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<?x1xf16>) outs(%2 : tensor<?x1xf16>) {
    ^bb0(%in: f16, %out: f16):
      %13 = arith.truncf %cst_1 : f64 to f16
      %14 = arith.addf %in, %13 : f16
      linalg.yield %14 : f16
    } -> tensor<?x1xf16>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<?x1xf16>) outs(%2 : tensor<?x1xf16>) {
    ^bb0(%in: f16, %out: f16):
      %13 = math.rsqrt %in : f16
      linalg.yield %13 : f16
    } -> tensor<?x1xf16>
    %8 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %7 : tensor<?x1024xf16>, tensor<?x1xf16>) outs(%0 : tensor<?x1024xf16>) {
    ^bb0(%in: f16, %in_3: f16, %out: f16):
      %13 = arith.mulf %in, %in_3 : f16
      linalg.yield %13 : f16
    } -> tensor<?x1024xf16>
    %9 = tensor.empty(%dim) : tensor<?x1024xf32>
    %10 = linalg.fill ins(%cst_0 : f32) outs(%9 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %11 = linalg.matmul ins(%8, %arg1 : tensor<?x1024xf16>, tensor<1024x1024xf16>) outs(%10 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%11 : tensor<?x1024xf32>) outs(%0 : tensor<?x1024xf16>) {
    ^bb0(%in: f32, %out: f16):
      %13 = arith.truncf %in : f32 to f16
      linalg.yield %13 : f16
    } -> tensor<?x1024xf16>
    return %12 : tensor<?x1024xf16>
  }
}
