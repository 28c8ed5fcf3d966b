// RUN: prism-opt %s --sgraph-to-gpu --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: sgraph.program @p
// CHECK-NOT: sgraph.graph
// CHECK: "gpu.module"() <{sym_name = "g"}> ({
// CHECK: "gpu.func"() <{{.*}}known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 2, 1, 1>
// CHECK: "nvgpu.device_async_copy"
// CHECK: "nvgpu.ldmatrix"
// CHECK: "nvvm.mma.sync"
// CHECK: sgraph.launch = "{\22kernels\22: [{\22entry\22: \22g\22,{{.*}}\22grid\22: [2, 1, 1], \22block\22: [64, 1, 1]{{.*}}", sgraph.implements = @p}
sgraph.program @p(%X: tensor<16x64xf16>, %W: tensor<64x64xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  sgraph.return %0 as "o" : tensor<16x64xf16>
}
sgraph.graph @g implements @p(%X: tensor<16x64xf16>, %W: tensor<64x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 2, x = 2}, warps 2, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>, %w = %W : tensor<64x64xf16>) grid {x = 2} loop {i = 2} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x64xf16> -> !sgraph.tile<[16, 64/i] x f16>
    %2 = sgraph.load %w as W imap {x -> 1} fmap {i -> 0} : tensor<64x64xf16> -> !sgraph.tile<[64/i, 64/x] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 64/i] x f16>, !sgraph.tile<[64/i, 64/x] x f16>) -> !sgraph.tile<[16, 64/x] x f16>
    %4 = sgraph.accum %3 : !sgraph.tile<[16, 64/x] x f16> -> !sgraph.tile<[16, 64/x] x f16>
    sgraph.save %4 omap {x -> 1} : !sgraph.tile<[16, 64/x] x f16>
  }
  sgraph.yield %0 : tensor<16x64xf16>
}

// -----

// A graph that is not proved is not emitted.

sgraph.program @p(%X: tensor<16x64xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x64xf16> -> tensor<16x64xf16>
  sgraph.return %0 as "o" : tensor<16x64xf16>
}
// expected-error @+1 {{@g is unknown, not proved, or say unproved}}
sgraph.graph @g implements @p(%X: tensor<16x64xf16>) attributes {verdict = #sgraph.verdict<unknown>, schedule = #sgraph.schedule<{x = 2}, warps 2, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>) grid {x = 2} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<16x64xf16> -> !sgraph.tile<[16/x, 64] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16/x, 64] x f16> -> !sgraph.tile<[16/x, 64] x f16>
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[16/x, 64] x f16>
  }
  sgraph.yield %0 : tensor<16x64xf16>
}

// -----

// Library operators have no code of their own.

sgraph.program @p(%X: tensor<16x64xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x64xf16> -> tensor<16x64xf16>
  sgraph.return %0 as "o" : tensor<16x64xf16>
}
// expected-error @+1 {{no code for library operator unary[exp(x)], use graph-defined operators only}}
sgraph.graph @g implements @p(%X: tensor<16x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{}, warps 2, stages 1>} {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x64xf16> -> tensor<16x64xf16>
  sgraph.yield %0 : tensor<16x64xf16>
}
