module {
  func.func @main(%arg0: tensor<8x1024xf16>, %arg1: tensor<1024x1024xf16>, %arg2: tensor<1024x256xf16>, %arg3: tensor<1024x256xf16>) -> (tensor<8x1024xf16>, tensor<8x256xf16>, tensor<8x256xf16>) {
    %cst = arith.constant 9.99999997E-7 : f32
    %cst_0 = arith.constant 1.024000e+03 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<8x1024xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<8x1024xf16>) outs(%0 : tensor<8x1024xf32>) {
    ^bb0(%in_0: f16, %out: f32):
      %y = arith.extf %in_0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<8x1024xf32>
    %2 = tensor.empty() : tensor<8x1024xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<8x1024xf32>) outs(%2 : tensor<8x1024xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.mulf %in_0, %in_0 : f32
      linalg.yield %y : f32
    } -> tensor<8x1024xf32>
    %4 = tensor.empty() : tensor<8x1xf32>
    %5 = linalg.fill ins(%cst_1 : f32) outs(%4 : tensor<8x1xf32>) -> tensor<8x1xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%3 : tensor<8x1024xf32>) outs(%5 : tensor<8x1xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %y = arith.addf %in_0, %out : f32
      linalg.yield %y : f32
    } -> tensor<8x1xf32>
    %7 = tensor.empty() : tensor<8x1xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<8x1xf32>) outs(%7 : tensor<8x1xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %a = arith.divf %in_0, %cst_0 : f32
      %b = arith.addf %a, %cst : f32
      %y = math.rsqrt %b : f32
      linalg.yield %y : f32
    } -> tensor<8x1xf32>
    %9 = tensor.empty() : tensor<8x1024xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %8 : tensor<8x1024xf32>, tensor<8x1xf32>) outs(%9 : tensor<8x1024xf32>) {
    ^bb0(%in_0: f32, %in_1: f32, %out: f32):
      %y = arith.mulf %in_0, %in_1 : f32
      linalg.yield %y : f32
    } -> tensor<8x1024xf32>
    %11 = tensor.empty() : tensor<8x1024xf16>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<8x1024xf32>) outs(%11 : tensor<8x1024xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x1024xf16>
    %13 = tensor.empty() : tensor<8x1024xf32>
    %14 = linalg.fill ins(%cst_1 : f32) outs(%13 : tensor<8x1024xf32>) -> tensor<8x1024xf32>
    %15 = linalg.matmul ins(%12, %arg1 : tensor<8x1024xf16>, tensor<1024x1024xf16>) outs(%14 : tensor<8x1024xf32>) -> tensor<8x1024xf32>
    %16 = tensor.empty() : tensor<8x1024xf16>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<8x1024xf32>) outs(%16 : tensor<8x1024xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x1024xf16>
    %18 = tensor.empty() : tensor<8x256xf32>
    %19 = linalg.fill ins(%cst_1 : f32) outs(%18 : tensor<8x256xf32>) -> tensor<8x256xf32>
    %20 = linalg.matmul ins(%12, %arg2 : tensor<8x1024xf16>, tensor<1024x256xf16>) outs(%19 : tensor<8x256xf32>) -> tensor<8x256xf32>
    %21 = tensor.empty() : tensor<8x256xf16>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<8x256xf32>) outs(%21 : tensor<8x256xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x256xf16>
    %23 = tensor.empty() : tensor<8x256xf32>
    %24 = linalg.fill ins(%cst_1 : f32) outs(%23 : tensor<8x256xf32>) -> tensor<8x256xf32>
    %25 = linalg.matmul ins(%12, %arg3 : tensor<8x1024xf16>, tensor<1024x256xf16>) outs(%24 : tensor<8x256xf32>) -> tensor<8x256xf32>
    %26 = tensor.empty() : tensor<8x256xf16>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%25 : tensor<8x256xf32>) outs(%26 : tensor<8x256xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x256xf16>
    return %17, %22, %27 : tensor<8x1024xf16>, tensor<8x256xf16>, tensor<8x256xf16>
  }
}
