"builtin.module"() <{sym_name = "jit_clip"}> ({
  "func.func"() <{function_type = (tensor<16x64xf16>) -> tensor<16x64xf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<16x64xf16>):
    %6 = "stablehlo.constant"() <{value = dense<-1> : tensor<i32>}> : () -> tensor<i32>
    %7 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %8 = "func.call"(%arg3, %6, %7) <{callee = @clip}> : (tensor<16x64xf16>, tensor<i32>, tensor<i32>) -> tensor<16x64xf16>
    "func.return"(%8) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf16>, tensor<i32>, tensor<i32>) -> tensor<16x64xf16>, sym_name = "clip", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x64xf16>, %arg1: tensor<i32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<f16>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %2 = "stablehlo.maximum"(%1, %arg0) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    %3 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f16>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f16>) -> tensor<16x64xf16>
    %5 = "stablehlo.minimum"(%4, %2) : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
    "func.return"(%5) : (tensor<16x64xf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
