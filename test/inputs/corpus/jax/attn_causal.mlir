"builtin.module"() <{sym_name = "jit_attn_causal"}> ({
  "func.func"() <{function_type = (tensor<4x32x32xf16>, tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg4: tensor<4x32x32xf16>, %arg5: tensor<4x32x32xf16>, %arg6: tensor<4x32x32xf16>):
    %12 = "stablehlo.dot_general"(%arg4, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    %13 = "stablehlo.constant"() <{value = dense<5.656250e+00> : tensor<f16>}> : () -> tensor<f16>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<4x32x32xf16>
    %15 = "stablehlo.divide"(%12, %14) : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    %16 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<32x32xi1>
    %18 = "func.call"(%17) <{callee = @tril}> : (tensor<32x32xi1>) -> tensor<32x32xi1>
    %19 = "stablehlo.constant"() <{value = dense<-6.550400e+04> : tensor<f16>}> : () -> tensor<f16>
    %20 = "func.call"(%18, %15, %19) <{callee = @_where}> : (tensor<32x32xi1>, tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>
    %21 = "stablehlo.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %22 = "stablehlo.reduce"(%20, %21) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg9: tensor<f16>, %arg10: tensor<f16>):
      %39 = "stablehlo.maximum"(%arg9, %arg10) : (tensor<f16>, tensor<f16>) -> tensor<f16>
      "stablehlo.return"(%39) : (tensor<f16>) -> ()
    }) : (tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32xf16>
    %23 = "stablehlo.constant"() <{value = dense<0xFC00> : tensor<f16>}> : () -> tensor<f16>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<4x32xf16>
    %25 = "stablehlo.maximum"(%24, %22) : (tensor<4x32xf16>, tensor<4x32xf16>) -> tensor<4x32xf16>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x32xf16>) -> tensor<4x32x1xf16>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x32x1xf16>) -> tensor<4x32x32xf16>
    %28 = "stablehlo.subtract"(%20, %27) : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    %29 = "stablehlo.exponential"(%28) : (tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    %30 = "stablehlo.convert"(%29) : (tensor<4x32x32xf16>) -> tensor<4x32x32xf32>
    %31 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %32 = "stablehlo.reduce"(%30, %31) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %38 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%38) : (tensor<f32>) -> ()
    }) : (tensor<4x32x32xf32>, tensor<f32>) -> tensor<4x32xf32>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %34 = "stablehlo.convert"(%33) : (tensor<4x32x1xf32>) -> tensor<4x32x1xf16>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x32x1xf16>) -> tensor<4x32x32xf16>
    %36 = "stablehlo.divide"(%29, %35) : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    %37 = "stablehlo.dot_general"(%36, %arg6) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    "func.return"(%37) : (tensor<4x32x32xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<32x32xi1>) -> tensor<32x32xi1>, sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<32x32xi1>):
    %3 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32x32xi32>
    %4 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<32x32xi32>
    %6 = "stablehlo.add"(%3, %5) : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi32>
    %7 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<32x32xi32>
    %8 = "stablehlo.compare"(%6, %7) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %9 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<32x32xi1>
    %11 = "stablehlo.select"(%8, %arg3, %10) : (tensor<32x32xi1>, tensor<32x32xi1>, tensor<32x32xi1>) -> tensor<32x32xi1>
    "func.return"(%11) : (tensor<32x32xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<32x32xi1>, tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<32x32xi1>, %arg1: tensor<4x32x32xf16>, %arg2: tensor<f16>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<32x32xi1>) -> tensor<4x32x32xi1>
    %1 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<4x32x32xf16>
    %2 = "stablehlo.select"(%0, %arg1, %1) : (tensor<4x32x32xi1>, tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
    "func.return"(%2) : (tensor<4x32x32xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
