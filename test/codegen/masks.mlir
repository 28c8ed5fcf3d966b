// Sizes that do not divide into blocks: what does not exist is neither read nor written.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// 13 rows in two blocks: 7 each, of which the last one's seventh does not exist. 7 rows of 8 chunks are work for 56 of 64 threads; the
// others ask for nothing. A row r of block b exists if r < min(13 - 7b, 7); of one that does not 0 elements are read, and
// the copy fills with zeros: of 16 bytes, 16 or 0 are read.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "rows"}>
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK: %[[ROW:[^ ,)]+]] = "arith.divui"(%[[TID]], %c8)
// CHECK: %[[WORK:[^ ,)]+]] = "arith.cmpi"(%[[TID]], %c56) <{predicate = 6 : i64}>
// CHECK: "scf.if"(%[[WORK]])
// CHECK: %[[B:[^ ,)]+]] = "gpu.block_id"() <{dimension = #gpu<dim x>}>
// CHECK: %[[BLOCK:[^ ,)]+]] = "arith.index_castui"(%[[B]])
// CHECK: %[[FIRST:[^ ,)]+]] = "arith.muli"(%[[BLOCK]], %c7)
// CHECK: %[[LEFT:[^ ,)]+]] = "arith.subi"(%c13, %[[FIRST]])
// CHECK: %[[SOME:[^ ,)]+]] = "arith.maxsi"(%[[LEFT]], %c0)
// CHECK: %[[ROWS:[^ ,)]+]] = "arith.minui"(%[[SOME]], %c7)
// CHECK: %[[EXISTS:[^ ,)]+]] = "arith.cmpi"(%[[ROW]], %[[ROWS]]) <{predicate = 6 : i64}>
// CHECK: %[[SIZE:[^ ,)]+]] = "arith.select"(%[[EXISTS]], %{{[^ ,)]+}}, %c0)
// CHECK: %[[S:[^ ,)]+]] = "arith.index_castui"(%[[SIZE]])
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %arg0, %{{[^ ,)]+}}, %[[S]]) <{bypassL1, dstElements = 8 : index,
// The store asks the same.
// CHECK: "gpu.barrier"
// CHECK: "scf.if"(%[[WORK]])
// CHECK: %[[ROWS2:[^ ,)]+]] = "arith.minui"(%{{[^ ,)]+}}, %c7)
// CHECK: %[[EXISTS2:[^ ,)]+]] = "arith.cmpi"(%[[ROW]], %[[ROWS2]]) <{predicate = 6 : i64}>
// CHECK: "scf.if"(%[[EXISTS2]])
// CHECK-NOT: "scf.if"
// CHECK: "vector.store"(%{{[^ ,)]+}}, %arg1,
// CHECK: \22shared_bytes\22: 896,
//
// PTX-LABEL: .visible .entry rows(
// PTX: setp.gt.u32 {{.*}}, 55;
// PTX: selp.b32 [[SIZE:%r[0-9]+]], 16, 0,
// PTX: cp.async.cg.shared.global {{.*}}, 16, [[SIZE]];
sgraph.program @p(%X: tensor<13x64xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<13x64xf16> -> tensor<13x64xf16>
  sgraph.return %0 as "o" : tensor<13x64xf16>
}
sgraph.graph @rows implements @p(%X: tensor<13x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 2}, warps 2, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<13x64xf16>) grid {x = 2} -> tensor<13x64xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<13x64xf16> -> !sgraph.tile<[13/x, 64] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[13/x, 64] x f16> -> !sgraph.tile<[13/x, 64] x f16>
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[13/x, 64] x f16>
  }
  sgraph.yield %0 : tensor<13x64xf16>
}

// -----

// 36 columns of rows of 40, for a product along k, whose tile is padded to 48 columns: chunks of 8 at columns 0, 8, .. 40. Of the one at
// 32 half exists: 36 - 32 = 4 elements are read, the copy fills the other 4 with zeros, and all 8 of the one at 40.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "half_chunk"}>
// CHECK: %[[C:[^ ,)]+]] = "arith.remui"(%{{[^ ,)]+}}, %c6)
// CHECK: %[[COLUMN:[^ ,)]+]] = "arith.muli"(%[[C]], %c8)
// CHECK: %[[EXISTS:[^ ,)]+]] = "arith.cmpi"(%[[COLUMN]], %c36) <{predicate = 6 : i64}>
// CHECK: "arith.muli"(%{{[^ ,)]+}}, %c40)
// CHECK: %[[LEFT:[^ ,)]+]] = "arith.subi"(%c36, %[[COLUMN]])
// CHECK: %[[SOME:[^ ,)]+]] = "arith.maxsi"(%[[LEFT]], %[[C0:[^ ,)]+]])
// CHECK: %[[MOST:[^ ,)]+]] = "arith.minui"(%[[SOME]], %c8)
// CHECK: %[[SIZE:[^ ,)]+]] = "arith.select"(%[[EXISTS]], %[[MOST]], %[[C0]])
// CHECK: %[[S:[^ ,)]+]] = "arith.index_castui"(%[[SIZE]])
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %arg0, %{{[^ ,)]+}}, %[[S]]) <{bypassL1, dstElements = 8 : index,
sgraph.program @p(%X: tensor<16x36xf16> view arg 0, shape [16, 40], strides [40, 1], offset 0, %W: tensor<36x16xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x36xf16>, tensor<36x16xf16>) -> tensor<16x16xf16>
  sgraph.return %0 as "o" : tensor<16x16xf16>
}
sgraph.graph @half_chunk implements @p(%X: tensor<16x36xf16>, %W: tensor<36x16xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 3, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x36xf16>, %w = %W : tensor<36x16xf16>) grid {x = 1} -> tensor<16x16xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x36xf16> -> !sgraph.tile<[16, 36] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<36x16xf16> -> !sgraph.tile<[36, 16] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 36] x f16>, !sgraph.tile<[36, 16] x f16>) -> !sgraph.tile<[16, 16] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 16] x f16>
  }
  sgraph.yield %0 : tensor<16x16xf16>
}
