"builtin.module"() <{sym_name = "jit_group_rms"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<64xf16>):
    %0 = "stablehlo.reshape"(%arg0) : (tensor<16x64xf16>) -> tensor<16x4x16xf16>
    %1 = "stablehlo.convert"(%0) : (tensor<16x4x16xf16>) -> tensor<16x4x16xf32>
    %2 = "stablehlo.multiply"(%1, %1) : (tensor<16x4x16xf32>, tensor<16x4x16xf32>) -> tensor<16x4x16xf32>
    %3 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.reduce"(%2, %3) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %21 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%21) : (tensor<f32>) -> ()
    }) : (tensor<16x4x16xf32>, tensor<f32>) -> tensor<16x4xf32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x4xf32>) -> tensor<16x4x1xf32>
    %6 = "stablehlo.constant"() <{value = dense<1.600000e+01> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x4x1xf32>
    %8 = "stablehlo.divide"(%5, %7) : (tensor<16x4x1xf32>, tensor<16x4x1xf32>) -> tensor<16x4x1xf32>
    %9 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x4x1xf32>
    %11 = "stablehlo.add"(%8, %10) : (tensor<16x4x1xf32>, tensor<16x4x1xf32>) -> tensor<16x4x1xf32>
    %12 = "stablehlo.rsqrt"(%11) : (tensor<16x4x1xf32>) -> tensor<16x4x1xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<16x4x1xf32>) -> tensor<16x4x16xf32>
    %14 = "stablehlo.multiply"(%1, %13) : (tensor<16x4x16xf32>, tensor<16x4x16xf32>) -> tensor<16x4x16xf32>
    %15 = "stablehlo.reshape"(%14) : (tensor<16x4x16xf32>) -> tensor<16x64xf32>
    %16 = "stablehlo.convert"(%arg1) : (tensor<64xf16>) -> tensor<64xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 1>}> : (tensor<64xf32>) -> tensor<1x64xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %19 = "stablehlo.multiply"(%15, %18) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %20 = "stablehlo.convert"(%19) : (tensor<16x64xf32>) -> tensor<16x64xf16>
    "func.return"(%20) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
