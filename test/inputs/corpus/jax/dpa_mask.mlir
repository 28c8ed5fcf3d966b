"builtin.module"() <{sym_name = "jit_dpa_mask"}> ({
  "func.func"() <{function_type = (tensor<2x16x4x32xf16>, tensor<2x48x4x32xf16>, tensor<2x48x4x32xf16>, tensor<2x1x16x48xi1>) -> tensor<2x16x4x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<2x16x4x32xf16>, %arg4: tensor<2x48x4x32xf16>, %arg5: tensor<2x48x4x32xf16>, %arg6: tensor<2x1x16x48xi1>):
    %4 = "stablehlo.reshape"(%arg3) : (tensor<2x16x4x32xf16>) -> tensor<2x16x4x1x32xf16>
    %5 = "stablehlo.broadcast_in_dim"(%arg6) <{broadcast_dimensions = array<i64: 0, 1, 3, 4>}> : (tensor<2x1x16x48xi1>) -> tensor<2x1x1x16x48xi1>
    %6 = "stablehlo.dot_general"(%4, %arg4) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x4x1x32xf16>, tensor<2x48x4x32xf16>) -> tensor<2x4x16x1x48xf32>
    %7 = "stablehlo.constant"() <{value = dense<0.176776692> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16x1x48xf32>
    %9 = "stablehlo.multiply"(%6, %8) : (tensor<2x4x16x1x48xf32>, tensor<2x4x16x1x48xf32>) -> tensor<2x4x16x1x48xf32>
    %10 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x4x16x48xi1>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x4x16x48xi1>) -> tensor<1x2x4x16x48xi1>
    %13 = "stablehlo.transpose"(%5) <{permutation = array<i64: 2, 0, 1, 3, 4>}> : (tensor<2x1x1x16x48xi1>) -> tensor<1x2x1x16x48xi1>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x1x16x48xi1>) -> tensor<1x2x4x16x48xi1>
    %15 = "stablehlo.and"(%12, %14) : (tensor<1x2x4x16x48xi1>, tensor<1x2x4x16x48xi1>) -> tensor<1x2x4x16x48xi1>
    %16 = "stablehlo.constant"() <{value = dense<-2.38197633E+38> : tensor<f32>}> : () -> tensor<f32>
    %17 = "func.call"(%15, %9, %16) <{callee = @_where}> : (tensor<1x2x4x16x48xi1>, tensor<2x4x16x1x48xf32>, tensor<f32>) -> tensor<1x2x4x16x48xf32>
    %18 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %19 = "stablehlo.reduce"(%17, %18) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %38 = "stablehlo.maximum"(%arg9, %arg10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%38) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x16x48xf32>, tensor<f32>) -> tensor<1x2x4x16xf32>
    %20 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x4x16xf32>
    %22 = "stablehlo.maximum"(%21, %19) : (tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16x1xf32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x16x1xf32>) -> tensor<1x2x4x16x48xf32>
    %25 = "stablehlo.subtract"(%17, %24) : (tensor<1x2x4x16x48xf32>, tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    %26 = "stablehlo.exponential"(%25) : (tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    %27 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %28 = "stablehlo.reduce"(%26, %27) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %37 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%37) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x16x48xf32>, tensor<f32>) -> tensor<1x2x4x16xf32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16x1xf32>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x16x1xf32>) -> tensor<1x2x4x16x48xf32>
    %31 = "stablehlo.divide"(%26, %30) : (tensor<1x2x4x16x48xf32>, tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    %32 = "stablehlo.convert"(%31) : (tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf16>
    %33 = "stablehlo.dot_general"(%arg5, %32) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x48x4x32xf16>, tensor<1x2x4x16x48xf16>) -> tensor<2x4x32x1x16xf16>
    %34 = "stablehlo.transpose"(%33) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x4x32x1x16xf16>) -> tensor<1x2x16x4x32xf16>
    %35 = "stablehlo.transpose"(%34) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x2x16x4x32xf16>) -> tensor<2x16x4x1x32xf16>
    %36 = "stablehlo.reshape"(%35) : (tensor<2x16x4x1x32xf16>) -> tensor<2x16x4x32xf16>
    "func.return"(%36) : (tensor<2x16x4x32xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1x2x4x16x48xi1>, tensor<2x4x16x1x48xf32>, tensor<f32>) -> tensor<1x2x4x16x48xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x2x4x16x48xi1>, %arg1: tensor<2x4x16x1x48xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16x48xf32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x4x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    %2 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x4x16x1x48xf32>) -> tensor<1x2x4x16x48xf32>
    %3 = "stablehlo.select"(%arg0, %2, %1) : (tensor<1x2x4x16x48xi1>, tensor<1x2x4x16x48xf32>, tensor<1x2x4x16x48xf32>) -> tensor<1x2x4x16x48xf32>
    "func.return"(%3) : (tensor<1x2x4x16x48xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
