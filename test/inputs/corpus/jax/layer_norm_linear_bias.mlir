"builtin.module"() <{sym_name = "jit_layer_norm_linear_bias"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64xf16>, tensor<64xf16>, tensor<64x32xf16>, tensor<32xf16>) -> tensor<16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<64xf16>, %arg2: tensor<64xf16>, %arg3: tensor<64x32xf16>, %arg4: tensor<32xf16>):
    %0 = "stablehlo.convert"(%arg0) : (tensor<16x64xf16>) -> tensor<16x64xf32>
    %1 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %2 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %36 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%36) : (tensor<f32>) -> ()
    }) : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %4 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %6 = "stablehlo.divide"(%3, %5) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %8 = "stablehlo.subtract"(%0, %7) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %9 = "chlo.square"(%8) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %10 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.reduce"(%9, %10) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %35 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%35) : (tensor<f32>) -> ()
    }) : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %13 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %15 = "stablehlo.divide"(%12, %14) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %16 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %17 = "stablehlo.subtract"(%0, %16) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %18 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %20 = "stablehlo.add"(%15, %19) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %21 = "stablehlo.rsqrt"(%20) : (tensor<16x1xf32>) -> tensor<16x1xf32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %23 = "stablehlo.multiply"(%17, %22) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %24 = "stablehlo.convert"(%23) : (tensor<16x64xf32>) -> tensor<16x64xf16>
    %25 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<64xf16>) -> tensor<1x64xf16>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x64xf16>) -> tensor<16x64xf16>
    %27 = "stablehlo.multiply"(%24, %26) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %28 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 1>}> : (tensor<64xf16>) -> tensor<1x64xf16>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x64xf16>) -> tensor<16x64xf16>
    %30 = "stablehlo.add"(%27, %29) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %31 = "stablehlo.dot_general"(%30, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>
    %32 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64: 1>}> : (tensor<32xf16>) -> tensor<1x32xf16>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf16>) -> tensor<16x32xf16>
    %34 = "stablehlo.add"(%31, %33) : (tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<16x32xf16>
    "func.return"(%34) : (tensor<16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
