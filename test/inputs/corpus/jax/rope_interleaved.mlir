"builtin.module"() <{sym_name = "jit_rope_interleaved"}> ({
  "func.func"() <{function_type = (tensor<4x16x32xf16>, tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<4x16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x16x32xf16>, %arg1: tensor<16x16xf16>, %arg2: tensor<16x16xf16>):
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 16, 32>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 2>}> : (tensor<4x16x32xf16>) -> tensor<4x16x16xf16>
    %1 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 16, 32>, start_indices = array<i64: 0, 0, 1>, strides = array<i64: 1, 1, 2>}> : (tensor<4x16x32xf16>) -> tensor<4x16x16xf16>
    %2 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x16xf16>) -> tensor<1x16x16xf16>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x16x16xf16>) -> tensor<4x16x16xf16>
    %4 = "stablehlo.multiply"(%0, %3) : (tensor<4x16x16xf16>, tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
    %5 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x16xf16>) -> tensor<1x16x16xf16>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x16x16xf16>) -> tensor<4x16x16xf16>
    %7 = "stablehlo.multiply"(%1, %6) : (tensor<4x16x16xf16>, tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
    %8 = "stablehlo.subtract"(%4, %7) : (tensor<4x16x16xf16>, tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
    %9 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x16xf16>) -> tensor<1x16x16xf16>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x16x16xf16>) -> tensor<4x16x16xf16>
    %11 = "stablehlo.multiply"(%0, %10) : (tensor<4x16x16xf16>, tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
    %12 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x16xf16>) -> tensor<1x16x16xf16>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x16x16xf16>) -> tensor<4x16x16xf16>
    %14 = "stablehlo.multiply"(%1, %13) : (tensor<4x16x16xf16>, tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
    %15 = "stablehlo.add"(%11, %14) : (tensor<4x16x16xf16>, tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
    %16 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x16x16xf16>) -> tensor<4x16x16x1xf16>
    %17 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x16x16xf16>) -> tensor<4x16x16x1xf16>
    %18 = "stablehlo.concatenate"(%16, %17) <{dimension = 3 : i64}> : (tensor<4x16x16x1xf16>, tensor<4x16x16x1xf16>) -> tensor<4x16x16x2xf16>
    %19 = "stablehlo.reshape"(%18) : (tensor<4x16x16x2xf16>) -> tensor<4x16x32xf16>
    "func.return"(%19) : (tensor<4x16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
