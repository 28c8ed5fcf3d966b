"builtin.module"() <{sym_name = "jit_einsum_heads"}> ({
  "func.func"() <{function_type = (tensor<8x16x64xf16>, tensor<64x4x32xf16>) -> tensor<8x4x16x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8x16x64xf16>, %arg1: tensor<64x4x32xf16>):
    %0 = "stablehlo.dot_general"(%arg1, %arg0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<64x4x32xf16>, tensor<8x16x64xf16>) -> tensor<4x32x8x16xf16>
    %1 = "stablehlo.transpose"(%0) <{permutation = array<i64: 2, 0, 3, 1>}> : (tensor<4x32x8x16xf16>) -> tensor<8x4x16x32xf16>
    "func.return"(%1) : (tensor<8x4x16x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
