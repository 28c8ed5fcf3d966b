"builtin.module"() <{sym_name = "jit_f2"}> ({
  "func.func"() <{function_type = (tensor<8x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8x4096xbf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<8x4096xbf16> loc("x"), %arg2: tensor<4096x4096xbf16> loc("Wg"), %arg3: tensor<4096x4096xbf16> loc("Wu")):
    %8 = "stablehlo.dot_general"(%arg1, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8x4096xbf16> loc("jit(f2)/dot_general"(callsite("f2"("model.py":10:36 to :40) at "<module>"("model.py":20:6 to :54))))
    %9 = "func.call"(%8) <{callee = @silu}> : (tensor<8x4096xbf16>) -> tensor<8x4096xbf16> loc("jit(f2)/jit(silu)"(callsite("f2"("model.py":10:24 to :41) at "<module>"("model.py":20:6 to :54))))
    %10 = "stablehlo.dot_general"(%arg1, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8x4096xbf16> loc("jit(f2)/dot_general"(callsite("f2"("model.py":10:43 to :47) at "<module>"("model.py":20:6 to :54))))
    %11 = "stablehlo.multiply"(%9, %10) : (tensor<8x4096xbf16>, tensor<8x4096xbf16>) -> tensor<8x4096xbf16> loc("jit(f2)/mul"(callsite("f2"("model.py":10:24 to :48) at "<module>"("model.py":20:6 to :54))))
    "func.return"(%11) : (tensor<8x4096xbf16>) -> () loc("jit(f2)"("<module>"("model.py":20:6 to :54)))
  }) : () -> () loc(unknown)
  "func.func"() <{function_type = (tensor<8x4096xbf16>) -> tensor<8x4096xbf16>, sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<8x4096xbf16> loc(unknown)):
    %0 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<bf16>}> : () -> tensor<bf16> loc(unknown)
    %1 = "stablehlo.negate"(%arg0) : (tensor<8x4096xbf16>) -> tensor<8x4096xbf16> loc("neg")
    %2 = "stablehlo.exponential"(%1) : (tensor<8x4096xbf16>) -> tensor<8x4096xbf16> loc("exp")
    %3 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<8x4096xbf16> loc("add")
    %4 = "stablehlo.add"(%3, %2) : (tensor<8x4096xbf16>, tensor<8x4096xbf16>) -> tensor<8x4096xbf16> loc("add")
    %5 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<8x4096xbf16> loc("div")
    %6 = "stablehlo.divide"(%5, %4) : (tensor<8x4096xbf16>, tensor<8x4096xbf16>) -> tensor<8x4096xbf16> loc("div")
    %7 = "stablehlo.multiply"(%arg0, %6) : (tensor<8x4096xbf16>, tensor<8x4096xbf16>) -> tensor<8x4096xbf16> loc("mul")
    "func.return"(%7) : (tensor<8x4096xbf16>) -> () loc(unknown)
  }) : () -> () loc("jit:"("jit(f2)/jit"(callsite("f2"("model.py":10:24 to :41) at "<module>"("model.py":20:6 to :54)))))
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> () loc(unknown)
