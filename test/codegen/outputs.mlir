// Kernels with several results, and results that other kernels read.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s

// One kernel stores two results, each in its own element type: exp(X) in f16 eight at a time, its row sums in f32.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "outs"}>
// CHECK: ^bb0(%[[X:[a-z0-9]+]]: memref<1024xf16>, %[[E:[a-z0-9]+]]: memref<1024xf16>, %[[S:[a-z0-9]+]]: memref<16xf32>):
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[E]], %{{[^ ,)]+}}) <{alignment = 16 : i64}> : (vector<8xf16>
// CHECK: %[[SUM:[^ ,)]+]] = "memref.load"({{.*}}) : (memref<32xf32, #gpu.address_space<workgroup>>, index) -> f32
// CHECK: "memref.store"(%[[SUM]], %[[S]],
// CHECK: sgraph.launch = "{\22kernels\22: [{\22entry\22: \22outs\22,
// CHECK-SAME: {\22role\22: \22input\22, \22index\22: 0, \22name\22: \22X\22, \22dtype\22: \22f16\22, \22shape\22: [16, 64], \22strides\22: [64, 1], \22alignment\22: 16}
// CHECK-SAME: {\22role\22: \22output\22, \22index\22: 0, \22name\22: \22e\22, \22dtype\22: \22f16\22, \22shape\22: [16, 64], \22strides\22: [64, 1], \22alignment\22: 16}
// CHECK-SAME: {\22role\22: \22output\22, \22index\22: 1, \22name\22: \22s\22, \22dtype\22: \22f32\22, \22shape\22: [16, 1], \22strides\22: [1, 1], \22alignment\22: 16}
// CHECK-SAME: \22workspace\22: []}"
sgraph.program @p(%X: tensor<16x64xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x64xf16> -> tensor<16x64xf16>
  %1 = sgraph.sum %0 dim 1 : tensor<16x64xf16> -> tensor<16x1xf16>
  sgraph.return %0 as "e" : tensor<16x64xf16>, %1 as "s" : tensor<16x1xf16> stored f32, shape [16, 1], strides [1, 1]
}
sgraph.graph @outs implements @p(%X: tensor<16x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 2}, warps 2, stages 1>} {
  %0:2 = sgraph.custom(%x = %X : tensor<16x64xf16>) grid {x = 2} -> (tensor<16x64xf16>, tensor<16x1xf16>) {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<16x64xf16> -> !sgraph.tile<[16/x, 64] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16/x, 64] x f16> -> !sgraph.tile<[16/x, 64] x f16>
    %3 = sgraph.sum %2 dim 1 : !sgraph.tile<[16/x, 64] x f16> -> !sgraph.tile<[16/x, 1] x f16>
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[16/x, 64] x f16>
    sgraph.save %3 omap {x -> 0} : !sgraph.tile<[16/x, 1] x f16>
  }
  sgraph.yield %0#0, %0#1 : tensor<16x64xf16>, tensor<16x1xf16>
}

// -----

// A result that a second kernel reads is stored twice: to the result, and to a workspace of 16 * 64 * 2 = 2048 bytes.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "both"}>
// CHECK: ^bb0(%[[X:[a-z0-9]+]]: memref<1024xf16>, %[[E:[a-z0-9]+]]: memref<1024xf16>, %[[T:[a-z0-9]+]]: memref<1024xf16>):
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[E]], %[[AT:[^ ,)]+]]) <{alignment = 16 : i64}> : (vector<8xf16>
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[T]], %[[AT]]) <{alignment = 16 : i64}> : (vector<8xf16>
// CHECK: sym_name = "both_0"
// CHECK: ^bb0(%[[T1:[a-z0-9]+]]: memref<1024xf16>, %[[S:[a-z0-9]+]]: memref<16xf16>):
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %[[T1]],
// CHECK: sym_name = "both_1"
// CHECK: \22workspace\22: [2048]}"
sgraph.program @p(%X: tensor<16x64xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x64xf16> -> tensor<16x64xf16>
  %1 = sgraph.sum %0 dim 1 : tensor<16x64xf16> -> tensor<16x1xf16>
  sgraph.return %0 as "e" : tensor<16x64xf16>, %1 as "s" : tensor<16x1xf16>
}
sgraph.graph @both implements @p(%X: tensor<16x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 2}, warps 2, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>) grid {x = 2} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<16x64xf16> -> !sgraph.tile<[16/x, 64] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16/x, 64] x f16> -> !sgraph.tile<[16/x, 64] x f16>
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[16/x, 64] x f16>
  }
  %3 = sgraph.custom(%e = %0 : tensor<16x64xf16>) grid {x = 2} -> tensor<16x1xf16> {
    %4 = sgraph.load %e as E imap {x -> 0} : tensor<16x64xf16> -> !sgraph.tile<[16/x, 64] x f16>
    %5 = sgraph.sum %4 dim 1 : !sgraph.tile<[16/x, 64] x f16> -> !sgraph.tile<[16/x, 1] x f16>
    sgraph.save %5 omap {x -> 0} : !sgraph.tile<[16/x, 1] x f16>
  }
  sgraph.yield %0, %3 : tensor<16x64xf16>, tensor<16x1xf16>
}
