"builtin.module"() <{sym_name = "jit_outer"}> ({
  "func.func"() <{function_type = (tensor<16xf16>, tensor<32xf16>) -> tensor<16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16xf16>, %arg1: tensor<32xf16>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf16>) -> tensor<16x1xf16>
    %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<32xf16>) -> tensor<1x32xf16>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf16>) -> tensor<16x32xf16>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf16>) -> tensor<16x32xf16>
    %4 = "stablehlo.multiply"(%2, %3) : (tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<16x32xf16>
    "func.return"(%4) : (tensor<16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
