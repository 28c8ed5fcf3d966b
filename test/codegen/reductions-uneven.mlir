// Reductions where rows or warps do not come out even: neutral elements, and warps without a row.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | FileCheck %s

// Rows of 100 in three iterations are tiles of 48, 48 and 4: unequal parts are rounded up to multiples of 16. A lane looks at columns l and
// l + 32; what does not exist, in the tile (48 columns) or in the tensor (min(100 - 48i, 48) of them), counts as -inf for a maximum.
// A column past the tile is not read: the last one is read instead.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "ragged"}>
// CHECK-DAG: %[[C48:[0-9]+]] = "arith.constant"() <{value = 48 : i32}>
// CHECK-DAG: %[[C32:[0-9]+]] = "arith.constant"() <{value = 32 : i32}>
// CHECK-DAG: %[[NONE:[0-9]+]] = "arith.constant"() <{value = 0x{{ff|FF}}800000 : f32}>
// CHECK: "scf.for"(%[[C0:[0-9]+]], %{{[0-9]+}}, %{{[0-9]+}}, %[[NONE]])
// CHECK-NEXT: ^bb0(%[[I:[a-z0-9]+]]: i32, %[[HELD:[a-z0-9]+]]: f32):
// CHECK: "nvvm.cp.async.commit.group"
// CHECK: %[[ONE:[0-9]+]] = "arith.extf"
// CHECK: %[[START:[0-9]+]] = "arith.muli"(%[[I]], %[[C48]])
// CHECK: %[[C100:[0-9]+]] = "arith.constant"() <{value = 100 : i32}>
// CHECK: %[[LEFT:[0-9]+]] = "arith.subi"(%[[C100]], %[[START]])
// CHECK: %[[SOME:[0-9]+]] = "arith.maxsi"(%[[LEFT]], %[[C0]])
// CHECK: %[[COLUMNS:[0-9]+]] = "arith.minui"(%[[SOME]], %[[C48]])
// CHECK: %[[THERE:[0-9]+]] = "arith.cmpi"(%[[LANE:[0-9]+]], %[[COLUMNS]]) <{predicate = 6 : i64}>
// CHECK: %[[V:[0-9]+]] = "arith.select"(%[[THERE]], %[[ONE]], %[[NONE]])
// CHECK: %[[M:[0-9]+]] = "arith.maximumf"(%[[HELD]], %[[V]])
// CHECK: %[[SECOND:[0-9]+]] = "arith.addi"(%[[LANE]], %[[C32]])
// CHECK: %[[C47:[0-9]+]] = "arith.constant"() <{value = 47 : i32}>
// CHECK: %[[READ:[0-9]+]] = "arith.minui"(%[[SECOND]], %[[C47]])
// CHECK: %[[TWO:[0-9]+]] = "arith.extf"
// CHECK: %[[TILE:[0-9]+]] = "arith.cmpi"(%[[SECOND]], %[[C48]]) <{predicate = 6 : i64}>
// CHECK: %[[TENSOR:[0-9]+]] = "arith.cmpi"(%[[READ]], %[[COLUMNS]]) <{predicate = 6 : i64}>
// CHECK: %[[BOTH:[0-9]+]] = "arith.andi"(%[[TILE]], %[[TENSOR]])
// CHECK: %[[W:[0-9]+]] = "arith.select"(%[[BOTH]], %[[TWO]], %[[NONE]])
// CHECK: %[[N:[0-9]+]] = "arith.maximumf"(%[[M]], %[[W]])
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
// CHECK: %[[ZERO:[0-9]+]] = "arith.constant"() <{value = 0.000000e+00 : f32}>
// CHECK: "scf.for"(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %[[ZERO]])
// CHECK: "arith.select"(%{{[0-9]+}}, %{{[0-9]+}}, %[[ZERO]]) : (i1, f32, f32)
// CHECK: "arith.addf"
// CHECK: "arith.select"(%{{[0-9]+}}, %{{[0-9]+}}, %[[ZERO]]) : (i1, f32, f32)
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
// CHECK: %[[C32:[0-9]+]] = "arith.constant"() <{value = 32 : i32}>
// CHECK: %[[WARP:[0-9]+]] = "arith.divui"(%{{[0-9]+}}, %[[C32]])
// CHECK: %[[C3:[0-9]+]] = "arith.constant"() <{value = 3 : i32}>
// CHECK: "nvvm.cp.async.wait.group"
// CHECK-DAG: %[[C2:[0-9]+]] = "arith.constant"() <{value = 2 : i32}>
// CHECK-DAG: %[[ROW:[0-9]+]] = "arith.minui"(%[[WARP]], %[[C2]])
// CHECK-DAG: %[[EXISTS:[0-9]+]] = "arith.cmpi"(%[[WARP]], %[[C3]]) <{predicate = 6 : i64}>
// CHECK-COUNT-5: "gpu.shuffle"
// CHECK-NOT: "gpu.shuffle"
// CHECK: %[[LANE0:[0-9]+]] = "arith.cmpi"(%{{[0-9]+}}, %{{[0-9]+}}) <{predicate = 0 : i64}>
// CHECK: %[[STORES:[0-9]+]] = "arith.andi"(%[[LANE0]], %[[EXISTS]])
// CHECK: "scf.if"(%[[STORES]])
// CHECK: %[[AT:[0-9]+]] = "arith.index_castui"(%[[ROW]])
// CHECK: "memref.store"(%{{[0-9]+}}, %{{[0-9]+}}, %[[AT]])
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
