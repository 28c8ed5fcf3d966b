module {
  func.func @main(%arg0: tensor<32x16x64xf16>, %arg1: tensor<8x256x64xf16>, %arg2: tensor<8x256x64xf16>) -> tensor<32x16x64xf16> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.250000e-01 : f32
    %cst_1 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<8x4x256x64xf16>
    %1 = linalg.broadcast ins(%arg1 : tensor<8x256x64xf16>) outs(%0 : tensor<8x4x256x64xf16>) dimensions = [1]
    %2 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<8x4x256x64xf16> into tensor<32x256x64xf16>
    %3 = tensor.empty() : tensor<8x4x256x64xf16>
    %4 = linalg.broadcast ins(%arg2 : tensor<8x256x64xf16>) outs(%3 : tensor<8x4x256x64xf16>) dimensions = [1]
    %5 = tensor.collapse_shape %4 [[0, 1], [2], [3]] : tensor<8x4x256x64xf16> into tensor<32x256x64xf16>
    %6 = tensor.empty() : tensor<32x64x256xf16>
    %7 = linalg.transpose ins(%2 : tensor<32x256x64xf16>) outs(%6 : tensor<32x64x256xf16>) permutation = [0, 2, 1]
    %8 = tensor.empty() : tensor<32x16x256xf32>
    %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<32x16x256xf32>) -> tensor<32x16x256xf32>
    %10 = linalg.batch_matmul ins(%arg0, %7 : tensor<32x16x64xf16>, tensor<32x64x256xf16>) outs(%9 : tensor<32x16x256xf32>) -> tensor<32x16x256xf32>
    %11 = tensor.empty() : tensor<32x16x256xf16>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10 : tensor<32x16x256xf32>) outs(%11 : tensor<32x16x256xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<32x16x256xf16>
    %13 = tensor.empty() : tensor<32x16x256xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12 : tensor<32x16x256xf16>) outs(%13 : tensor<32x16x256xf32>) {
    ^bb0(%in_0: f16, %out: f32):
      %y = arith.extf %in_0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<32x16x256xf32>
    %15 = tensor.empty() : tensor<32x16x256xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14 : tensor<32x16x256xf32>) outs(%15 : tensor<32x16x256xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.mulf %in_0, %cst_0 : f32
      linalg.yield %y : f32
    } -> tensor<32x16x256xf32>
    %17 = tensor.empty() : tensor<32x16x1xf32>
    %18 = linalg.fill ins(%cst_1 : f32) outs(%17 : tensor<32x16x1xf32>) -> tensor<32x16x1xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%16 : tensor<32x16x256xf32>) outs(%18 : tensor<32x16x1xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.maximumf %in_0, %out : f32
      linalg.yield %y : f32
    } -> tensor<32x16x1xf32>
    %20 = tensor.empty() : tensor<32x16x256xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<32x16x256xf32>, tensor<32x16x1xf32>) outs(%20 : tensor<32x16x256xf32>) {
    ^bb0(%in_0: f32, %in_1: f32, %out: f32):
      %a = arith.subf %in_0, %in_1 : f32
      %y = math.exp %a : f32
      linalg.yield %y : f32
    } -> tensor<32x16x256xf32>
    %22 = tensor.empty() : tensor<32x16x1xf32>
    %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<32x16x1xf32>) -> tensor<32x16x1xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%21 : tensor<32x16x256xf32>) outs(%23 : tensor<32x16x1xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.addf %in_0, %out : f32
      linalg.yield %y : f32
    } -> tensor<32x16x1xf32>
    %25 = tensor.empty() : tensor<32x16x256xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21, %24 : tensor<32x16x256xf32>, tensor<32x16x1xf32>) outs(%25 : tensor<32x16x256xf32>) {
    ^bb0(%in_0: f32, %in_1: f32, %out: f32):
      %y = arith.divf %in_0, %in_1 : f32
      linalg.yield %y : f32
    } -> tensor<32x16x256xf32>
    %27 = tensor.empty() : tensor<32x16x256xf16>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26 : tensor<32x16x256xf32>) outs(%27 : tensor<32x16x256xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<32x16x256xf16>
    %29 = tensor.empty() : tensor<32x16x64xf32>
    %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<32x16x64xf32>) -> tensor<32x16x64xf32>
    %31 = linalg.batch_matmul ins(%28, %5 : tensor<32x16x256xf16>, tensor<32x256x64xf16>) outs(%30 : tensor<32x16x64xf32>) -> tensor<32x16x64xf32>
    %32 = tensor.empty() : tensor<32x16x64xf16>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%31 : tensor<32x16x64xf32>) outs(%32 : tensor<32x16x64xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<32x16x64xf16>
    return %33 : tensor<32x16x64xf16>
  }
}
