"builtin.module"() <{sym_name = "jit_f2"}> ({
  "func.func"() <{function_type = (tensor<?x2048xbf16>, tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<?x2048xbf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg6: tensor<?x2048xbf16> loc(unknown), %arg7: tensor<2048x2048xbf16> loc(unknown), %arg8: tensor<2048x2048xbf16> loc(unknown)):
    %17 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32> loc(unknown)
    %18 = "stablehlo.get_dimension_size"(%arg6) <{dimension = 0 : i64}> : (tensor<?x2048xbf16>) -> tensor<i32> loc("dimension_size")
    %19 = "stablehlo.compare"(%18, %17) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("ge")
    "stablehlo.custom_call"(%19, %18) <{api_version = 2 : i32, call_target_name = "shape_assertion", has_side_effect = true}> {error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, 2048). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details."} : (tensor<i1>, tensor<i32>) -> () loc("shape_assertion")
    %20 = "func.call"(%18, %arg6, %arg7, %arg8) <{callee = @_wrapped_jax_export_main}> : (tensor<i32>, tensor<?x2048xbf16>, tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<?x2048xbf16> loc(unknown)
    "func.return"(%20) : (tensor<?x2048xbf16>) -> () loc(unknown)
  }) : () -> () loc(unknown)
  "func.func"() <{arg_attrs = [{jax.global_constant = "b"}, {}, {}, {}], function_type = (tensor<i32>, tensor<?x2048xbf16>, tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<?x2048xbf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "_wrapped_jax_export_main", sym_visibility = "private"}> ({
  ^bb0(%arg2: tensor<i32> loc(unknown), %arg3: tensor<?x2048xbf16> loc("x"), %arg4: tensor<2048x2048xbf16> loc("Wg"), %arg5: tensor<2048x2048xbf16> loc("Wu")):
    %13 = "stablehlo.dot_general"(%arg3, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<?x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<?x2048xbf16> loc("jit(f2)/dot_general"(callsite("f2"("model.py":10:36 to :40) at "<module>"("model.py":23:2 to :84))))
    %14 = "func.call"(%arg2, %13) <{callee = @silu}> : (tensor<i32>, tensor<?x2048xbf16>) -> tensor<?x2048xbf16> loc("jit(f2)/jit(silu)"(callsite("f2"("model.py":10:24 to :41) at "<module>"("model.py":23:2 to :84))))
    %15 = "stablehlo.dot_general"(%arg3, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<?x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<?x2048xbf16> loc("jit(f2)/dot_general"(callsite("f2"("model.py":10:43 to :47) at "<module>"("model.py":23:2 to :84))))
    %16 = "stablehlo.multiply"(%14, %15) : (tensor<?x2048xbf16>, tensor<?x2048xbf16>) -> tensor<?x2048xbf16> loc("jit(f2)/mul"(callsite("f2"("model.py":10:24 to :48) at "<module>"("model.py":23:2 to :84))))
    "func.return"(%16) : (tensor<?x2048xbf16>) -> () loc("jit(f2)"("<module>"("model.py":23:2 to :84)))
  }) : () -> () loc(unknown)
  "func.func"() <{arg_attrs = [{jax.global_constant = "b"}, {}], function_type = (tensor<i32>, tensor<?x2048xbf16>) -> tensor<?x2048xbf16>, sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i32> loc(unknown), %arg1: tensor<?x2048xbf16> loc(unknown)):
    %0 = "stablehlo.constant"() <{value = dense<2048> : tensor<1xi32>}> : () -> tensor<1xi32> loc(unknown)
    %1 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<bf16>}> : () -> tensor<bf16> loc(unknown)
    %2 = "stablehlo.negate"(%arg1) : (tensor<?x2048xbf16>) -> tensor<?x2048xbf16> loc("neg")
    %3 = "stablehlo.exponential"(%2) : (tensor<?x2048xbf16>) -> tensor<?x2048xbf16> loc("exp")
    %4 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32> loc("add")
    %5 = "stablehlo.concatenate"(%4, %0) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32> loc("add")
    %6 = "stablehlo.dynamic_broadcast_in_dim"(%1, %5) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>, tensor<2xi32>) -> tensor<?x2048xbf16> loc("add")
    %7 = "stablehlo.add"(%6, %3) : (tensor<?x2048xbf16>, tensor<?x2048xbf16>) -> tensor<?x2048xbf16> loc("add")
    %8 = "stablehlo.reshape"(%arg0) : (tensor<i32>) -> tensor<1xi32> loc("div")
    %9 = "stablehlo.concatenate"(%8, %0) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32> loc("div")
    %10 = "stablehlo.dynamic_broadcast_in_dim"(%1, %9) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>, tensor<2xi32>) -> tensor<?x2048xbf16> loc("div")
    %11 = "stablehlo.divide"(%10, %7) : (tensor<?x2048xbf16>, tensor<?x2048xbf16>) -> tensor<?x2048xbf16> loc("div")
    %12 = "stablehlo.multiply"(%arg1, %11) : (tensor<?x2048xbf16>, tensor<?x2048xbf16>) -> tensor<?x2048xbf16> loc("mul")
    "func.return"(%12) : (tensor<?x2048xbf16>) -> () loc(unknown)
  }) : () -> () loc("jit:"("jit(f2)/jit"(callsite("f2"("model.py":10:24 to :41) at "<module>"("model.py":23:2 to :84)))))
}) {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(unknown)
