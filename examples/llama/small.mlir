"builtin.module"() <{sym_name = "jit_layer"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<2x1x64xf16>, tensor<i32>, tensor<2x2x32x16xf16>, tensor<2x2x32x16xf16>, tensor<64xf16>, tensor<64x64xf16>, tensor<64x32xf16>, tensor<64x32xf16>, tensor<64x64xf16>, tensor<64xf16>, tensor<64x128xf16>, tensor<64x128xf16>, tensor<128x64xf16>) -> (tensor<2x1x64xf16>, tensor<2x2x32x16xf16>, tensor<2x2x32x16xf16>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg4: tensor<2x1x64xf16>, %arg5: tensor<i32>, %arg6: tensor<2x2x32x16xf16>, %arg7: tensor<2x2x32x16xf16>, %arg8: tensor<64xf16>, %arg9: tensor<64x64xf16>, %arg10: tensor<64x32xf16>, %arg11: tensor<64x32xf16>, %arg12: tensor<64x64xf16>, %arg13: tensor<64xf16>, %arg14: tensor<64x128xf16>, %arg15: tensor<64x128xf16>, %arg16: tensor<128x64xf16>):
    %13 = "stablehlo.convert"(%arg4) : (tensor<2x1x64xf16>) -> tensor<2x1x64xf32>
    %14 = "stablehlo.multiply"(%13, %13) : (tensor<2x1x64xf32>, tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
    %15 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %16 = "stablehlo.reduce"(%14, %15) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg23: tensor<f32>, %arg24: tensor<f32>):
      %202 = "stablehlo.add"(%arg23, %arg24) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%202) : (tensor<f32>) -> ()
    }) : (tensor<2x1x64xf32>, tensor<f32>) -> tensor<2x1xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xf32>) -> tensor<2x1x1xf32>
    %18 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x1x1xf32>
    %20 = "stablehlo.divide"(%17, %19) : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %21 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x1x1xf32>
    %23 = "stablehlo.add"(%20, %22) : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %24 = "stablehlo.rsqrt"(%23) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x1x1xf32>) -> tensor<2x1x64xf32>
    %26 = "stablehlo.multiply"(%13, %25) : (tensor<2x1x64xf32>, tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
    %27 = "stablehlo.convert"(%26) : (tensor<2x1x64xf32>) -> tensor<2x1x64xf16>
    %28 = "stablehlo.broadcast_in_dim"(%arg8) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf16>) -> tensor<1x1x64xf16>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf16>) -> tensor<2x1x64xf16>
    %30 = "stablehlo.multiply"(%29, %27) : (tensor<2x1x64xf16>, tensor<2x1x64xf16>) -> tensor<2x1x64xf16>
    %31 = "stablehlo.dot_general"(%30, %arg9) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x1x64xf16>, tensor<64x64xf16>) -> tensor<2x1x64xf16>
    %32 = "stablehlo.reshape"(%31) : (tensor<2x1x64xf16>) -> tensor<2x1x4x16xf16>
    %33 = "stablehlo.transpose"(%32) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x1x4x16xf16>) -> tensor<2x4x1x16xf16>
    %34 = "stablehlo.dot_general"(%30, %arg10) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x1x64xf16>, tensor<64x32xf16>) -> tensor<2x1x32xf16>
    %35 = "stablehlo.reshape"(%34) : (tensor<2x1x32xf16>) -> tensor<2x1x2x16xf16>
    %36 = "stablehlo.transpose"(%35) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x1x2x16xf16>) -> tensor<2x2x1x16xf16>
    %37 = "stablehlo.dot_general"(%30, %arg11) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x1x64xf16>, tensor<64x32xf16>) -> tensor<2x1x32xf16>
    %38 = "stablehlo.reshape"(%37) : (tensor<2x1x32xf16>) -> tensor<2x1x2x16xf16>
    %39 = "stablehlo.transpose"(%38) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<2x1x2x16xf16>) -> tensor<2x2x1x16xf16>
    %40 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<8xf32>
    %41 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %42 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %43 = "stablehlo.multiply"(%42, %40) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %44 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %46 = "stablehlo.add"(%45, %43) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %47 = "stablehlo.constant"() <{value = dense<1.600000e+01> : tensor<f32>}> : () -> tensor<f32>
    %48 = "stablehlo.broadcast_in_dim"(%47) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %49 = "stablehlo.divide"(%46, %48) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %50 = "stablehlo.constant"() <{value = dense<5.000000e+05> : tensor<f32>}> : () -> tensor<f32>
    %51 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %52 = "stablehlo.power"(%51, %49) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %53 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %54 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %55 = "stablehlo.divide"(%54, %52) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %56 = "stablehlo.convert"(%arg5) : (tensor<i32>) -> tensor<f32>
    %57 = "stablehlo.broadcast_in_dim"(%56) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %58 = "stablehlo.multiply"(%57, %55) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %59 = "stablehlo.concatenate"(%58, %58) <{dimension = 0 : i64}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
    %60 = "stablehlo.cosine"(%59) : (tensor<16xf32>) -> tensor<16xf32>
    %61 = "stablehlo.convert"(%60) : (tensor<16xf32>) -> tensor<16xf16>
    %62 = "stablehlo.sine"(%59) : (tensor<16xf32>) -> tensor<16xf32>
    %63 = "stablehlo.convert"(%62) : (tensor<16xf32>) -> tensor<16xf16>
    %64 = "stablehlo.slice"(%33) <{limit_indices = array<i64: 2, 4, 1, 8>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x4x1x16xf16>) -> tensor<2x4x1x8xf16>
    %65 = "stablehlo.slice"(%33) <{limit_indices = array<i64: 2, 4, 1, 16>, start_indices = array<i64: 0, 0, 0, 8>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x4x1x16xf16>) -> tensor<2x4x1x8xf16>
    %66 = "stablehlo.broadcast_in_dim"(%61) <{broadcast_dimensions = array<i64: 3>}> : (tensor<16xf16>) -> tensor<1x1x1x16xf16>
    %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x1x16xf16>) -> tensor<2x4x1x16xf16>
    %68 = "stablehlo.multiply"(%33, %67) : (tensor<2x4x1x16xf16>, tensor<2x4x1x16xf16>) -> tensor<2x4x1x16xf16>
    %69 = "stablehlo.negate"(%65) : (tensor<2x4x1x8xf16>) -> tensor<2x4x1x8xf16>
    %70 = "stablehlo.concatenate"(%69, %64) <{dimension = 3 : i64}> : (tensor<2x4x1x8xf16>, tensor<2x4x1x8xf16>) -> tensor<2x4x1x16xf16>
    %71 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64: 3>}> : (tensor<16xf16>) -> tensor<1x1x1x16xf16>
    %72 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x1x16xf16>) -> tensor<2x4x1x16xf16>
    %73 = "stablehlo.multiply"(%70, %72) : (tensor<2x4x1x16xf16>, tensor<2x4x1x16xf16>) -> tensor<2x4x1x16xf16>
    %74 = "stablehlo.add"(%68, %73) : (tensor<2x4x1x16xf16>, tensor<2x4x1x16xf16>) -> tensor<2x4x1x16xf16>
    %75 = "stablehlo.slice"(%36) <{limit_indices = array<i64: 2, 2, 1, 8>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x2x1x16xf16>) -> tensor<2x2x1x8xf16>
    %76 = "stablehlo.slice"(%36) <{limit_indices = array<i64: 2, 2, 1, 16>, start_indices = array<i64: 0, 0, 0, 8>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x2x1x16xf16>) -> tensor<2x2x1x8xf16>
    %77 = "stablehlo.broadcast_in_dim"(%61) <{broadcast_dimensions = array<i64: 3>}> : (tensor<16xf16>) -> tensor<1x1x1x16xf16>
    %78 = "stablehlo.broadcast_in_dim"(%77) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x1x16xf16>) -> tensor<2x2x1x16xf16>
    %79 = "stablehlo.multiply"(%36, %78) : (tensor<2x2x1x16xf16>, tensor<2x2x1x16xf16>) -> tensor<2x2x1x16xf16>
    %80 = "stablehlo.negate"(%76) : (tensor<2x2x1x8xf16>) -> tensor<2x2x1x8xf16>
    %81 = "stablehlo.concatenate"(%80, %75) <{dimension = 3 : i64}> : (tensor<2x2x1x8xf16>, tensor<2x2x1x8xf16>) -> tensor<2x2x1x16xf16>
    %82 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64: 3>}> : (tensor<16xf16>) -> tensor<1x1x1x16xf16>
    %83 = "stablehlo.broadcast_in_dim"(%82) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x1x16xf16>) -> tensor<2x2x1x16xf16>
    %84 = "stablehlo.multiply"(%81, %83) : (tensor<2x2x1x16xf16>, tensor<2x2x1x16xf16>) -> tensor<2x2x1x16xf16>
    %85 = "stablehlo.add"(%79, %84) : (tensor<2x2x1x16xf16>, tensor<2x2x1x16xf16>) -> tensor<2x2x1x16xf16>
    %86 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %87 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %88 = "stablehlo.compare"(%86, %87) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %89 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %90 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %91 = "stablehlo.add"(%89, %90) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %92 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %93 = "stablehlo.select"(%88, %91, %92) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %94 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %95 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %96 = "stablehlo.compare"(%94, %95) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %97 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %98 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %99 = "stablehlo.add"(%97, %98) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %100 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %101 = "stablehlo.select"(%96, %99, %100) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %102 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %103 = "stablehlo.compare"(%arg5, %102) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %104 = "stablehlo.constant"() <{value = dense<32> : tensor<i32>}> : () -> tensor<i32>
    %105 = "stablehlo.add"(%arg5, %104) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %106 = "stablehlo.select"(%103, %105, %arg5) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %107 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %108 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %109 = "stablehlo.compare"(%107, %108) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %110 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %111 = "stablehlo.constant"() <{value = dense<16> : tensor<i32>}> : () -> tensor<i32>
    %112 = "stablehlo.add"(%110, %111) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %113 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %114 = "stablehlo.select"(%109, %112, %113) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %115 = "stablehlo.dynamic_update_slice"(%arg6, %85, %93, %101, %106, %114) : (tensor<2x2x32x16xf16>, tensor<2x2x1x16xf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x2x32x16xf16>
    %116 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %117 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %118 = "stablehlo.compare"(%116, %117) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %119 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %120 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %121 = "stablehlo.add"(%119, %120) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %122 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %123 = "stablehlo.select"(%118, %121, %122) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %124 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %125 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %126 = "stablehlo.compare"(%124, %125) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %127 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %128 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %129 = "stablehlo.add"(%127, %128) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %130 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %131 = "stablehlo.select"(%126, %129, %130) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %132 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %133 = "stablehlo.compare"(%arg5, %132) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %134 = "stablehlo.constant"() <{value = dense<32> : tensor<i32>}> : () -> tensor<i32>
    %135 = "stablehlo.add"(%arg5, %134) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %136 = "stablehlo.select"(%133, %135, %arg5) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %137 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %138 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %139 = "stablehlo.compare"(%137, %138) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %140 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %141 = "stablehlo.constant"() <{value = dense<16> : tensor<i32>}> : () -> tensor<i32>
    %142 = "stablehlo.add"(%140, %141) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %143 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %144 = "stablehlo.select"(%139, %142, %143) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %145 = "stablehlo.dynamic_update_slice"(%arg7, %39, %123, %131, %136, %144) : (tensor<2x2x32x16xf16>, tensor<2x2x1x16xf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x2x32x16xf16>
    %146 = "stablehlo.reshape"(%74) : (tensor<2x4x1x16xf16>) -> tensor<2x2x2x16xf16>
    %147 = "stablehlo.dot_general"(%146, %115) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x2x2x16xf16>, tensor<2x2x32x16xf16>) -> tensor<2x2x2x32xf32>
    %148 = "stablehlo.constant"() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
    %149 = "stablehlo.broadcast_in_dim"(%148) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x2x32xf32>
    %150 = "stablehlo.multiply"(%147, %149) : (tensor<2x2x2x32xf32>, tensor<2x2x2x32xf32>) -> tensor<2x2x2x32xf32>
    %151 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xi32>
    %152 = "stablehlo.broadcast_in_dim"(%arg5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<32xi32>
    %153 = "stablehlo.compare"(%151, %152) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
    %154 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %155 = "func.call"(%153, %150, %154) <{callee = @_where}> : (tensor<32xi1>, tensor<2x2x2x32xf32>, tensor<f32>) -> tensor<2x2x2x32xf32>
    %156 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %157 = "stablehlo.reduce"(%155, %156) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg21: tensor<f32>, %arg22: tensor<f32>):
      %201 = "stablehlo.maximum"(%arg21, %arg22) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%201) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x32xf32>, tensor<f32>) -> tensor<2x2x2xf32>
    %158 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %159 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x2xf32>
    %160 = "stablehlo.maximum"(%159, %157) : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
    %161 = "stablehlo.broadcast_in_dim"(%160) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x2x2xf32>) -> tensor<2x2x2x1xf32>
    %162 = "stablehlo.broadcast_in_dim"(%161) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x1xf32>) -> tensor<2x2x2x32xf32>
    %163 = "stablehlo.subtract"(%155, %162) : (tensor<2x2x2x32xf32>, tensor<2x2x2x32xf32>) -> tensor<2x2x2x32xf32>
    %164 = "stablehlo.exponential"(%163) : (tensor<2x2x2x32xf32>) -> tensor<2x2x2x32xf32>
    %165 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %166 = "stablehlo.reduce"(%164, %165) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %200 = "stablehlo.add"(%arg19, %arg20) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%200) : (tensor<f32>) -> ()
    }) : (tensor<2x2x2x32xf32>, tensor<f32>) -> tensor<2x2x2xf32>
    %167 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x2x2xf32>) -> tensor<2x2x2x1xf32>
    %168 = "stablehlo.broadcast_in_dim"(%167) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x2x2x1xf32>) -> tensor<2x2x2x32xf32>
    %169 = "stablehlo.divide"(%164, %168) : (tensor<2x2x2x32xf32>, tensor<2x2x2x32xf32>) -> tensor<2x2x2x32xf32>
    %170 = "stablehlo.convert"(%169) : (tensor<2x2x2x32xf32>) -> tensor<2x2x2x32xf16>
    %171 = "stablehlo.dot_general"(%170, %145) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x2x2x32xf16>, tensor<2x2x32x16xf16>) -> tensor<2x2x2x16xf16>
    %172 = "stablehlo.reshape"(%171) : (tensor<2x2x2x16xf16>) -> tensor<2x1x64xf16>
    %173 = "stablehlo.dot_general"(%172, %arg12) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x1x64xf16>, tensor<64x64xf16>) -> tensor<2x1x64xf16>
    %174 = "stablehlo.add"(%arg4, %173) : (tensor<2x1x64xf16>, tensor<2x1x64xf16>) -> tensor<2x1x64xf16>
    %175 = "stablehlo.convert"(%174) : (tensor<2x1x64xf16>) -> tensor<2x1x64xf32>
    %176 = "stablehlo.multiply"(%175, %175) : (tensor<2x1x64xf32>, tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
    %177 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %178 = "stablehlo.reduce"(%176, %177) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg17: tensor<f32>, %arg18: tensor<f32>):
      %199 = "stablehlo.add"(%arg17, %arg18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%199) : (tensor<f32>) -> ()
    }) : (tensor<2x1x64xf32>, tensor<f32>) -> tensor<2x1xf32>
    %179 = "stablehlo.broadcast_in_dim"(%178) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xf32>) -> tensor<2x1x1xf32>
    %180 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %181 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x1x1xf32>
    %182 = "stablehlo.divide"(%179, %181) : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %183 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %184 = "stablehlo.broadcast_in_dim"(%183) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x1x1xf32>
    %185 = "stablehlo.add"(%182, %184) : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %186 = "stablehlo.rsqrt"(%185) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %187 = "stablehlo.broadcast_in_dim"(%186) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x1x1xf32>) -> tensor<2x1x64xf32>
    %188 = "stablehlo.multiply"(%175, %187) : (tensor<2x1x64xf32>, tensor<2x1x64xf32>) -> tensor<2x1x64xf32>
    %189 = "stablehlo.convert"(%188) : (tensor<2x1x64xf32>) -> tensor<2x1x64xf16>
    %190 = "stablehlo.broadcast_in_dim"(%arg13) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf16>) -> tensor<1x1x64xf16>
    %191 = "stablehlo.broadcast_in_dim"(%190) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf16>) -> tensor<2x1x64xf16>
    %192 = "stablehlo.multiply"(%191, %189) : (tensor<2x1x64xf16>, tensor<2x1x64xf16>) -> tensor<2x1x64xf16>
    %193 = "stablehlo.dot_general"(%192, %arg14) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x1x64xf16>, tensor<64x128xf16>) -> tensor<2x1x128xf16>
    %194 = "func.call"(%193) <{callee = @silu}> : (tensor<2x1x128xf16>) -> tensor<2x1x128xf16>
    %195 = "stablehlo.dot_general"(%192, %arg15) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x1x64xf16>, tensor<64x128xf16>) -> tensor<2x1x128xf16>
    %196 = "stablehlo.multiply"(%194, %195) : (tensor<2x1x128xf16>, tensor<2x1x128xf16>) -> tensor<2x1x128xf16>
    %197 = "stablehlo.dot_general"(%196, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x1x128xf16>, tensor<128x64xf16>) -> tensor<2x1x64xf16>
    %198 = "stablehlo.add"(%174, %197) : (tensor<2x1x64xf16>, tensor<2x1x64xf16>) -> tensor<2x1x64xf16>
    "func.return"(%198, %115, %145) : (tensor<2x1x64xf16>, tensor<2x2x32x16xf16>, tensor<2x2x32x16xf16>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<32xi1>, tensor<2x2x2x32xf32>, tensor<f32>) -> tensor<2x2x2x32xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<32xi1>, %arg2: tensor<2x2x2x32xf32>, %arg3: tensor<f32>):
    %9 = "stablehlo.convert"(%arg3) : (tensor<f32>) -> tensor<f32>
    %10 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 3>}> : (tensor<32xi1>) -> tensor<2x2x2x32xi1>
    %11 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x2x2x32xf32>
    %12 = "stablehlo.select"(%10, %arg2, %11) : (tensor<2x2x2x32xi1>, tensor<2x2x2x32xf32>, tensor<2x2x2x32xf32>) -> tensor<2x2x2x32xf32>
    "func.return"(%12) : (tensor<2x2x2x32xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x1x128xf16>) -> tensor<2x1x128xf16>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x1x128xf16>):
    %0 = "stablehlo.negate"(%arg0) : (tensor<2x1x128xf16>) -> tensor<2x1x128xf16>
    %1 = "stablehlo.exponential"(%0) : (tensor<2x1x128xf16>) -> tensor<2x1x128xf16>
    %2 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x1x128xf16>
    %4 = "stablehlo.add"(%3, %1) : (tensor<2x1x128xf16>, tensor<2x1x128xf16>) -> tensor<2x1x128xf16>
    %5 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f16>}> : () -> tensor<f16>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<2x1x128xf16>
    %7 = "stablehlo.divide"(%6, %4) : (tensor<2x1x128xf16>, tensor<2x1x128xf16>) -> tensor<2x1x128xf16>
    %8 = "stablehlo.multiply"(%arg0, %7) : (tensor<2x1x128xf16>, tensor<2x1x128xf16>) -> tensor<2x1x128xf16>
    "func.return"(%8) : (tensor<2x1x128xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

