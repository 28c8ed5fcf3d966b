"builtin.module"() <{sym_name = "jit_softmax"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>):
    %0 = "stablehlo.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %1 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg3: tensor<f16>, %arg4: tensor<f16>):
      %17 = "stablehlo.maximum"(%arg3, %arg4) : (tensor<f16>, tensor<f16>) -> tensor<f16>
      "stablehlo.return"(%17) : (tensor<f16>) -> ()
    }) : (tensor<16x64xf16>, tensor<f16>) -> tensor<16xf16>
    %2 = "stablehlo.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16xf16>
    %4 = "stablehlo.maximum"(%3, %1) : (tensor<16xf16>, tensor<16xf16>) -> tensor<16xf16>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf16>) -> tensor<16x1xf16>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf16>) -> tensor<16x64xf16>
    %7 = "stablehlo.subtract"(%arg0, %6) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %8 = "stablehlo.exponential"(%7) : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %9 = "stablehlo.convert"(%8) : (tensor<16x64xf16>) -> tensor<16x64xf32>
    %10 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.reduce"(%9, %10) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %16 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%16) : (tensor<f32>) -> ()
    }) : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %13 = "stablehlo.convert"(%12) : (tensor<16x1xf32>) -> tensor<16x1xf16>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf16>) -> tensor<16x64xf16>
    %15 = "stablehlo.divide"(%8, %14) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%15) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
