"builtin.module"() <{sym_name = "jit_rope_half"}> ({
  "func.func"() <{function_type = (tensor<4x16x32xf16>, tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<4x16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x16x32xf16>, %arg1: tensor<16x32xf16>, %arg2: tensor<16x32xf16>):
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 16, 16>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x16x32xf16>) -> tensor<4x16x16xf16>
    %1 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 16, 32>, start_indices = array<i64: 0, 0, 16>, strides = array<i64: 1, 1, 1>}> : (tensor<4x16x32xf16>) -> tensor<4x16x16xf16>
    %2 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x32xf16>) -> tensor<1x16x32xf16>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x16x32xf16>) -> tensor<4x16x32xf16>
    %4 = "stablehlo.multiply"(%arg0, %3) : (tensor<4x16x32xf16>, tensor<4x16x32xf16>) -> tensor<4x16x32xf16>
    %5 = "stablehlo.negate"(%1) : (tensor<4x16x16xf16>) -> tensor<4x16x16xf16>
    %6 = "stablehlo.concatenate"(%5, %0) <{dimension = 2 : i64}> : (tensor<4x16x16xf16>, tensor<4x16x16xf16>) -> tensor<4x16x32xf16>
    %7 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x32xf16>) -> tensor<1x16x32xf16>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x16x32xf16>) -> tensor<4x16x32xf16>
    %9 = "stablehlo.multiply"(%6, %8) : (tensor<4x16x32xf16>, tensor<4x16x32xf16>) -> tensor<4x16x32xf16>
    %10 = "stablehlo.add"(%4, %9) : (tensor<4x16x32xf16>, tensor<4x16x32xf16>) -> tensor<4x16x32xf16>
    "func.return"(%10) : (tensor<4x16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
