// RUN: prism-opt %s --sgraph-instantiate-parameters -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: prism-opt %s -p 'sgraph-instantiate-parameters{keep=2 samples=50}' | FileCheck %s --check-prefix=TWO

// Sizes replace symbols in declarations and agree with the schedule; the cost is in seconds; what is not proved goes.
// CHECK-LABEL: sgraph.program @p
// CHECK-NOT: sgraph.graph @not_proved
// CHECK: sgraph.graph @g implements @p
// CHECK-SAME: verdict = #sgraph.verdict<proved, "by hand">
// CHECK-SAME: schedule = #sgraph.schedule<{i = [[I:[0-9]+]], x = [[X:[0-9]+]]}, warps {{[0-9]+}}, stages {{[0-9]+}}>, cost = {{[0-9.]+}}e-06 : f64
// CHECK: grid {x = [[X]]} loop {i = [[I]]}
// CHECK: sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x64xf16> -> !sgraph.tile<[16, 64/i] x f16>
// CHECK-NOT: sgraph.graph

// TWO: sgraph.graph @g_s0
// TWO: sgraph.graph @g_s1
// TWO-NOT: sgraph.graph
sgraph.program @p(%X: tensor<16x64xf16>, %W: tensor<64x64xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  sgraph.return %0 as "o" : tensor<16x64xf16>
}
sgraph.graph @g implements @p(%X: tensor<16x64xf16>, %W: tensor<64x64xf16>) attributes {verdict = #sgraph.verdict<proved, "by hand">} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>, %w = %W : tensor<64x64xf16>) grid {x = d_x} loop {i = d_i} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x64xf16> -> !sgraph.tile<[16, 64/i] x f16>
    %2 = sgraph.load %w as W imap {x -> 1} fmap {i -> 0} : tensor<64x64xf16> -> !sgraph.tile<[64/i, 64/x] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 64/i] x f16>, !sgraph.tile<[64/i, 64/x] x f16>) -> !sgraph.tile<[16, 64/x] x f16>
    %4 = sgraph.accum %3 : !sgraph.tile<[16, 64/x] x f16> -> !sgraph.tile<[16, 64/x] x f16>
    sgraph.save %4 omap {x -> 1} : !sgraph.tile<[16, 64/x] x f16>
  }
  sgraph.yield %0 : tensor<16x64xf16>
}
sgraph.graph @not_proved implements @p(%X: tensor<16x64xf16>, %W: tensor<64x64xf16>) attributes {verdict = #sgraph.verdict<unknown>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>, %w = %W : tensor<64x64xf16>) grid {x = d_x} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x64xf16> -> !sgraph.tile<[16, 64] x f16>
    %2 = sgraph.load %w as W imap {x -> 1} : tensor<64x64xf16> -> !sgraph.tile<[64, 64/x] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 64] x f16>, !sgraph.tile<[64, 64/x] x f16>) -> !sgraph.tile<[16, 64/x] x f16>
    sgraph.save %3 omap {x -> 1} : !sgraph.tile<[16, 64/x] x f16>
  }
  sgraph.yield %0 : tensor<16x64xf16>
}
