// Sizes that do not divide into blocks: what does not exist is neither read nor written.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// 13 rows in two blocks: 7 each, of which the last one's seventh does not exist. 7 rows of 8 chunks are work for 56 of 64 threads; the
// others ask for nothing. A row r of block b exists if r < min(13 - 7b, 7); one that does not is read at the tensor's start, 0 elements
// of it, and the copy fills with zeros: of 16 bytes, 16 or 0 are read.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "rows"}>
// CHECK: %[[TID:[0-9]+]] = "arith.index_castui"
// CHECK: %[[C8:[0-9]+]] = "arith.constant"() <{value = 8 : i32}>
// CHECK: %[[ROW:[0-9]+]] = "arith.divui"(%[[TID]], %[[C8]])
// CHECK: %[[C56:[0-9]+]] = "arith.constant"() <{value = 56 : i32}>
// CHECK: %[[WORK:[0-9]+]] = "arith.cmpi"(%[[TID]], %[[C56]]) <{predicate = 6 : i64}>
// CHECK: %[[C7:[0-9]+]] = "arith.constant"() <{value = 7 : i32}>
// CHECK: "scf.if"(%[[WORK]])
// CHECK: %[[B:[0-9]+]] = "gpu.block_id"() <{dimension = #gpu<dim x>}>
// CHECK: %[[BLOCK:[0-9]+]] = "arith.index_castui"(%[[B]])
// CHECK: %[[FIRST:[0-9]+]] = "arith.muli"(%[[BLOCK]], %[[C7]])
// CHECK: %[[C13:[0-9]+]] = "arith.constant"() <{value = 13 : i32}>
// CHECK: %[[LEFT:[0-9]+]] = "arith.subi"(%[[C13]], %[[FIRST]])
// CHECK: %[[C0:[0-9]+]] = "arith.constant"() <{value = 0 : i32}>
// CHECK: %[[SOME:[0-9]+]] = "arith.maxsi"(%[[LEFT]], %[[C0]])
// CHECK: %[[ROWS:[0-9]+]] = "arith.minui"(%[[SOME]], %[[C7]])
// CHECK: %[[EXISTS:[0-9]+]] = "arith.cmpi"(%[[ROW]], %[[ROWS]]) <{predicate = 6 : i64}>
// CHECK: %[[FROM:[0-9]+]] = "arith.select"(%[[EXISTS]], %{{[0-9]+}}, %[[C0]])
// CHECK: %[[SIZE:[0-9]+]] = "arith.select"(%[[EXISTS]], %{{[0-9]+}}, %[[C0]])
// CHECK: %[[S:[0-9]+]] = "arith.index_castui"(%[[SIZE]])
// CHECK: %[[F:[0-9]+]] = "arith.index_castui"(%[[FROM]])
// CHECK: "nvgpu.device_async_copy"(%{{[0-9]+}}, %{{[0-9]+}}, %arg0, %[[F]], %[[S]]) <{bypassL1, dstElements = 8 : index,
// The store asks the same.
// CHECK: "gpu.barrier"
// CHECK: "scf.if"(%[[WORK]])
// CHECK: %[[ROWS2:[0-9]+]] = "arith.minui"(%{{[0-9]+}}, %[[C7]])
// CHECK: %[[EXISTS2:[0-9]+]] = "arith.cmpi"(%[[ROW]], %[[ROWS2]]) <{predicate = 6 : i64}>
// CHECK: "scf.if"(%[[EXISTS2]])
// CHECK-NOT: "scf.if"
// CHECK: "vector.store"(%{{[0-9]+}}, %arg1,
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
// CHECK: %[[C6:[0-9]+]] = "arith.constant"() <{value = 6 : i32}>
// CHECK: %[[C:[0-9]+]] = "arith.remui"(%{{[0-9]+}}, %[[C6]])
// CHECK: %[[C8:[0-9]+]] = "arith.constant"() <{value = 8 : i32}>
// CHECK: %[[COLUMN:[0-9]+]] = "arith.muli"(%[[C]], %[[C8]])
// CHECK: %[[C36:[0-9]+]] = "arith.constant"() <{value = 36 : i32}>
// CHECK: %[[EXISTS:[0-9]+]] = "arith.cmpi"(%[[COLUMN]], %[[C36]]) <{predicate = 6 : i64}>
// CHECK: %[[C40:[0-9]+]] = "arith.constant"() <{value = 40 : i32}>
// CHECK: "arith.muli"(%{{[0-9]+}}, %[[C40]])
// CHECK: %[[LEFT:[0-9]+]] = "arith.subi"(%[[C36]], %[[COLUMN]])
// CHECK: %[[SOME:[0-9]+]] = "arith.maxsi"(%[[LEFT]], %[[C0:[0-9]+]])
// CHECK: %[[MOST:[0-9]+]] = "arith.minui"(%[[SOME]], %[[C8]])
// CHECK: %[[SIZE:[0-9]+]] = "arith.select"(%[[EXISTS]], %[[MOST]], %[[C0]])
// CHECK: %[[S:[0-9]+]] = "arith.index_castui"(%[[SIZE]])
// CHECK: "nvgpu.device_async_copy"(%{{[0-9]+}}, %{{[0-9]+}}, %arg0, %{{[0-9]+}}, %[[S]]) <{bypassL1, dstElements = 8 : index,
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
