// Results whose rows are too short to be stored 16 bytes a thread: from registers, in pairs where every pair is aligned and exists as a whole.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// Rows of 18 are no multiple of 4: pairs from registers. Two warps, two tiles of 8 columns
// each, which is 32 columns: only pairs below 18 are stored.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "pairs"}>
// CHECK-COUNT-8: "nvvm.mma.sync"
// CHECK: %[[EXISTS:[^ ,)]+]] = "arith.cmpi"(%{{[^ ,)]+}}, %c18) <{predicate = 6 : i64}>
// CHECK-NEXT: "scf.if"(%[[EXISTS]])
// CHECK: "vector.store"(%{{[^ ,)]+}}, %arg2, %{{[^ ,)]+}}) <{alignment = 4 : i64}> : (vector<2xf16>
// CHECK-COUNT-3: "vector.store"(%{{[^ ,)]+}}, %arg2, %{{[^ ,)]+}}) <{alignment = 4 : i64}> : (vector<2xf16>
// CHECK-NOT: "vector.store"
sgraph.program @p(%X: tensor<16x64xf16>, %W: tensor<64x18xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x64xf16>, tensor<64x18xf16>) -> tensor<16x18xf16>
  sgraph.return %0 as "o" : tensor<16x18xf16>
}
sgraph.graph @pairs implements @p(%X: tensor<16x64xf16>, %W: tensor<64x18xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 2, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>, %w = %W : tensor<64x18xf16>) grid {x = 1} -> tensor<16x18xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x64xf16> -> !sgraph.tile<[16, 64] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<64x18xf16> -> !sgraph.tile<[64, 18] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 64] x f16>, !sgraph.tile<[64, 18] x f16>) -> !sgraph.tile<[16, 18] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 18] x f16>
  }
  sgraph.yield %0 : tensor<16x18xf16>
}

// -----

// Rows of 9: the second of a pair may lie past the end, and every other row starts at an odd element. One by one.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "singles"}>
// CHECK: "nvvm.mma.sync"
// CHECK-NOT: "vector.store"
// CHECK-COUNT-4: "memref.store"(%{{[^ ,)]+}}, %arg2, %{{[^ ,)]+}}) : (f16, memref<144xf16>, index)
// CHECK-NOT: "memref.store"
//
// PTX-LABEL: .visible .entry singles(
// PTX-COUNT-4: st.global.b16
// PTX-NOT: st.global
// PTX: ret;
sgraph.program @p(%X: tensor<16x64xf16>, %W: tensor<64x9xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x64xf16>, tensor<64x9xf16>) -> tensor<16x9xf16>
  sgraph.return %0 as "o" : tensor<16x9xf16>
}
sgraph.graph @singles implements @p(%X: tensor<16x64xf16>, %W: tensor<64x9xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 2, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>, %w = %W : tensor<64x9xf16>) grid {x = 1} -> tensor<16x9xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x64xf16> -> !sgraph.tile<[16, 64] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<64x9xf16> -> !sgraph.tile<[64, 9] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 64] x f16>, !sgraph.tile<[64, 9] x f16>) -> !sgraph.tile<[16, 9] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 9] x f16>
  }
  sgraph.yield %0 : tensor<16x9xf16>
}

// -----

// The transposed form, 8x18: a thread's registers are two neighbours of a column of the result. One by one. The 16-row side holds n: two
// tiles of 16, one a warp, of the second of which rows 16 and 17 exist; the 8-column side holds all 8 rows of m.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "turned"}>
// CHECK-COUNT-4: "nvvm.mma.sync"
// CHECK-NOT: "vector.store"
// CHECK: %[[FIRST:[^ ,)]+]] = "arith.cmpi"(%[[N:[^ ,)]+]], %c18) <{predicate = 6 : i64}>
// CHECK: "scf.if"(%[[FIRST]])
// CHECK: "memref.store"(%{{[^ ,)]+}}, %arg2, %{{[^ ,)]+}}) : (f16, memref<144xf16>, index)
// CHECK: "scf.if"(%[[FIRST]])
// CHECK: %[[NEXT_ROW:[^ ,)]+]] = "arith.addi"(%{{[^ ,)]+}}, %c18){{.*}} : (index, index)
// CHECK: "memref.store"(%{{[^ ,)]+}}, %arg2, %[[NEXT_ROW]])
// CHECK: %[[SECOND:[^ ,)]+]] = "arith.cmpi"(%{{[^ ,)]+}}, %c18) <{predicate = 6 : i64}>
// CHECK: "scf.if"(%[[SECOND]])
// CHECK: "memref.store"(%{{[^ ,)]+}}, %arg2,
// CHECK: "scf.if"(%[[SECOND]])
// CHECK: "memref.store"(%{{[^ ,)]+}}, %arg2,
// CHECK-NOT: "memref.store"
sgraph.program @p(%X: tensor<8x64xf16>, %W: tensor<64x18xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<8x64xf16>, tensor<64x18xf16>) -> tensor<8x18xf16>
  sgraph.return %0 as "o" : tensor<8x18xf16>
}
sgraph.graph @turned implements @p(%X: tensor<8x64xf16>, %W: tensor<64x18xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 2, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<8x64xf16>, %w = %W : tensor<64x18xf16>) grid {x = 1} -> tensor<8x18xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<8x64xf16> -> !sgraph.tile<[8, 64] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<64x18xf16> -> !sgraph.tile<[64, 18] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[8, 64] x f16>, !sgraph.tile<[64, 18] x f16>) -> !sgraph.tile<[8, 18] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[8, 18] x f16>
  }
  sgraph.yield %0 : tensor<8x18xf16>
}
