// What a schedule asks for beside sizes, warps and stages: which side of a product the 16 rows of the tensor core hold, and how many
// blocks an SM must be able to hold.
//
// RUN: prism-opt %s --sgraph-to-gpu | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// 16x16 times 16x16 pads neither way. Sideways the columns of W are the 16-row side: W, transposed on its way, is the first operand of
// both mma.sync, and each of them takes 8 rows of X.
//
// CHECK-LABEL: "gpu.func"
// CHECK: %[[W:[^ ,)]+]] = "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 4 : i32, transpose = true}>
// CHECK-NEXT: %[[W0:[^ ,)]+]] = "vector.extract"(%[[W]]) <{static_position = array<i64: 0>}>
// CHECK: "nvvm.mma.sync"(%[[W0]],
// CHECK: "nvvm.mma.sync"(%[[W0]],
// CHECK-NOT: "nvvm.mma.sync"
// CHECK: nvvm.minctasm = 3 : i32
//
// PTX-LABEL: .visible .entry g(
// PTX: .maxntid 32, 1, 1
// PTX-NEXT: .minnctapersm 3
sgraph.program @p(%X: tensor<16x16xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  sgraph.return %0 as "o" : tensor<16x16xf16>
}
sgraph.graph @g implements @p(%X: tensor<16x16xf16>, %W: tensor<16x16xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1, orientation sideways, residency 3>} {
  %0 = sgraph.custom(%x = %X : tensor<16x16xf16>, %w = %W : tensor<16x16xf16>) grid {x = 1} -> tensor<16x16xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x16xf16> -> !sgraph.tile<[16, 16] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<16x16xf16> -> !sgraph.tile<[16, 16] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 16] x f16>, !sgraph.tile<[16, 16] x f16>) -> !sgraph.tile<[16, 16] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 16] x f16>
  }
  sgraph.yield %0 : tensor<16x16xf16>
}
