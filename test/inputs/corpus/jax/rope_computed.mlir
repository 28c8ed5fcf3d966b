"builtin.module"() <{sym_name = "jit_rope_computed"}> ({
  "func.func"() <{function_type = (tensor<4x16x32xf16>) -> tensor<4x16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x16x32xf16>):
    %0 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 0.562341332, 0.316227764, 0.177827939, 1.000000e-01, 0.0562341288, 0.0316227786, 0.0177827943, 0.00999999977, 0.00562341325, 0.00316227786, 0.00177827943, 1.000000e-03, 5.62341302E-4, 3.16227786E-4, 1.7782794E-4]> : tensor<16xf32>}> : () -> tensor<16xf32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 1>}> : (tensor<16xf32>) -> tensor<1x16xf32>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xf32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x16xf32>
    %5 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x16xf32>) -> tensor<16x16xf32>
    %6 = "stablehlo.multiply"(%4, %5) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %7 = "stablehlo.concatenate"(%6, %6) <{dimension = 1 : i64}> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x32xf32>
    %8 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 16, 16>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x16x32xf16>) -> tensor<4x16x16xf16>
    %9 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 16, 32>, start_indices = array<i64: 0, 0, 16>, strides = array<i64: 1, 1, 1>}> : (tensor<4x16x32xf16>) -> tensor<4x16x16xf16>
    %10 = "stablehlo.cosine"(%7) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %11 = "stablehlo.convert"(%arg0) : (tensor<4x16x32xf16>) -> tensor<4x16x32xf32>
    %12 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x32xf32>) -> tensor<1x16x32xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x16x32xf32>) -> tensor<4x16x32xf32>
    %14 = "stablehlo.multiply"(%11, %13) : (tensor<4x16x32xf32>, tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
    %15 = "stablehlo.negate"(%9) : (tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
    %16 = "stablehlo.concatenate"(%15, %8) <{dimension = 2 : i64}> : (tensor<4x16x16xf16>, tensor<4x16x16xf16>) -> tensor<4x16x32xf16>
    %17 = "stablehlo.sine"(%7) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %18 = "stablehlo.convert"(%16) : (tensor<4x16x32xf16>) -> tensor<4x16x32xf32>
    %19 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x32xf32>) -> tensor<1x16x32xf32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x16x32xf32>) -> tensor<4x16x32xf32>
    %21 = "stablehlo.multiply"(%18, %20) : (tensor<4x16x32xf32>, tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
    %22 = "stablehlo.add"(%14, %21) : (tensor<4x16x32xf32>, tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
    %23 = "stablehlo.convert"(%22) : (tensor<4x16x32xf32>) -> tensor<4x16x32xf16>
    "func.return"(%23) : (tensor<4x16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
