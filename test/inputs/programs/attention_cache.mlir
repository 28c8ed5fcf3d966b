module {
  func.func @main(%arg0: tensor<16x1x128xf16>, %arg1: tensor<16x512x128xf16>, %arg2: tensor<16x64x128xf16>, %arg3: tensor<16x512x128xf16>, %arg4: tensor<16x64x128xf16>) -> tensor<16x1x128xf16> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %0 = tensor.concat dim(1) %arg1, %arg2 : (tensor<16x512x128xf16>, tensor<16x64x128xf16>) -> tensor<16x576x128xf16>
    %1 = tensor.concat dim(1) %arg3, %arg4 : (tensor<16x512x128xf16>, tensor<16x64x128xf16>) -> tensor<16x576x128xf16>
    %2 = tensor.empty() : tensor<16x128x576xf16>
    %3 = linalg.transpose ins(%0 : tensor<16x576x128xf16>) outs(%2 : tensor<16x128x576xf16>) permutation = [0, 2, 1]
    %4 = tensor.empty() : tensor<16x1x576xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<16x1x576xf32>) -> tensor<16x1x576xf32>
    %6 = linalg.batch_matmul ins(%arg0, %3 : tensor<16x1x128xf16>, tensor<16x128x576xf16>) outs(%5 : tensor<16x1x576xf32>) -> tensor<16x1x576xf32>
    %7 = tensor.empty() : tensor<16x1x576xf16>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6 : tensor<16x1x576xf32>) outs(%7 : tensor<16x1x576xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<16x1x576xf16>
    %9 = tensor.empty() : tensor<16x1x576xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8 : tensor<16x1x576xf16>) outs(%9 : tensor<16x1x576xf32>) {
    ^bb0(%in_0: f16, %out: f32):
      %y = arith.extf %in_0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<16x1x576xf32>
    %11 = tensor.empty() : tensor<16x1x1xf32>
    %12 = linalg.fill ins(%cst_0 : f32) outs(%11 : tensor<16x1x1xf32>) -> tensor<16x1x1xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%10 : tensor<16x1x576xf32>) outs(%12 : tensor<16x1x1xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.maximumf %in_0, %out : f32
      linalg.yield %y : f32
    } -> tensor<16x1x1xf32>
    %14 = tensor.empty() : tensor<16x1x576xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %13 : tensor<16x1x576xf32>, tensor<16x1x1xf32>) outs(%14 : tensor<16x1x576xf32>) {
    ^bb0(%in_0: f32, %in_1: f32, %out: f32):
      %a = arith.subf %in_0, %in_1 : f32
      %y = math.exp %a : f32
      linalg.yield %y : f32
    } -> tensor<16x1x576xf32>
    %16 = tensor.empty() : tensor<16x1x1xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%16 : tensor<16x1x1xf32>) -> tensor<16x1x1xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%15 : tensor<16x1x576xf32>) outs(%17 : tensor<16x1x1xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.addf %in_0, %out : f32
      linalg.yield %y : f32
    } -> tensor<16x1x1xf32>
    %19 = tensor.empty() : tensor<16x1x576xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15, %18 : tensor<16x1x576xf32>, tensor<16x1x1xf32>) outs(%19 : tensor<16x1x576xf32>) {
    ^bb0(%in_0: f32, %in_1: f32, %out: f32):
      %y = arith.divf %in_0, %in_1 : f32
      linalg.yield %y : f32
    } -> tensor<16x1x576xf32>
    %21 = tensor.empty() : tensor<16x1x576xf16>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20 : tensor<16x1x576xf32>) outs(%21 : tensor<16x1x576xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<16x1x576xf16>
    %23 = tensor.empty() : tensor<16x1x128xf32>
    %24 = linalg.fill ins(%cst : f32) outs(%23 : tensor<16x1x128xf32>) -> tensor<16x1x128xf32>
    %25 = linalg.batch_matmul ins(%22, %1 : tensor<16x1x576xf16>, tensor<16x576x128xf16>) outs(%24 : tensor<16x1x128xf32>) -> tensor<16x1x128xf32>
    %26 = tensor.empty() : tensor<16x1x128xf16>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%25 : tensor<16x1x128xf32>) outs(%26 : tensor<16x1x128xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<16x1x128xf16>
    return %27 : tensor<16x1x128xf16>
  }
}
