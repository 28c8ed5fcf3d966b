// Many copies of a tile are a loop, in which all addresses grow by the same.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s

// W 128x64 in f16, rows of 8 chunks of 16 bytes: 32 threads copy 4 rows a round, and 32 rounds the tile. Eight rounds are 32 rows, a
// multiple of the eight after which the permutation of chunks comes round: 4 turns of eight copies, each 32 rows * 128 bytes = 4096
// bytes on in shared memory.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "rows"}>
// CHECK: "scf.for"(%c0, %c4, %c1)
// CHECK-NEXT: ^bb0(%[[TURN:[^ :]+]]
// CHECK: %[[PASSED:[^ ,)]+]] = "arith.muli"(%[[TURN]], %c32)
// CHECK: "arith.muli"(%[[PASSED]], %c128)
// CHECK-COUNT-8: "nvgpu.device_async_copy"(
// CHECK-NOT: "nvgpu.device_async_copy"(
// CHECK: "scf.yield"
sgraph.program @p(%X: tensor<128x64xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<128x64xf16> -> tensor<128x64xf16>
  sgraph.return %0 as "o" : tensor<128x64xf16>
}
sgraph.graph @rows implements @p(%X: tensor<128x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<128x64xf16>) grid {x = 1} -> tensor<128x64xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<128x64xf16> -> !sgraph.tile<[128, 64] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[128, 64] x f16> -> !sgraph.tile<[128, 64] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[128, 64] x f16>
  }
  sgraph.yield %0 : tensor<128x64xf16>
}

// -----

// X 8x512, rows of 64 chunks: 32 threads copy half a row a round. Eight rounds are 4 rows, sixteen are 8: all 16 rounds are written out.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "halves"}>
// CHECK-NOT: "scf.for"
// CHECK-COUNT-16: "nvgpu.device_async_copy"(
// CHECK-NOT: "nvgpu.device_async_copy"(
sgraph.program @p(%X: tensor<8x512xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x512xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
sgraph.graph @halves implements @p(%X: tensor<8x512xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<8x512xf16>) grid {x = 1} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<8x512xf16> -> !sgraph.tile<[8, 512] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8, 512] x f16> -> !sgraph.tile<[8, 1] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[8, 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}
