module {
  func.func @main(%arg0: tensor<8x64x128xf16>, %arg1: tensor<8x512x128xf16>, %arg2: tensor<8x512x128xf16>, %arg3: tensor<64x512xf16>) -> tensor<8x64x128xf16> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0.0883883461 : f32
    %cst_1 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<8x128x512xf16>
    %1 = linalg.transpose ins(%arg1 : tensor<8x512x128xf16>) outs(%0 : tensor<8x128x512xf16>) permutation = [0, 2, 1]
    %2 = tensor.empty() : tensor<8x64x512xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<8x64x512xf32>) -> tensor<8x64x512xf32>
    %4 = linalg.batch_matmul ins(%arg0, %1 : tensor<8x64x128xf16>, tensor<8x128x512xf16>) outs(%3 : tensor<8x64x512xf32>) -> tensor<8x64x512xf32>
    %5 = tensor.empty() : tensor<8x64x512xf16>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<8x64x512xf32>) outs(%5 : tensor<8x64x512xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x64x512xf16>
    %7 = tensor.empty() : tensor<8x64x512xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6 : tensor<8x64x512xf16>) outs(%7 : tensor<8x64x512xf32>) {
    ^bb0(%in_0: f16, %out: f32):
      %y = arith.extf %in_0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<8x64x512xf32>
    %9 = tensor.empty() : tensor<8x64x512xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8 : tensor<8x64x512xf32>) outs(%9 : tensor<8x64x512xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.mulf %in_0, %cst_0 : f32
      linalg.yield %y : f32
    } -> tensor<8x64x512xf32>
    %11 = tensor.empty() : tensor<64x512xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<64x512xf16>) outs(%11 : tensor<64x512xf32>) {
    ^bb0(%in_0: f16, %out: f32):
      %y = arith.extf %in_0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<64x512xf32>
    %13 = tensor.empty() : tensor<8x64x512xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %12 : tensor<8x64x512xf32>, tensor<64x512xf32>) outs(%13 : tensor<8x64x512xf32>) {
    ^bb0(%in_0: f32, %in_1: f32, %out: f32):
      %y = arith.addf %in_0, %in_1 : f32
      linalg.yield %y : f32
    } -> tensor<8x64x512xf32>
    %15 = tensor.empty() : tensor<8x64x1xf32>
    %16 = linalg.fill ins(%cst_1 : f32) outs(%15 : tensor<8x64x1xf32>) -> tensor<8x64x1xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%14 : tensor<8x64x512xf32>) outs(%16 : tensor<8x64x1xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.maximumf %in_0, %out : f32
      linalg.yield %y : f32
    } -> tensor<8x64x1xf32>
    %18 = tensor.empty() : tensor<8x64x512xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14, %17 : tensor<8x64x512xf32>, tensor<8x64x1xf32>) outs(%18 : tensor<8x64x512xf32>) {
    ^bb0(%in_0: f32, %in_1: f32, %out: f32):
      %a = arith.subf %in_0, %in_1 : f32
      %y = math.exp %a : f32
      linalg.yield %y : f32
    } -> tensor<8x64x512xf32>
    %20 = tensor.empty() : tensor<8x64x1xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<8x64x1xf32>) -> tensor<8x64x1xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%19 : tensor<8x64x512xf32>) outs(%21 : tensor<8x64x1xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.addf %in_0, %out : f32
      linalg.yield %y : f32
    } -> tensor<8x64x1xf32>
    %23 = tensor.empty() : tensor<8x64x512xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%19, %22 : tensor<8x64x512xf32>, tensor<8x64x1xf32>) outs(%23 : tensor<8x64x512xf32>) {
    ^bb0(%in_0: f32, %in_1: f32, %out: f32):
      %y = arith.divf %in_0, %in_1 : f32
      linalg.yield %y : f32
    } -> tensor<8x64x512xf32>
    %25 = tensor.empty() : tensor<8x64x512xf16>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24 : tensor<8x64x512xf32>) outs(%25 : tensor<8x64x512xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x64x512xf16>
    %27 = tensor.empty() : tensor<8x64x128xf32>
    %28 = linalg.fill ins(%cst : f32) outs(%27 : tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
    %29 = linalg.batch_matmul ins(%26, %arg2 : tensor<8x64x512xf16>, tensor<8x512x128xf16>) outs(%28 : tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
    %30 = tensor.empty() : tensor<8x64x128xf16>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29 : tensor<8x64x128xf32>) outs(%30 : tensor<8x64x128xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x64x128xf16>
    return %31 : tensor<8x64x128xf16>
  }
}
