// Reductions where rows or warps do not come out even: neutral elements, and warps without a row.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s

// Rows of 100 in three iterations are tiles of 48, 48 and 4: unequal parts are rounded up to multiples of 16. A lane looks at columns l and
// l + 32; what does not exist, in the tile (48 columns) or in the tensor (min(100 - 48i, 48) of them), counts as -inf for a maximum.
// A column past the tile is not read: the last one is read instead.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "ragged"}>
// CHECK: "scf.for"(%[[C0:[^ ,)]+]], %{{[^ ,)]+}}, %{{[^ ,)]+}}, %c0x{{ff|FF}}800000)
// CHECK-NEXT: ^bb0(%[[I:[a-z0-9]+]]: i32, %[[HELD:[a-z0-9]+]]: f32):
// CHECK: "nvvm.cp.async.commit.group"
// CHECK: %[[ONE:[^ ,)]+]] = "arith.extf"
// CHECK: %[[START:[^ ,)]+]] = "arith.muli"(%[[I]], %c48)
// CHECK: %[[LEFT:[^ ,)]+]] = "arith.subi"(%c100, %[[START]])
// CHECK: %[[SOME:[^ ,)]+]] = "arith.maxsi"(%[[LEFT]], %[[C0]])
// CHECK: %[[COLUMNS:[^ ,)]+]] = "arith.minui"(%[[SOME]], %c48)
// CHECK: %[[THERE:[^ ,)]+]] = "arith.cmpi"(%[[LANE:[^ ,)]+]], %[[COLUMNS]]) <{predicate = 6 : i64}>
// CHECK: %[[V:[^ ,)]+]] = "arith.select"(%[[THERE]], %[[ONE]], %c0x{{ff|FF}}800000)
// CHECK: %[[M:[^ ,)]+]] = "arith.maximumf"(%[[HELD]], %[[V]])
// CHECK: %[[SECOND:[^ ,)]+]] = "arith.addi"(%[[LANE]], %c32)
// CHECK: %[[READ:[^ ,)]+]] = "arith.minui"(%[[SECOND]], %c47)
// CHECK: %[[TWO:[^ ,)]+]] = "arith.extf"
// CHECK: %[[TILE:[^ ,)]+]] = "arith.cmpi"(%[[SECOND]], %c48) <{predicate = 6 : i64}>
// CHECK: %[[TENSOR:[^ ,)]+]] = "arith.cmpi"(%[[READ]], %[[COLUMNS]]) <{predicate = 6 : i64}>
// CHECK: %[[BOTH:[^ ,)]+]] = "arith.andi"(%[[TILE]], %[[TENSOR]])
// CHECK: %[[W:[^ ,)]+]] = "arith.select"(%[[BOTH]], %[[TWO]], %c0x{{ff|FF}}800000)
// CHECK: %[[N:[^ ,)]+]] = "arith.maximumf"(%[[M]], %[[W]])
// CHECK: "scf.yield"(%[[N]])
sgraph.program @p(%X: tensor<4x100xf16>) {
  %0 = sgraph.reduce_max %X dim 1 : tensor<4x100xf16> -> tensor<4x1xf16>
  sgraph.return %0 as "o" : tensor<4x1xf16>
}
sgraph.graph @ragged implements @p(%X: tensor<4x100xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 3, x = 1}, warps 4, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<4x100xf16>) grid {x = 1} loop {i = 3} -> tensor<4x1xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<4x100xf16> -> !sgraph.tile<[4, 100/i] x f16>
    %2 = sgraph.reduce_max %1 dim 1 : !sgraph.tile<[4, 100/i] x f16> -> !sgraph.tile<[4, 1] x f16>
    %3 = sgraph.accum %2 max : !sgraph.tile<[4, 1] x f16> -> !sgraph.tile<[4, 1] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[4, 1] x f16>
  }
  sgraph.yield %0 : tensor<4x1xf16>
}

// -----

// The same for a sum: zero counts for what does not exist.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "ragged_sum"}>
// CHECK: "scf.for"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}, %c0.000000e+00)
// CHECK: "arith.select"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %c0.000000e+00) : (i1, f32, f32)
// CHECK: "arith.addf"
// CHECK: "arith.select"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %c0.000000e+00) : (i1, f32, f32)
// CHECK: "arith.addf"
// CHECK: "scf.yield"
sgraph.program @p(%X: tensor<4x100xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<4x100xf16> -> tensor<4x1xf16>
  sgraph.return %0 as "o" : tensor<4x1xf16>
}
sgraph.graph @ragged_sum implements @p(%X: tensor<4x100xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 3, x = 1}, warps 4, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<4x100xf16>) grid {x = 1} loop {i = 3} -> tensor<4x1xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<4x100xf16> -> !sgraph.tile<[4, 100/i] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[4, 100/i] x f16> -> !sgraph.tile<[4, 1] x f16>
    %3 = sgraph.accum %2 : !sgraph.tile<[4, 1] x f16> -> !sgraph.tile<[4, 1] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[4, 1] x f16>
  }
  sgraph.yield %0 : tensor<4x1xf16>
}

// -----

// 3 rows and 4 warps: the last warp reduces row 2 once more, so that all lanes take part in all shuffles, and does not store it.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "few"}>
// CHECK: %[[WARP:[^ ,)]+]] = "arith.divui"(%{{[^ ,)]+}}, %c32)
// CHECK: "nvvm.cp.async.wait.group"
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.minui"(%[[WARP]], %c2)
// CHECK-DAG: %[[EXISTS:[^ ,)]+]] = "arith.cmpi"(%[[WARP]], %c3) <{predicate = 6 : i64}>
// CHECK-COUNT-5: "gpu.shuffle"
// CHECK-NOT: "gpu.shuffle"
// CHECK: %[[LANE0:[^ ,)]+]] = "arith.cmpi"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) <{predicate = 0 : i64}>
// CHECK: %[[STORES:[^ ,)]+]] = "arith.andi"(%[[LANE0]], %[[EXISTS]])
// CHECK: "scf.if"(%[[STORES]])
// CHECK: %[[AT:[^ ,)]+]] = "arith.index_castui"(%[[ROW]])
// CHECK: "memref.store"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %[[AT]])
// CHECK-NOT: "gpu.shuffle"
sgraph.program @p(%X: tensor<3x64xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<3x64xf16> -> tensor<3x1xf16>
  sgraph.return %0 as "o" : tensor<3x1xf16>
}
sgraph.graph @few implements @p(%X: tensor<3x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 4, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<3x64xf16>) grid {x = 1} -> tensor<3x1xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<3x64xf16> -> !sgraph.tile<[3, 64] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[3, 64] x f16> -> !sgraph.tile<[3, 1] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[3, 1] x f16>
  }
  sgraph.yield %0 : tensor<3x1xf16>
}
