"builtin.module"() <{sym_name = "jit_einsum_out"}> ({
  "func.func"() <{function_type = (tensor<8x4x16x32xf16>, tensor<4x32x64xf16>) -> tensor<8x16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8x4x16x32xf16>, %arg1: tensor<4x32x64xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<8x4x16x32xf16>, tensor<4x32x64xf16>) -> tensor<8x16x64xf16>
    "func.return"(%0) : (tensor<8x16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
