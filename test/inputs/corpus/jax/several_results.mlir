"builtin.module"() <{sym_name = "jit_several_results"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64x32xf16>, tensor<64x32xf16>) -> (tensor<16x32xf16>, tensor<16x32xf16>, tensor<16x64xf16>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<64x32xf16>, %arg2: tensor<64x32xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>
    %1 = "stablehlo.dot_general"(%arg0, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>
    "func.return"(%0, %1, %arg0) : (tensor<16x32xf16>, tensor<16x32xf16>, tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
