module {
  func.func @main(%arg0: tensor<8x1024xf16>, %arg1: tensor<1024x4096xf16>, %arg2: tensor<1024x4096xf16>, %arg3: tensor<4096x1024xf16>) -> tensor<8x1024xf16> {
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
    %5 = tensor.empty() : tensor<8x4096xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<8x4096xf16>) outs(%5 : tensor<8x4096xf32>) {
    ^bb0(%in_0: f16, %out: f32):
      %y = arith.extf %in_0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<8x4096xf32>
    %7 = tensor.empty() : tensor<8x4096xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<8x4096xf32>) outs(%7 : tensor<8x4096xf32>) {
    ^bb0(%in_0: f32, %out: f32):
      %a = arith.negf %in_0 : f32
      %b = math.exp %a : f32
      %c = arith.addf %b, %cst_0 : f32
      %y = arith.divf %in_0, %c : f32
      linalg.yield %y : f32
    } -> tensor<8x4096xf32>
    %9 = tensor.empty() : tensor<8x4096xf16>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<8x4096xf32>) outs(%9 : tensor<8x4096xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x4096xf16>
    %11 = tensor.empty() : tensor<8x4096xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<8x4096xf32>) -> tensor<8x4096xf32>
    %13 = linalg.matmul ins(%arg0, %arg2 : tensor<8x1024xf16>, tensor<1024x4096xf16>) outs(%12 : tensor<8x4096xf32>) -> tensor<8x4096xf32>
    %14 = tensor.empty() : tensor<8x4096xf16>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<8x4096xf32>) outs(%14 : tensor<8x4096xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x4096xf16>
    %16 = tensor.empty() : tensor<8x4096xf16>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10, %15 : tensor<8x4096xf16>, tensor<8x4096xf16>) outs(%16 : tensor<8x4096xf16>) {
    ^bb0(%in_0: f16, %in_1: f16, %out: f16):
      %y = arith.mulf %in_0, %in_1 : f16
      linalg.yield %y : f16
    } -> tensor<8x4096xf16>
    %18 = tensor.empty() : tensor<8x1024xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<8x1024xf32>) -> tensor<8x1024xf32>
    %20 = linalg.matmul ins(%17, %arg3 : tensor<8x4096xf16>, tensor<4096x1024xf16>) outs(%19 : tensor<8x1024xf32>) -> tensor<8x1024xf32>
    %21 = tensor.empty() : tensor<8x1024xf16>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<8x1024xf32>) outs(%21 : tensor<8x1024xf16>) {
    ^bb0(%in_0: f32, %out: f16):
      %y = arith.truncf %in_0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<8x1024xf16>
    %23 = tensor.empty() : tensor<8x1024xf16>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %arg0 : tensor<8x1024xf16>, tensor<8x1024xf16>) outs(%23 : tensor<8x1024xf16>) {
    ^bb0(%in_0: f16, %in_1: f16, %out: f16):
      %y = arith.addf %in_0, %in_1 : f16
      linalg.yield %y : f16
    } -> tensor<8x1024xf16>
    return %24 : tensor<8x1024xf16>
  }
}
