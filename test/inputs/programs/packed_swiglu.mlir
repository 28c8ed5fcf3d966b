module {
  func.func @main(%arg0: tensor<8x1024xf16>, %arg1: tensor<1024x4096xf16>) -> tensor<8x2048xf16> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %0 = tensor.empty() : tensor<8x4096xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<8x4096xf32>) -> tensor<8x4096xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<8x1024xf16>, tensor<1024x4096xf16>) outs(%1 : tensor<8x4096xf32>) -> tensor<8x4096xf32>
    %3 = tensor.empty() : tensor<8x4096xf16>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<8x4096xf32>) outs(%3 : tensor<8x4096xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x4096xf16>
    %5 = tensor.extract_slice %4[0, 0] [8, 2048] [1, 1] : tensor<8x4096xf16> to tensor<8x2048xf16>
    %6 = tensor.extract_slice %4[0, 2048] [8, 2048] [1, 1] : tensor<8x4096xf16> to tensor<8x2048xf16>
    %7 = tensor.empty() : tensor<8x2048xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<8x2048xf16>) outs(%7 : tensor<8x2048xf32>) {
    ^bb0(%in_0: f16, %out: f32):
      %y = arith.extf %in_0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<8x2048xf32>
    %9 = tensor.empty() : tensor<8x2048xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<8x2048xf32>) outs(%9 : tensor<8x2048xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %a = arith.negf %in_0 : f32
      %b = math.exp %a : f32
      %c = arith.addf %b, %cst_0 : f32
      %y = arith.divf %in_0, %c : f32
      linalg.yield %y : f32
    } -> tensor<8x2048xf32>
    %11 = tensor.empty() : tensor<8x2048xf16>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<8x2048xf32>) outs(%11 : tensor<8x2048xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x2048xf16>
    %13 = tensor.empty() : tensor<8x2048xf16>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12, %6 : tensor<8x2048xf16>, tensor<8x2048xf16>) outs(%13 : tensor<8x2048xf16>) {
    ^bb0(%in_0: f16, %in_1: f16, %out: f16):
      %y = arith.mulf %in_0, %in_1 : f16
      linalg.yield %y : f16
    } -> tensor<8x2048xf16>
    return %14 : tensor<8x2048xf16>
  }
}
