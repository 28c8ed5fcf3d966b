"builtin.module"() <{sym_name = "jit_qkv_split"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64x192xf16>) -> (tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<64x192xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x192xf16>) -> tensor<16x192xf16>
    %1 = "stablehlo.slice"(%0) <{limit_indices = array<i64: 16, 64>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<16x192xf16>) -> tensor<16x64xf16>
    %2 = "stablehlo.slice"(%0) <{limit_indices = array<i64: 16, 128>, start_indices = array<i64: 0, 64>, strides = array<i64: 1, 1>}> : (tensor<16x192xf16>) -> tensor<16x64xf16>
    %3 = "stablehlo.slice"(%0) <{limit_indices = array<i64: 16, 192>, start_indices = array<i64: 0, 128>, strides = array<i64: 1, 1>}> : (tensor<16x192xf16>) -> tensor<16x64xf16>
    "func.return"(%1, %2, %3) : (tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
