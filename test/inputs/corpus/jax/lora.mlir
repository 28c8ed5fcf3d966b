"builtin.module"() <{sym_name = "jit_lora"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64x64xf16>, tensor<64x8xf16>, tensor<8x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<64x64xf16>, %arg2: tensor<64x8xf16>, %arg3: tensor<8x64xf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
    %1 = "stablehlo.dot_general"(%arg0, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x8xf16>) -> tensor<16x8xf16>
    %2 = "stablehlo.dot_general"(%1, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x8xf16>, tensor<8x64xf16>) -> tensor<16x64xf16>
    %3 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %5 = "stablehlo.multiply"(%4, %2) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %6 = "stablehlo.add"(%0, %5) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%6) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
