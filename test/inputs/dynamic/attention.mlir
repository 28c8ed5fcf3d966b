// Decode attention over any number of keys: a reduction over a dynamic dim.
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
module {
  func.func @main(%arg0: tensor<16x1x128xf16>, %arg1: tensor<16x?x128xf16>, %arg2: tensor<16x?x128xf16>) -> tensor<16x1x128xf16> {
    %c = arith.constant 1 : index
    %dim = tensor.dim %arg1, %c : tensor<16x?x128xf16>
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty(%dim) : tensor<16x128x?xf16>
    %transposed = linalg.transpose ins(%arg1 : tensor<16x?x128xf16>) outs(%0 : tensor<16x128x?xf16>) permutation = [0, 2, 1] 
    %1 = tensor.empty(%dim) : tensor<16x1x?xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<16x1x?xf32>) -> tensor<16x1x?xf32>
    %3 = linalg.batch_matmul ins(%arg0, %transposed : tensor<16x1x128xf16>, tensor<16x128x?xf16>) outs(%2 : tensor<16x1x?xf32>) -> tensor<16x1x?xf32>
    %4 = tensor.empty(%dim) : tensor<16x1x?xf16>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3 : tensor<16x1x?xf32>) outs(%4 : tensor<16x1x?xf16>) {
    ^bb0(%in: f32, %out: f16):
      %24 = arith.truncf %in : f32 to f16
      linalg.yield %24 : f16
    } -> tensor<16x1x?xf16>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5 : tensor<16x1x?xf16>) outs(%1 : tensor<16x1x?xf32>) {
    ^bb0(%in: f16, %out: f32):
      %24 = arith.extf %in : f16 to f32
      linalg.yield %24 : f32
    } -> tensor<16x1x?xf32>
    %7 = tensor.empty() : tensor<16x1xi64>
    %8 = linalg.fill ins(%c0_i64 : i64) outs(%7 : tensor<16x1xi64>) -> tensor<16x1xi64>
    %9 = tensor.empty() : tensor<16x1xf32>
    %10 = linalg.fill ins(%cst_0 : f32) outs(%9 : tensor<16x1xf32>) -> tensor<16x1xf32>
    %11:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%6 : tensor<16x1x?xf32>) outs(%10, %8 : tensor<16x1xf32>, tensor<16x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_1: i64):
      %24 = linalg.index 2 : index
      %25 = arith.index_cast %24 : index to i64
      %26 = arith.maximumf %in, %out : f32
      %27 = arith.cmpf ogt, %in, %out : f32
      %28 = arith.select %27, %25, %out_1 : i64
      linalg.yield %26, %28 : f32, i64
    } -> (tensor<16x1xf32>, tensor<16x1xi64>)
    %expanded = tensor.expand_shape %11#0 [[0], [1, 2]] output_shape [16, 1, 1] : tensor<16x1xf32> into tensor<16x1x1xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6, %expanded : tensor<16x1x?xf32>, tensor<16x1x1xf32>) outs(%1 : tensor<16x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %24 = arith.subf %in, %in_1 : f32
      linalg.yield %24 : f32
    } -> tensor<16x1x?xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12 : tensor<16x1x?xf32>) outs(%1 : tensor<16x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %24 = math.exp %in : f32
      linalg.yield %24 : f32
    } -> tensor<16x1x?xf32>
    %14 = tensor.empty() : tensor<16x1x1xf32>
    %15 = linalg.fill ins(%cst : f32) outs(%14 : tensor<16x1x1xf32>) -> tensor<16x1x1xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%13 : tensor<16x1x?xf32>) outs(%15 : tensor<16x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %24 = arith.addf %in, %out : f32
      linalg.yield %24 : f32
    } -> tensor<16x1x1xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%13, %16 : tensor<16x1x?xf32>, tensor<16x1x1xf32>) outs(%1 : tensor<16x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %24 = arith.divf %in, %in_1 : f32
      linalg.yield %24 : f32
    } -> tensor<16x1x?xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%17 : tensor<16x1x?xf32>) outs(%4 : tensor<16x1x?xf16>) {
    ^bb0(%in: f32, %out: f16):
      %24 = arith.truncf %in : f32 to f16
      linalg.yield %24 : f16
    } -> tensor<16x1x?xf16>
    %19 = tensor.empty() : tensor<16x1x128xf32>
    %20 = linalg.fill ins(%cst : f32) outs(%19 : tensor<16x1x128xf32>) -> tensor<16x1x128xf32>
    %21 = linalg.batch_matmul ins(%18, %arg2 : tensor<16x1x?xf16>, tensor<16x?x128xf16>) outs(%20 : tensor<16x1x128xf32>) -> tensor<16x1x128xf32>
    %22 = tensor.empty() : tensor<16x1x128xf16>
    %23 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21 : tensor<16x1x128xf32>) outs(%22 : tensor<16x1x128xf16>) {
    ^bb0(%in: f32, %out: f16):
      %24 = arith.truncf %in : f32 to f16
      linalg.yield %24 : f16
    } -> tensor<16x1x128xf16>
    return %23 : tensor<16x1x128xf16>
  }
}
