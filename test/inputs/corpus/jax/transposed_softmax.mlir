"builtin.module"() <{sym_name = "jit_transposed_softmax"}> ({
  "func.func"() <{function_type = (tensor<8x4x16xf16>) -> tensor<4x8x16xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8x4x16xf16>):
    %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0, 2>}> : (tensor<8x4x16xf16>) -> tensor<4x8x16xf16>
    %1 = "stablehlo.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %2 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg3: tensor<f16>, %arg4: tensor<f16>):
      %18 = "stablehlo.maximum"(%arg3, %arg4) : (tensor<f16>, tensor<f16>) -> tensor<f16>
      "stablehlo.return"(%18) : (tensor<f16>) -> ()
    }) : (tensor<4x8x16xf16>, tensor<f16>) -> tensor<8x16xf16>
    %3 = "stablehlo.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<8x16xf16>
    %5 = "stablehlo.maximum"(%4, %2) : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<8x16xf16>) -> tensor<1x8x16xf16>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x8x16xf16>) -> tensor<4x8x16xf16>
    %8 = "stablehlo.subtract"(%0, %7) : (tensor<4x8x16xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
    %9 = "stablehlo.exponential"(%8) : (tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
    %10 = "stablehlo.convert"(%9) : (tensor<4x8x16xf16>) -> tensor<4x8x16xf32>
    %11 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %12 = "stablehlo.reduce"(%10, %11) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %17 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%17) : (tensor<f32>) -> ()
    }) : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
    %14 = "stablehlo.convert"(%13) : (tensor<1x8x16xf32>) -> tensor<1x8x16xf16>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x8x16xf16>) -> tensor<4x8x16xf16>
    %16 = "stablehlo.divide"(%9, %15) : (tensor<4x8x16xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
    "func.return"(%16) : (tensor<4x8x16xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
