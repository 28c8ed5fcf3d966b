"builtin.module"() <{sym_name = "jit_rms_pow"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<64xf16>):
    %0 = "stablehlo.convert"(%arg0) : (tensor<16x64xf16>) -> tensor<16x64xf32>
    %1 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x64xf32>
    %3 = "stablehlo.power"(%0, %2) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %4 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.reduce"(%3, %4) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %22 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%22) : (tensor<f32>) -> ()
    }) : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %7 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %9 = "stablehlo.divide"(%6, %8) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %10 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %12 = "stablehlo.add"(%9, %11) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %13 = "stablehlo.constant"() <{value = dense<-5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %15 = "stablehlo.power"(%12, %14) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %17 = "stablehlo.multiply"(%0, %16) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %18 = "stablehlo.convert"(%17) : (tensor<16x64xf32>) -> tensor<16x64xf16>
    %19 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<64xf16>) -> tensor<1x64xf16>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x64xf16>) -> tensor<16x64xf16>
    %21 = "stablehlo.multiply"(%18, %20) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%21) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
