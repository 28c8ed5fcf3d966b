// Products by element type and order of the operands in memory.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// W stored with k next to each other, as rows of a [16, 16] tensor of which the program sees the transpose: nothing is transposed on
// the way. bf16 operands are words of 32 bits.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "columns"}>
// CHECK-NOT: transpose = true
// CHECK: %[[W:[^ ,)]+]] = "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 4 : i32, transpose = false}>
// CHECK: %[[W3:[^ ,)]+]] = "vector.extract"(%[[W]]) <{static_position = array<i64: 3>}>
// CHECK: %[[WORD:[^ ,)]+]] = "llvm.bitcast"(%[[W3]]) : (vector<2xbf16>) -> i32
// CHECK: "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 4 : i32, transpose = false}>
// CHECK: "nvvm.mma.sync"({{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>
// CHECK: "nvvm.mma.sync"({{.*}}, %[[WORD]], %[[Z:[^ ,)]+]], %[[Z]], %[[Z]], %[[Z]])
// CHECK-NOT: transpose = true
//
// PTX-LABEL: .visible .entry columns(
// PTX-NOT: trans
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PTX-NOT: trans
// PTX: ret;
sgraph.program @p(%X: tensor<16x16xbf16>, %W: tensor<16x16xbf16> view arg 1, shape [16, 16], strides [1, 16], offset 0) {
  %0 = sgraph.matmul %X, %W : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  sgraph.return %0 as "o" : tensor<16x16xbf16>
}
sgraph.graph @columns implements @p(%X: tensor<16x16xbf16>, %W: tensor<16x16xbf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x16xbf16>, %w = %W : tensor<16x16xbf16>) grid {x = 1} -> tensor<16x16xbf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x16xbf16> -> !sgraph.tile<[16, 16] x bf16>
    %2 = sgraph.load %w as W imap {} : tensor<16x16xbf16> -> !sgraph.tile<[16, 16] x bf16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 16] x bf16>, !sgraph.tile<[16, 16] x bf16>) -> !sgraph.tile<[16, 16] x bf16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 16] x bf16>
  }
  sgraph.yield %0 : tensor<16x16xbf16>
}

// -----

// f32 products are not for tensor cores, which would round their operands: 4x8 times 8x32 are 128 results, four a thread, eight steps
// along k written out: 32 fused operations a thread, none of them anything else.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "single"}>
// CHECK-NOT: "nvgpu.ldmatrix"
// CHECK-NOT: "nvvm.mma.sync"
// CHECK-COUNT-32: "math.fma"
// CHECK-NOT: "math.fma"
// CHECK: sgraph.launch
//
// PTX-LABEL: .visible .entry single(
// PTX-NOT: mma.sync
// PTX-COUNT-32: fma.rn.f32
// PTX-NOT: fma.rn.f32
// PTX: ret;
sgraph.program @p(%X: tensor<4x8xf32>, %W: tensor<8x32xf32>) {
  %0 = sgraph.matmul %X, %W : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32>
  sgraph.return %0 as "o" : tensor<4x32xf32>
}
sgraph.graph @single implements @p(%X: tensor<4x8xf32>, %W: tensor<8x32xf32>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<4x8xf32>, %w = %W : tensor<8x32xf32>) grid {x = 1} -> tensor<4x32xf32> {
    %1 = sgraph.load %x as X imap {} : tensor<4x8xf32> -> !sgraph.tile<[4, 8] x f32>
    %2 = sgraph.load %w as W imap {} : tensor<8x32xf32> -> !sgraph.tile<[8, 32] x f32>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[4, 8] x f32>, !sgraph.tile<[8, 32] x f32>) -> !sgraph.tile<[4, 32] x f32>
    sgraph.save %3 omap {} : !sgraph.tile<[4, 32] x f32>
  }
  sgraph.yield %0 : tensor<4x32xf32>
}

// -----

// Longer than eight steps: a loop over all 24, one fused operation for each of the four results.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "single_loop"}>
// CHECK-NOT: "math.fma"
// CHECK: "scf.for"(%{{[^ ,)]+}}, %c24, %{{[^ ,)]+}}, %[[Z:[^ ,)]+]], %[[Z]], %[[Z]], %[[Z]])
// CHECK-COUNT-4: "math.fma"
// CHECK-NOT: "math.fma"
// CHECK: "scf.yield"({{.*}}) : (f32, f32, f32, f32)
// CHECK-NOT: "math.fma"
sgraph.program @p(%X: tensor<4x24xf32>, %W: tensor<24x32xf32>) {
  %0 = sgraph.matmul %X, %W : (tensor<4x24xf32>, tensor<24x32xf32>) -> tensor<4x32xf32>
  sgraph.return %0 as "o" : tensor<4x32xf32>
}
sgraph.graph @single_loop implements @p(%X: tensor<4x24xf32>, %W: tensor<24x32xf32>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<4x24xf32>, %w = %W : tensor<24x32xf32>) grid {x = 1} -> tensor<4x32xf32> {
    %1 = sgraph.load %x as X imap {} : tensor<4x24xf32> -> !sgraph.tile<[4, 24] x f32>
    %2 = sgraph.load %w as W imap {} : tensor<24x32xf32> -> !sgraph.tile<[24, 32] x f32>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[4, 24] x f32>, !sgraph.tile<[24, 32] x f32>) -> !sgraph.tile<[4, 32] x f32>
    sgraph.save %3 omap {} : !sgraph.tile<[4, 32] x f32>
  }
  sgraph.yield %0 : tensor<4x32xf32>
}
