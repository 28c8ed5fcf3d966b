"builtin.module"() <{sym_name = "jit_residual"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<16x64xf16>, %arg2: tensor<64x64xf16>):
    %3 = "stablehlo.dot_general"(%arg1, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
    %4 = "func.call"(%3) <{callee = @relu}> : (tensor<16x64xf16>) -> tensor<16x64xf16>
    %5 = "stablehlo.add"(%arg1, %4) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%5) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, sym_name = "relu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x64xf16>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%2) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
