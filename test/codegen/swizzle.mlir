// Where chunks of 16 bytes, eight f16, are written. Chunk c of row r is stored as chunk c ^ (r >> shift) & mask of its row, so that
// what ldmatrix reads from eight consecutive rows lies in eight different columns of the 128-byte line; rows that allow no such
// permutation are padded to an odd number of chunks. Every kernel here has one thread a chunk: row tid / chunks, chunk tid % chunks.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// Rows of 64 f16 = 8 chunks: a row is a line, c ^ r % 8.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "eight"}>
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.divui"(%[[TID]], %c8)
// CHECK-DAG: %[[C:[^ ,)]+]] = "arith.remui"(%[[TID]], %c8)
// CHECK-DAG: %[[COLUMN:[^ ,)]+]] = "arith.muli"(%[[C]], %c8)
// CHECK-DAG: %[[LINE:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c64)
// CHECK-DAG: %[[FROM:[^ ,)]+]] = "arith.addi"(%[[LINE]], %[[COLUMN]])
// CHECK-DAG: %[[KEY:[^ ,)]+]] = "arith.remui"(%[[ROW]], %c8)
// CHECK-DAG: %[[CHUNK:[^ ,)]+]] = "arith.divui"(%[[COLUMN]], %c8)
// CHECK-DAG: %[[XOR:[^ ,)]+]] = "arith.xori"(%[[CHUNK]], %[[KEY]])
// CHECK-DAG: %[[PLACE:[^ ,)]+]] = "arith.muli"(%[[XOR]], %c8)
// CHECK-DAG: %[[START:[^ ,)]+]] = "arith.addi"(%[[LINE]], %[[PLACE]])
// CHECK-DAG: %[[REST:[^ ,)]+]] = "arith.remui"(%[[COLUMN]], %c8)
// CHECK-DAG: %[[TO:[^ ,)]+]] = "arith.addi"(%[[START]], %[[REST]])
// CHECK-DAG: %[[T:[^ ,)]+]] = "arith.index_castui"(%[[TO]])
// CHECK-DAG: %[[F:[^ ,)]+]] = "arith.index_castui"(%[[FROM]])
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %[[T]], %arg0, %[[F]]) <{bypassL1, dstElements = 8 : index,
// CHECK: \22shared_bytes\22: 2048,
//
// PTX-LABEL: .visible .entry eight(
// PTX: xor.b32
// PTX: cp.async.cg.shared.global {{.*}}, 16;
sgraph.program @p(%X: tensor<16x64xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x64xf16> -> tensor<16x64xf16>
  sgraph.return %0 as "o" : tensor<16x64xf16>
}
sgraph.graph @eight implements @p(%X: tensor<16x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 4, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>) grid {x = 1} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x64xf16> -> !sgraph.tile<[16, 64] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16, 64] x f16> -> !sgraph.tile<[16, 64] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[16, 64] x f16>
  }
  sgraph.yield %0 : tensor<16x64xf16>
}

// -----

// Rows of 32 f16 = 4 chunks, two rows a line: c ^ (r / 2) % 4.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "four"}>
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.divui"(%[[TID]], %c4)
// CHECK-DAG: %[[PAIR:[^ ,)]+]] = "arith.divui"(%[[ROW]], %c2)
// CHECK-DAG: %[[KEY:[^ ,)]+]] = "arith.remui"(%[[PAIR]], %c4)
// CHECK-DAG: %[[XOR:[^ ,)]+]] = "arith.xori"(%{{[^ ,)]+}}, %[[KEY]])
// CHECK-DAG: %[[LINE:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c32)
// CHECK-DAG: %[[PLACE:[^ ,)]+]] = "arith.muli"(%[[XOR]], %c8)
// CHECK-DAG: "arith.addi"(%[[LINE]], %[[PLACE]])
// CHECK: "nvgpu.device_async_copy"
// CHECK: \22shared_bytes\22: 2048,
sgraph.program @p(%X: tensor<32x32xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<32x32xf16> -> tensor<32x32xf16>
  sgraph.return %0 as "o" : tensor<32x32xf16>
}
sgraph.graph @four implements @p(%X: tensor<32x32xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 4, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<32x32xf16>) grid {x = 1} -> tensor<32x32xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<32x32xf16> -> !sgraph.tile<[32, 32] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[32, 32] x f16> -> !sgraph.tile<[32, 32] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[32, 32] x f16>
  }
  sgraph.yield %0 : tensor<32x32xf16>
}

// -----

// Rows of 16 f16 = 2 chunks, four rows a line: c ^ (r / 4) % 2.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "two"}>
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.divui"(%[[TID]], %c2)
// CHECK-DAG: %[[FOUR:[^ ,)]+]] = "arith.divui"(%[[ROW]], %c4)
// CHECK-DAG: %[[KEY:[^ ,)]+]] = "arith.remui"(%[[FOUR]], %c2)
// CHECK-DAG: "arith.xori"(%{{[^ ,)]+}}, %[[KEY]])
// CHECK: "nvgpu.device_async_copy"
// CHECK: \22shared_bytes\22: 2048,
sgraph.program @p(%X: tensor<64x16xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<64x16xf16> -> tensor<64x16xf16>
  sgraph.return %0 as "o" : tensor<64x16xf16>
}
sgraph.graph @two implements @p(%X: tensor<64x16xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 4, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<64x16xf16>) grid {x = 1} -> tensor<64x16xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<64x16xf16> -> !sgraph.tile<[64, 16] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[64, 16] x f16> -> !sgraph.tile<[64, 16] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[64, 16] x f16>
  }
  sgraph.yield %0 : tensor<64x16xf16>
}
