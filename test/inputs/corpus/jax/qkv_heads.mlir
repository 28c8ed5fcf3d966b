"builtin.module"() <{sym_name = "jit_qkv_heads"}> ({
  "func.func"() <{function_type = (tensor<2x16x64xf16>, tensor<64x192xf16>) -> (tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x16x64xf16>, %arg1: tensor<64x192xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf16>, tensor<64x192xf16>) -> tensor<2x16x192xf16>
    %1 = "stablehlo.reshape"(%0) : (tensor<2x16x192xf16>) -> tensor<2x16x3x4x16xf16>
    %2 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 1, 4, 16>, start_indices = array<i64: 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x16x3x4x16xf16>) -> tensor<2x16x1x4x16xf16>
    %3 = "stablehlo.reshape"(%2) : (tensor<2x16x1x4x16xf16>) -> tensor<2x16x4x16xf16>
    %4 = "stablehlo.transpose"(%3) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x16x4x16xf16>) -> tensor<2x4x16x16xf16>
    %5 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 2, 4, 16>, start_indices = array<i64: 0, 0, 1, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x16x3x4x16xf16>) -> tensor<2x16x1x4x16xf16>
    %6 = "stablehlo.reshape"(%5) : (tensor<2x16x1x4x16xf16>) -> tensor<2x16x4x16xf16>
    %7 = "stablehlo.transpose"(%6) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x16x4x16xf16>) -> tensor<2x4x16x16xf16>
    %8 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 3, 4, 16>, start_indices = array<i64: 0, 0, 2, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>}> : (tensor<2x16x3x4x16xf16>) -> tensor<2x16x1x4x16xf16>
    %9 = "stablehlo.reshape"(%8) : (tensor<2x16x1x4x16xf16>) -> tensor<2x16x4x16xf16>
    %10 = "stablehlo.transpose"(%9) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x16x4x16xf16>) -> tensor<2x4x16x16xf16>
    "func.return"(%4, %7, %10) : (tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
