// What a lane gives ldmatrix.x4 as the address of its row in the 16x16 fragments of X, eight f16 a chunk. Lane l gives row l % 8 of
// matrix l / 8: matrices 0 and 1 are rows 0-7 and 8-15 of the first eight columns, 2 and 3 those of the next eight. So row
// (l / 8) % 2 * 8 + l % 8 and, of that row, chunk l / 16 of each step of two chunks. Chunks are permuted as swizzle.mlir says. One warp.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | FileCheck %s

// Rows of 8 chunks: c ^ r % 8. Four steps of k = 16, from chunks 0, 2, 4 and 6: four different XORs.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "eight"}>
// CHECK: %[[L:[0-9]+]] = "arith.index_castui"
// CHECK-DAG: %[[C2:[0-9]+]] = "arith.constant"() <{value = 2 : i32}>
// CHECK-DAG: %[[C4:[0-9]+]] = "arith.constant"() <{value = 4 : i32}>
// CHECK-DAG: %[[C6:[0-9]+]] = "arith.constant"() <{value = 6 : i32}>
// CHECK-DAG: %[[C8:[0-9]+]] = "arith.constant"() <{value = 8 : i32}>
// CHECK-DAG: %[[C64:[0-9]+]] = "arith.constant"() <{value = 64 : i32}>
// CHECK-DAG: %[[EIGHTH:[0-9]+]] = "arith.divui"(%[[L]], %[[C8]])
// CHECK-DAG: %[[MATRIX:[0-9]+]] = "arith.remui"(%[[EIGHTH]], %[[C4]])
// CHECK-DAG: %[[UPPER:[0-9]+]] = "arith.remui"(%[[MATRIX]], %[[C2]])
// CHECK-DAG: %[[FIRST:[0-9]+]] = "arith.muli"(%[[UPPER]], %[[C8]])
// CHECK-DAG: %[[WITHIN:[0-9]+]] = "arith.remui"(%[[L]], %[[C8]])
// CHECK-DAG: %[[ROW:[0-9]+]] = "arith.addi"(%[[FIRST]], %[[WITHIN]])
// CHECK-DAG: %[[HALF:[0-9]+]] = "arith.divui"(%[[MATRIX]], %[[C2]])
// CHECK-DAG: %[[COLUMN:[0-9]+]] = "arith.muli"(%[[HALF]], %[[C8]])
// CHECK-DAG: %[[CHUNK:[0-9]+]] = "arith.divui"(%[[COLUMN]], %[[C8]])
// CHECK-DAG: %[[KEY:[0-9]+]] = "arith.remui"(%[[ROW]], %[[C8]])
// CHECK-DAG: %[[XOR:[0-9]+]] = "arith.xori"(%[[CHUNK]], %[[KEY]])
// CHECK-DAG: %[[LINE:[0-9]+]] = "arith.muli"(%[[ROW]], %[[C64]])
// CHECK-DAG: %[[PLACE:[0-9]+]] = "arith.muli"(%[[XOR]], %[[C8]])
// CHECK-DAG: %[[START:[0-9]+]] = "arith.addi"(%[[LINE]], %[[PLACE]])
// CHECK-DAG: %[[REST:[0-9]+]] = "arith.remui"(%[[COLUMN]], %[[C8]])
// CHECK-DAG: %[[AT:[0-9]+]] = "arith.addi"(%[[START]], %[[REST]])
// CHECK-DAG: %[[A0:[0-9]+]] = "arith.index_castui"(%[[AT]])
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[0-9]+}}, %[[A0]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK-DAG: %[[NEXT1:[0-9]+]] = "arith.addi"(%[[CHUNK]], %[[C2]])
// CHECK-DAG: "arith.xori"(%[[NEXT1]], %[[KEY]])
// CHECK-DAG: %[[NEXT2:[0-9]+]] = "arith.addi"(%[[CHUNK]], %[[C4]])
// CHECK-DAG: "arith.xori"(%[[NEXT2]], %[[KEY]])
// CHECK-DAG: %[[NEXT3:[0-9]+]] = "arith.addi"(%[[CHUNK]], %[[C6]])
// CHECK-DAG: "arith.xori"(%[[NEXT3]], %[[KEY]])
// CHECK: sgraph.launch
sgraph.program @p(%X: tensor<16x64xf16>, %W: tensor<64x8xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x64xf16>, tensor<64x8xf16>) -> tensor<16x8xf16>
  sgraph.return %0 as "o" : tensor<16x8xf16>
}
sgraph.graph @eight implements @p(%X: tensor<16x64xf16>, %W: tensor<64x8xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>, %w = %W : tensor<64x8xf16>) grid {x = 1} -> tensor<16x8xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x64xf16> -> !sgraph.tile<[16, 64] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<64x8xf16> -> !sgraph.tile<[64, 8] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 64] x f16>, !sgraph.tile<[64, 8] x f16>) -> !sgraph.tile<[16, 8] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 8] x f16>
  }
  sgraph.yield %0 : tensor<16x8xf16>
}

// -----

// Rows of 4 chunks: c ^ (r / 2) % 4, and two steps.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "four"}>
// CHECK: %[[L:[0-9]+]] = "arith.index_castui"
// CHECK-DAG: %[[C2:[0-9]+]] = "arith.constant"() <{value = 2 : i32}>
// CHECK-DAG: %[[C4:[0-9]+]] = "arith.constant"() <{value = 4 : i32}>
// CHECK-DAG: %[[C8:[0-9]+]] = "arith.constant"() <{value = 8 : i32}>
// CHECK-DAG: %[[EIGHTH:[0-9]+]] = "arith.divui"(%[[L]], %[[C8]])
// CHECK-DAG: %[[MATRIX:[0-9]+]] = "arith.remui"(%[[EIGHTH]], %[[C4]])
// CHECK-DAG: %[[UPPER:[0-9]+]] = "arith.remui"(%[[MATRIX]], %[[C2]])
// CHECK-DAG: %[[FIRST:[0-9]+]] = "arith.muli"(%[[UPPER]], %[[C8]])
// CHECK-DAG: %[[WITHIN:[0-9]+]] = "arith.remui"(%[[L]], %[[C8]])
// CHECK-DAG: %[[ROW:[0-9]+]] = "arith.addi"(%[[FIRST]], %[[WITHIN]])
// CHECK-DAG: %[[PAIR:[0-9]+]] = "arith.divui"(%[[ROW]], %[[C2]])
// CHECK-DAG: %[[KEY:[0-9]+]] = "arith.remui"(%[[PAIR]], %[[C4]])
// CHECK-DAG: "arith.xori"(%[[CHUNK:[0-9]+]], %[[KEY]])
// CHECK-DAG: %[[NEXT:[0-9]+]] = "arith.addi"(%[[CHUNK]], %[[C2]])
// CHECK-DAG: "arith.xori"(%[[NEXT]], %[[KEY]])
// CHECK: sgraph.launch
sgraph.program @p(%X: tensor<16x32xf16>, %W: tensor<32x8xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x32xf16>, tensor<32x8xf16>) -> tensor<16x8xf16>
  sgraph.return %0 as "o" : tensor<16x8xf16>
}
sgraph.graph @four implements @p(%X: tensor<16x32xf16>, %W: tensor<32x8xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x32xf16>, %w = %W : tensor<32x8xf16>) grid {x = 1} -> tensor<16x8xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x32xf16> -> !sgraph.tile<[16, 32] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<32x8xf16> -> !sgraph.tile<[32, 8] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 32] x f16>, !sgraph.tile<[32, 8] x f16>) -> !sgraph.tile<[16, 8] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 8] x f16>
  }
  sgraph.yield %0 : tensor<16x8xf16>
}

// -----

// Rows of 6 chunks are padded to 7: no XOR, and the second and third step lie 16 and 32 elements after the first, for all lanes.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "six"}>
// CHECK-NOT: "arith.xori"
// CHECK: %[[L:[0-9]+]] = "arith.index_castui"
// CHECK-DAG: %[[C2:[0-9]+]] = "arith.constant"() <{value = 2 : i32}>
// CHECK-DAG: %[[C4:[0-9]+]] = "arith.constant"() <{value = 4 : i32}>
// CHECK-DAG: %[[C8:[0-9]+]] = "arith.constant"() <{value = 8 : i32}>
// CHECK-DAG: %[[C56:[0-9]+]] = "arith.constant"() <{value = 56 : i32}>
// CHECK-DAG: %[[I16:[0-9]+]] = "arith.constant"() <{value = 16 : index}>
// CHECK-DAG: %[[I32:[0-9]+]] = "arith.constant"() <{value = 32 : index}>
// CHECK-DAG: %[[EIGHTH:[0-9]+]] = "arith.divui"(%[[L]], %[[C8]])
// CHECK-DAG: %[[MATRIX:[0-9]+]] = "arith.remui"(%[[EIGHTH]], %[[C4]])
// CHECK-DAG: %[[UPPER:[0-9]+]] = "arith.remui"(%[[MATRIX]], %[[C2]])
// CHECK-DAG: %[[FIRST:[0-9]+]] = "arith.muli"(%[[UPPER]], %[[C8]])
// CHECK-DAG: %[[WITHIN:[0-9]+]] = "arith.remui"(%[[L]], %[[C8]])
// CHECK-DAG: %[[ROW:[0-9]+]] = "arith.addi"(%[[FIRST]], %[[WITHIN]])
// CHECK-DAG: %[[LINE:[0-9]+]] = "arith.muli"(%[[ROW]], %[[C56]])
// CHECK-DAG: %[[AT:[0-9]+]] = "arith.addi"(%[[LINE]], %{{[0-9]+}})
// CHECK-DAG: %[[A0:[0-9]+]] = "arith.index_castui"(%[[AT]])
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[0-9]+}}, %[[A0]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK-DAG: %[[A1:[0-9]+]] = "arith.addi"(%[[A0]], %[[I16]])
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[0-9]+}}, %[[A1]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK-DAG: %[[A2:[0-9]+]] = "arith.addi"(%[[A0]], %[[I32]])
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[0-9]+}}, %[[A2]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK: sgraph.launch
sgraph.program @p(%X: tensor<16x48xf16>, %W: tensor<48x8xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x48xf16>, tensor<48x8xf16>) -> tensor<16x8xf16>
  sgraph.return %0 as "o" : tensor<16x8xf16>
}
sgraph.graph @six implements @p(%X: tensor<16x48xf16>, %W: tensor<48x8xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x48xf16>, %w = %W : tensor<48x8xf16>) grid {x = 1} -> tensor<16x8xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x48xf16> -> !sgraph.tile<[16, 48] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<48x8xf16> -> !sgraph.tile<[48, 8] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 48] x f16>, !sgraph.tile<[48, 8] x f16>) -> !sgraph.tile<[16, 8] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 8] x f16>
  }
  sgraph.yield %0 : tensor<16x8xf16>
}
