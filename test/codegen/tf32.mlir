// f32 products on tensor cores, where tf32 is allowed.
//
// RUN: prism-opt %s "--sgraph-to-gpu=allow-tf32=true" | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s "--sgraph-to-gpu=allow-tf32=true" --gpu-to-ptx | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=EXACT

// 8x16 times 16x16: the transposed form wastes no row, one fragment of 16x8. A step of 16 along k is two mma of depth 8. There is no
// ldmatrix of 32 bits: a thread loads 4 elements of W and 2 of X for each mma, 12 in all, and rounds each.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "fast"}>
// CHECK-NOT: ldmatrix
// CHECK-COUNT-12: "nvvm.convert.float.to.tf32"(%{{.+}}) <{{{.*}}rnd = #nvvm.fp_rnd_mode<rna>
// CHECK-NOT: convert.float.to.tf32
// CHECK-COUNT-2: "nvvm.mma.sync"({{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>
// CHECK-NOT: mma.sync
//
// PTX-LABEL: .visible .entry fast(
// PTX-COUNT-2: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// PTX-NOT: mma.sync
//
// EXACT-LABEL: .visible .entry fast(
// EXACT-NOT: tf32
// EXACT: fma.rn.f32
sgraph.program @p(%X: tensor<8x16xf32>, %W: tensor<16x16xf32>) {
  %0 = sgraph.matmul %X, %W : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  sgraph.return %0 as "o" : tensor<8x16xf32>
}
sgraph.graph @fast implements @p(%X: tensor<8x16xf32>, %W: tensor<16x16xf32>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf32>, %w = %W : tensor<16x16xf32>) grid {x = 1} -> tensor<8x16xf32> {
    %1 = sgraph.load %x as X imap {} : tensor<8x16xf32> -> !sgraph.tile<[8, 16] x f32>
    %2 = sgraph.load %w as W imap {} : tensor<16x16xf32> -> !sgraph.tile<[16, 16] x f32>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[8, 16] x f32>, !sgraph.tile<[16, 16] x f32>) -> !sgraph.tile<[8, 16] x f32>
    sgraph.save %3 omap {} : !sgraph.tile<[8, 16] x f32>
  }
  sgraph.yield %0 : tensor<8x16xf32>
}
