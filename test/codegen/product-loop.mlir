// A long product: steps of 16 along k, eight of them a turn of a loop. Chunks are permuted within eight chunks = 64 elements = 4 steps,
// so that every turn reads at the addresses of the first, all of them the same number of bytes further.
//
// RUN: prism-opt %s --sgraph-to-gpu | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// k = 576 is 36 steps: 4 turns of 8 and 4 more. A turn goes 128 elements on: 256 bytes in a row of X, 128 rows of 8 f16 = 2048 bytes in
// W, which lies after X at 16 * 576 * 2 = 18432. One warp with one tile of columns: W is read for two steps at once, 4 times a turn.
//
// CHECK: "nvvm.cp.async.wait.group"
// CHECK: "scf.for"(%{{[^ ,)]+}}, %c4, %{{[^ ,)]+}}, %[[Z:[^ ,)]+]], %[[Z]], %[[Z]], %[[Z]])
// CHECK-NEXT: ^bb0(%[[TURN:[a-z0-9]+]]: i32,
// CHECK: %[[WT:[^ ,)]+]] = "arith.muli"(%[[TURN]], %c2048)
// CHECK: %[[WI:[^ ,)]+]] = "arith.index_castui"(%[[WT]])
// CHECK: %[[WS:[^ ,)]+]] = "arith.addi"(%[[WI]], %c18432)
// CHECK: %[[W:[^ ,)]+]] = "memref.view"(%{{[^ ,)]+}}, %[[WS]])
// CHECK: "nvgpu.ldmatrix"(%[[W]], %{{[^ ,)]+}}) <{numTiles = 4 : i32, transpose = true}>
// CHECK: %[[XT:[^ ,)]+]] = "arith.muli"(%[[TURN]], %c256)
// CHECK: %[[XI:[^ ,)]+]] = "arith.index_castui"(%[[XT]])
// CHECK: %[[X:[^ ,)]+]] = "memref.view"(%{{[^ ,)]+}}, %[[XI]])
// CHECK: "nvgpu.ldmatrix"(%[[X]], %[[FIRST:[^ ,)]+]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK: "nvvm.mma.sync"
// CHECK: "nvvm.mma.sync"
// CHECK: "nvgpu.ldmatrix"(%[[W]], %{{[^ ,)]+}}) <{numTiles = 4 : i32, transpose = true}>
// CHECK: "nvvm.mma.sync"
// CHECK: "nvvm.mma.sync"
// CHECK: "nvgpu.ldmatrix"(%[[W]], %{{[^ ,)]+}}) <{numTiles = 4 : i32, transpose = true}>
// The fifth step has the first one's permutation: 64 elements further.
// CHECK: %[[FIFTH:[^ ,)]+]] = "arith.addi"(%[[FIRST]], %c64)
// CHECK: "nvgpu.ldmatrix"(%[[X]], %[[FIFTH]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK: "nvvm.mma.sync"
// CHECK: "nvvm.mma.sync"
// CHECK: "nvgpu.ldmatrix"(%[[W]], %{{[^ ,)]+}}) <{numTiles = 4 : i32, transpose = true}>
// CHECK: "nvvm.mma.sync"
// CHECK: "nvvm.mma.sync"
// CHECK-NOT: "nvvm.mma.sync"
// CHECK: "scf.yield"
// CHECK-COUNT-4: "nvvm.mma.sync"
// CHECK-NOT: "nvvm.mma.sync"
//
// In PTX these are the offsets of the instructions. Two steps of W are 32 * 16 = 512 bytes; the last four of X add 4 * 32 = 128. What is
// left after the loop starts 4 turns on, 4 * 256 bytes in X.
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{.*}}}, {{\[}}[[W:%rd[0-9]+]]+18432];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, {{\[}}[[A:%rd[0-9]+]]];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, {{\[}}[[B:%rd[0-9]+]]];
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{.*}}}, {{\[}}[[W]]+18944];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, {{\[}}[[C:%rd[0-9]+]]];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, {{\[}}[[D:%rd[0-9]+]]];
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{.*}}}, {{\[}}[[W]]+19456];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, {{\[}}[[A]]+128];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, {{\[}}[[B]]+128];
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{.*}}}, {{\[}}[[W]]+19968];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, {{\[}}[[C]]+128];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, {{\[}}[[D]]+128];
// PTX: bra
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{.*}}+1024];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{.*}}+1024];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{.*}}+1024];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{.*}}+1024];
// PTX-NOT: ldmatrix
// PTX: ret;
sgraph.program @p(%X: tensor<16x576xf16>, %W: tensor<576x8xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x576xf16>, tensor<576x8xf16>) -> tensor<16x8xf16>
  sgraph.return %0 as "o" : tensor<16x8xf16>
}
sgraph.graph @long implements @p(%X: tensor<16x576xf16>, %W: tensor<576x8xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x576xf16>, %w = %W : tensor<576x8xf16>) grid {x = 1} -> tensor<16x8xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x576xf16> -> !sgraph.tile<[16, 576] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<576x8xf16> -> !sgraph.tile<[576, 8] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 576] x f16>, !sgraph.tile<[576, 8] x f16>) -> !sgraph.tile<[16, 8] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 8] x f16>
  }
  sgraph.yield %0 : tensor<16x8xf16>
}
