"builtin.module"() <{sym_name = "jit_layer_norm_jnp_var"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg9: tensor<16x64xf16>):
    %28 = "stablehlo.convert"(%arg9) : (tensor<16x64xf16>) -> tensor<16x64xf32>
    %29 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %30 = "stablehlo.reduce"(%28, %29) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg10: tensor<f32>, %arg11: tensor<f32>):
      %46 = "stablehlo.add"(%arg10, %arg11) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%46) : (tensor<f32>) -> ()
    }) : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %32 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %34 = "stablehlo.divide"(%31, %33) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %35 = "stablehlo.convert"(%34) : (tensor<16x1xf32>) -> tensor<16x1xf16>
    %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf16>) -> tensor<16x64xf16>
    %37 = "stablehlo.subtract"(%arg9, %36) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %38 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %39 = "func.call"(%arg9, %38) <{callee = @_var}> : (tensor<16x64xf16>, tensor<i32>) -> tensor<16x1xf16>
    %40 = "stablehlo.constant"() <{value = dense<1.001360e-05> : tensor<f16>}> : () -> tensor<f16>
    %41 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x1xf16>
    %42 = "stablehlo.add"(%39, %41) : (tensor<16x1xf16>, tensor<16x1xf16>) -> tensor<16x1xf16>
    %43 = "stablehlo.sqrt"(%42) : (tensor<16x1xf16>) -> tensor<16x1xf16>
    %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf16>) -> tensor<16x64xf16>
    %45 = "stablehlo.divide"(%37, %44) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%45) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<i32>) -> tensor<16x1xf16>, sym_name = "_var", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<16x64xf16>, %arg4: tensor<i32>):
    %3 = "stablehlo.convert"(%arg3) : (tensor<16x64xf16>) -> tensor<16x64xf32>
    %4 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.reduce"(%3, %4) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %27 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%27) : (tensor<f32>) -> ()
    }) : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %7 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %9 = "stablehlo.divide"(%6, %8) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %11 = "stablehlo.subtract"(%3, %10) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %12 = "chlo.square"(%11) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %13 = "stablehlo.convert"(%arg4) : (tensor<i32>) -> tensor<f32>
    %14 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.subtract"(%14, %13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %16 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %17 = "stablehlo.reduce"(%12, %16) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %26 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%26) : (tensor<f32>) -> ()
    }) : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %19 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x1xf32>
    %20 = "stablehlo.divide"(%18, %19) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
    %21 = "stablehlo.convert"(%20) : (tensor<16x1xf32>) -> tensor<16x1xf16>
    %22 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %23 = "stablehlo.compare"(%15, %22) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %24 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %25 = "func.call"(%23, %21, %24) <{callee = @_where}> : (tensor<i1>, tensor<16x1xf16>, tensor<f32>) -> tensor<16x1xf16>
    "func.return"(%25) : (tensor<16x1xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>, tensor<16x1xf16>, tensor<f32>) -> tensor<16x1xf16>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<16x1xf16>, %arg2: tensor<f32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<f32>) -> tensor<f16>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x1xf16>
    %2 = "stablehlo.select"(%arg0, %arg1, %1) : (tensor<i1>, tensor<16x1xf16>, tensor<16x1xf16>) -> tensor<16x1xf16>
    "func.return"(%2) : (tensor<16x1xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
