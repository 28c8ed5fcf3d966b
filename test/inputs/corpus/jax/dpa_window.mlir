"builtin.module"() <{sym_name = "jit_dpa_window"}> ({
  "func.func"() <{function_type = (tensor<2x16x4x32xf16>, tensor<2x16x4x32xf16>, tensor<2x16x4x32xf16>) -> tensor<2x16x4x32xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<2x16x4x32xf16>, %arg4: tensor<2x16x4x32xf16>, %arg5: tensor<2x16x4x32xf16>):
    %5 = "stablehlo.constant"() <{value = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xi32>}> : () -> tensor<16xi32>
    %6 = "stablehlo.constant"() <{value = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xi32>}> : () -> tensor<16xi32>
    %7 = "stablehlo.reshape"(%arg3) : (tensor<2x16x4x32xf16>) -> tensor<2x16x4x1x32xf16>
    %8 = "stablehlo.dot_general"(%7, %arg4) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x4x1x32xf16>, tensor<2x16x4x32xf16>) -> tensor<2x4x16x1x16xf32>
    %9 = "stablehlo.constant"() <{value = dense<0.176776692> : tensor<f32>}> : () -> tensor<f32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16x1x16xf32>
    %11 = "stablehlo.multiply"(%8, %10) : (tensor<2x4x16x1x16xf32>, tensor<2x4x16x1x16xf32>) -> tensor<2x4x16x1x16xf32>
    %12 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x4x16x16xi1>
    %14 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %15 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 1>}> : (tensor<16xi32>) -> tensor<1x16xi32>
    %16 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x16xi32>
    %18 = "stablehlo.add"(%15, %17) : (tensor<1x16xi32>, tensor<1x16xi32>) -> tensor<1x16xi32>
    %19 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi32>) -> tensor<16x16xi32>
    %20 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x16xi32>) -> tensor<16x16xi32>
    %21 = "stablehlo.compare"(%19, %20) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %22 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %23 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 1>}> : (tensor<16xi32>) -> tensor<1x16xi32>
    %24 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x16xi32>
    %26 = "stablehlo.subtract"(%23, %25) : (tensor<1x16xi32>, tensor<1x16xi32>) -> tensor<1x16xi32>
    %27 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi32>) -> tensor<16x16xi32>
    %28 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x16xi32>) -> tensor<16x16xi32>
    %29 = "stablehlo.compare"(%27, %28) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %30 = "stablehlo.and"(%29, %21) : (tensor<16x16xi1>, tensor<16x16xi1>) -> tensor<16x16xi1>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<16x16xi1>) -> tensor<1x1x16x16xi1>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x16x16xi1>) -> tensor<2x4x16x16xi1>
    %33 = "stablehlo.and"(%13, %32) : (tensor<2x4x16x16xi1>, tensor<2x4x16x16xi1>) -> tensor<2x4x16x16xi1>
    %34 = "stablehlo.constant"() <{value = dense<-2.38197633E+38> : tensor<f32>}> : () -> tensor<f32>
    %35 = "func.call"(%33, %11, %34) <{callee = @_where}> : (tensor<2x4x16x16xi1>, tensor<2x4x16x1x16xf32>, tensor<f32>) -> tensor<1x2x4x16x16xf32>
    %36 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %37 = "stablehlo.reduce"(%35, %36) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      %56 = "stablehlo.maximum"(%arg8, %arg9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%56) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x16x16xf32>, tensor<f32>) -> tensor<1x2x4x16xf32>
    %38 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x4x16xf32>
    %40 = "stablehlo.maximum"(%39, %37) : (tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
    %41 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16x1xf32>
    %42 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x16x1xf32>) -> tensor<1x2x4x16x16xf32>
    %43 = "stablehlo.subtract"(%35, %42) : (tensor<1x2x4x16x16xf32>, tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    %44 = "stablehlo.exponential"(%43) : (tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    %45 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %46 = "stablehlo.reduce"(%44, %45) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %55 = "stablehlo.add"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%55) : (tensor<f32>) -> ()
    }) : (tensor<1x2x4x16x16xf32>, tensor<f32>) -> tensor<1x2x4x16xf32>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16x1xf32>
    %48 = "stablehlo.broadcast_in_dim"(%47) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x4x16x1xf32>) -> tensor<1x2x4x16x16xf32>
    %49 = "stablehlo.divide"(%44, %48) : (tensor<1x2x4x16x16xf32>, tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    %50 = "stablehlo.convert"(%49) : (tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf16>
    %51 = "stablehlo.dot_general"(%arg5, %50) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x4x32xf16>, tensor<1x2x4x16x16xf16>) -> tensor<2x4x32x1x16xf16>
    %52 = "stablehlo.transpose"(%51) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x4x32x1x16xf16>) -> tensor<1x2x16x4x32xf16>
    %53 = "stablehlo.transpose"(%52) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x2x16x4x32xf16>) -> tensor<2x16x4x1x32xf16>
    %54 = "stablehlo.reshape"(%53) : (tensor<2x16x4x1x32xf16>) -> tensor<2x16x4x32xf16>
    "func.return"(%54) : (tensor<2x16x4x32xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x4x16x16xi1>, tensor<2x4x16x1x16xf32>, tensor<f32>) -> tensor<1x2x4x16x16xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x4x16x16xi1>, %arg1: tensor<2x4x16x1x16xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x16x16xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x4x16x16xi1>) -> tensor<1x2x4x16x16xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    %3 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x4x16x1x16xf32>) -> tensor<1x2x4x16x16xf32>
    %4 = "stablehlo.select"(%1, %3, %2) : (tensor<1x2x4x16x16xi1>, tensor<1x2x4x16x16xf32>, tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    "func.return"(%4) : (tensor<1x2x4x16x16xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
