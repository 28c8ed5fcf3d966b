"builtin.module"() <{sym_name = "jit_attn_causal_iota"}> ({
  "func.func"() <{function_type = (tensor<4x32x32xf16>, tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<4x32x32xf16>, %arg4: tensor<4x32x32xf16>, %arg5: tensor<4x32x32xf16>):
    %4 = "stablehlo.dot_general"(%arg3, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    %5 = "stablehlo.constant"() <{value = dense<1.250000e-01> : tensor<f16>}> : () -> tensor<f16>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<4x32x32xf16>
    %7 = "stablehlo.multiply"(%4, %6) : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    %8 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32x32xi32>
    %9 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<32x32xi32>
    %10 = "stablehlo.compare"(%9, %8) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %11 = "stablehlo.constant"() <{value = dense<-1.000000e+09> : tensor<f32>}> : () -> tensor<f32>
    %12 = "func.call"(%10, %7, %11) <{callee = @_where}> : (tensor<32x32xi1>, tensor<4x32x32xf16>, tensor<f32>) -> tensor<4x32x32xf16>
    %13 = "stablehlo.convert"(%12) : (tensor<4x32x32xf16>) -> tensor<4x32x32xf32>
    %14 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.reduce"(%13, %14) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      %31 = "stablehlo.maximum"(%arg8, %arg9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%31) : (tensor<f32>) -> ()
    }) : (tensor<4x32x32xf32>, tensor<f32>) -> tensor<4x32xf32>
    %16 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x32xf32>
    %18 = "stablehlo.maximum"(%17, %15) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x32x1xf32>) -> tensor<4x32x32xf32>
    %21 = "stablehlo.subtract"(%13, %20) : (tensor<4x32x32xf32>, tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %22 = "stablehlo.exponential"(%21) : (tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %23 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.reduce"(%22, %23) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %30 = "stablehlo.add"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%30) : (tensor<f32>) -> ()
    }) : (tensor<4x32x32xf32>, tensor<f32>) -> tensor<4x32xf32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x32x1xf32>) -> tensor<4x32x32xf32>
    %27 = "stablehlo.divide"(%22, %26) : (tensor<4x32x32xf32>, tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
    %28 = "stablehlo.convert"(%27) : (tensor<4x32x32xf32>) -> tensor<4x32x32xf16>
    %29 = "stablehlo.dot_general"(%28, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    "func.return"(%29) : (tensor<4x32x32xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<32x32xi1>, tensor<4x32x32xf16>, tensor<f32>) -> tensor<4x32x32xf16>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<32x32xi1>, %arg1: tensor<4x32x32xf16>, %arg2: tensor<f32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<f32>) -> tensor<f16>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<32x32xi1>) -> tensor<4x32x32xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<4x32x32xf16>
    %3 = "stablehlo.select"(%1, %arg1, %2) : (tensor<4x32x32xi1>, tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    "func.return"(%3) : (tensor<4x32x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
