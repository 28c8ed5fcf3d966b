// What a lane gives ldmatrix.x4 as the address of its row in the 16x16 fragments of X, eight f16 a chunk. Lane l gives row l % 8 of
// matrix l / 8: matrices 0 and 1 are rows 0-7 and 8-15 of the first eight columns, 2 and 3 those of the next eight. So row
// (l / 8) % 2 * 8 + l % 8 and, of that row, chunk l / 16 of each step of two chunks. Chunks are permuted as swizzle.mlir says. One warp.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s

// Rows of 8 chunks: c ^ r % 8. Four steps of k = 16, from chunks 0, 2, 4 and 6: four different XORs.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "eight"}>
// CHECK: %[[L:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[EIGHTH:[^ ,)]+]] = "arith.divui"(%[[L]], %c8)
// CHECK-DAG: %[[MATRIX:[^ ,)]+]] = "arith.remui"(%[[EIGHTH]], %c4)
// CHECK-DAG: %[[UPPER:[^ ,)]+]] = "arith.remui"(%[[MATRIX]], %c2)
// CHECK-DAG: %[[FIRST:[^ ,)]+]] = "arith.muli"(%[[UPPER]], %c8)
// CHECK-DAG: %[[WITHIN:[^ ,)]+]] = "arith.remui"(%[[L]], %c8)
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.addi"(%[[FIRST]], %[[WITHIN]])
// CHECK-DAG: %[[HALF:[^ ,)]+]] = "arith.divui"(%[[MATRIX]], %c2)
// CHECK-DAG: %[[COLUMN:[^ ,)]+]] = "arith.muli"(%[[HALF]], %c8)
// CHECK-DAG: %[[CHUNK:[^ ,)]+]] = "arith.divui"(%[[COLUMN]], %c8)
// CHECK-DAG: %[[KEY:[^ ,)]+]] = "arith.remui"(%[[ROW]], %c8)
// CHECK-DAG: %[[XOR:[^ ,)]+]] = "arith.xori"(%[[CHUNK]], %[[KEY]])
// CHECK-DAG: %[[LINE:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c64)
// CHECK-DAG: %[[PLACE:[^ ,)]+]] = "arith.muli"(%[[XOR]], %c8)
// CHECK-DAG: %[[START:[^ ,)]+]] = "arith.addi"(%[[LINE]], %[[PLACE]])
// CHECK-DAG: %[[REST:[^ ,)]+]] = "arith.remui"(%[[COLUMN]], %c8)
// CHECK-DAG: %[[AT:[^ ,)]+]] = "arith.addi"(%[[START]], %[[REST]])
// CHECK-DAG: %[[A0:[^ ,)]+]] = "arith.index_castui"(%[[AT]])
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[^ ,)]+}}, %[[A0]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK-DAG: %[[NEXT1:[^ ,)]+]] = "arith.addi"(%[[CHUNK]], %c2)
// CHECK-DAG: %[[XOR1:[^ ,)]+]] = "arith.xori"(%[[NEXT1]], %[[KEY]])
// CHECK-DAG: %[[PLACE1:[^ ,)]+]] = "arith.muli"(%[[XOR1]], %c8)
// CHECK-DAG: %[[START1:[^ ,)]+]] = "arith.addi"(%[[LINE]], %[[PLACE1]])
// CHECK-DAG: %[[AT1:[^ ,)]+]] = "arith.addi"(%[[START1]], %[[REST]])
// CHECK-DAG: %[[A1:[^ ,)]+]] = "arith.index_castui"(%[[AT1]])
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[^ ,)]+}}, %[[A1]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK-DAG: %[[NEXT2:[^ ,)]+]] = "arith.addi"(%[[CHUNK]], %c4)
// CHECK-DAG: %[[XOR2:[^ ,)]+]] = "arith.xori"(%[[NEXT2]], %[[KEY]])
// CHECK-DAG: %[[PLACE2:[^ ,)]+]] = "arith.muli"(%[[XOR2]], %c8)
// CHECK-DAG: %[[START2:[^ ,)]+]] = "arith.addi"(%[[LINE]], %[[PLACE2]])
// CHECK-DAG: %[[AT2:[^ ,)]+]] = "arith.addi"(%[[START2]], %[[REST]])
// CHECK-DAG: %[[A2:[^ ,)]+]] = "arith.index_castui"(%[[AT2]])
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[^ ,)]+}}, %[[A2]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK-DAG: %[[NEXT3:[^ ,)]+]] = "arith.addi"(%[[CHUNK]], %c6)
// CHECK-DAG: %[[XOR3:[^ ,)]+]] = "arith.xori"(%[[NEXT3]], %[[KEY]])
// CHECK-DAG: %[[PLACE3:[^ ,)]+]] = "arith.muli"(%[[XOR3]], %c8)
// CHECK-DAG: %[[START3:[^ ,)]+]] = "arith.addi"(%[[LINE]], %[[PLACE3]])
// CHECK-DAG: %[[AT3:[^ ,)]+]] = "arith.addi"(%[[START3]], %[[REST]])
// CHECK-DAG: %[[A3:[^ ,)]+]] = "arith.index_castui"(%[[AT3]])
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[^ ,)]+}}, %[[A3]]) <{numTiles = 4 : i32, transpose = false}>
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
// CHECK: %[[L:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[EIGHTH:[^ ,)]+]] = "arith.divui"(%[[L]], %c8)
// CHECK-DAG: %[[MATRIX:[^ ,)]+]] = "arith.remui"(%[[EIGHTH]], %c4)
// CHECK-DAG: %[[UPPER:[^ ,)]+]] = "arith.remui"(%[[MATRIX]], %c2)
// CHECK-DAG: %[[FIRST:[^ ,)]+]] = "arith.muli"(%[[UPPER]], %c8)
// CHECK-DAG: %[[WITHIN:[^ ,)]+]] = "arith.remui"(%[[L]], %c8)
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.addi"(%[[FIRST]], %[[WITHIN]])
// CHECK-DAG: %[[PAIR:[^ ,)]+]] = "arith.divui"(%[[ROW]], %c2)
// CHECK-DAG: %[[KEY:[^ ,)]+]] = "arith.remui"(%[[PAIR]], %c4)
// CHECK-DAG: "arith.xori"(%[[CHUNK:[^ ,)]+]], %[[KEY]])
// CHECK-DAG: %[[NEXT:[^ ,)]+]] = "arith.addi"(%[[CHUNK]], %c2)
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
// CHECK: %[[L:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[EIGHTH:[^ ,)]+]] = "arith.divui"(%[[L]], %c8)
// CHECK-DAG: %[[MATRIX:[^ ,)]+]] = "arith.remui"(%[[EIGHTH]], %c4)
// CHECK-DAG: %[[UPPER:[^ ,)]+]] = "arith.remui"(%[[MATRIX]], %c2)
// CHECK-DAG: %[[FIRST:[^ ,)]+]] = "arith.muli"(%[[UPPER]], %c8)
// CHECK-DAG: %[[WITHIN:[^ ,)]+]] = "arith.remui"(%[[L]], %c8)
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.addi"(%[[FIRST]], %[[WITHIN]])
// CHECK-DAG: %[[LINE:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c56)
// CHECK-DAG: %[[AT:[^ ,)]+]] = "arith.addi"(%[[LINE]], %{{[^ ,)]+}})
// CHECK-DAG: %[[A0:[^ ,)]+]] = "arith.index_castui"(%[[AT]])
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[^ ,)]+}}, %[[A0]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK-DAG: %[[A1:[^ ,)]+]] = "arith.addi"(%[[A0]], %c16)
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[^ ,)]+}}, %[[A1]]) <{numTiles = 4 : i32, transpose = false}>
// CHECK-DAG: %[[A2:[^ ,)]+]] = "arith.addi"(%[[A0]], %c32)
// CHECK-DAG: "nvgpu.ldmatrix"(%{{[^ ,)]+}}, %[[A2]]) <{numTiles = 4 : i32, transpose = false}>
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
