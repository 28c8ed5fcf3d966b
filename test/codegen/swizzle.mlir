// Where chunks of 16 bytes, eight f16, are written. Chunk c of row r is stored as chunk c ^ (r >> shift) & mask of its row, so that
// what ldmatrix reads from eight consecutive rows lies in eight different columns of the 128-byte line; rows that allow no such
// permutation are padded to an odd number of chunks. Every kernel here has one thread a chunk: row tid / chunks, chunk tid % chunks.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// Rows of 64 f16 = 8 chunks: a row is a line, c ^ r % 8.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "eight"}>
// CHECK: %[[TID:[0-9]+]] = "arith.index_castui"
// CHECK-DAG: %[[C8:[0-9]+]] = "arith.constant"() <{value = 8 : i32}>
// CHECK-DAG: %[[C64:[0-9]+]] = "arith.constant"() <{value = 64 : i32}>
// CHECK-DAG: %[[ROW:[0-9]+]] = "arith.divui"(%[[TID]], %[[C8]])
// CHECK-DAG: %[[C:[0-9]+]] = "arith.remui"(%[[TID]], %[[C8]])
// CHECK-DAG: %[[COLUMN:[0-9]+]] = "arith.muli"(%[[C]], %[[C8]])
// CHECK-DAG: %[[LINE:[0-9]+]] = "arith.muli"(%[[ROW]], %[[C64]])
// CHECK-DAG: %[[FROM:[0-9]+]] = "arith.addi"(%[[LINE]], %[[COLUMN]])
// CHECK-DAG: %[[KEY:[0-9]+]] = "arith.remui"(%[[ROW]], %[[C8]])
// CHECK-DAG: %[[CHUNK:[0-9]+]] = "arith.divui"(%[[COLUMN]], %[[C8]])
// CHECK-DAG: %[[XOR:[0-9]+]] = "arith.xori"(%[[CHUNK]], %[[KEY]])
// CHECK-DAG: %[[PLACE:[0-9]+]] = "arith.muli"(%[[XOR]], %[[C8]])
// CHECK-DAG: %[[START:[0-9]+]] = "arith.addi"(%[[LINE]], %[[PLACE]])
// CHECK-DAG: %[[REST:[0-9]+]] = "arith.remui"(%[[COLUMN]], %[[C8]])
// CHECK-DAG: %[[TO:[0-9]+]] = "arith.addi"(%[[START]], %[[REST]])
// CHECK-DAG: %[[T:[0-9]+]] = "arith.index_castui"(%[[TO]])
// CHECK-DAG: %[[F:[0-9]+]] = "arith.index_castui"(%[[FROM]])
// CHECK: "nvgpu.device_async_copy"(%{{[0-9]+}}, %[[T]], %arg0, %[[F]]) <{bypassL1, dstElements = 8 : index,
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
// CHECK: %[[TID:[0-9]+]] = "arith.index_castui"
// CHECK-DAG: %[[C4:[0-9]+]] = "arith.constant"() <{value = 4 : i32}>
// CHECK-DAG: %[[C2:[0-9]+]] = "arith.constant"() <{value = 2 : i32}>
// CHECK-DAG: %[[C8:[0-9]+]] = "arith.constant"() <{value = 8 : i32}>
// CHECK-DAG: %[[C32:[0-9]+]] = "arith.constant"() <{value = 32 : i32}>
// CHECK-DAG: %[[ROW:[0-9]+]] = "arith.divui"(%[[TID]], %[[C4]])
// CHECK-DAG: %[[PAIR:[0-9]+]] = "arith.divui"(%[[ROW]], %[[C2]])
// CHECK-DAG: %[[KEY:[0-9]+]] = "arith.remui"(%[[PAIR]], %[[C4]])
// CHECK-DAG: %[[XOR:[0-9]+]] = "arith.xori"(%{{[0-9]+}}, %[[KEY]])
// CHECK-DAG: %[[LINE:[0-9]+]] = "arith.muli"(%[[ROW]], %[[C32]])
// CHECK-DAG: %[[PLACE:[0-9]+]] = "arith.muli"(%[[XOR]], %[[C8]])
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
// CHECK: %[[TID:[0-9]+]] = "arith.index_castui"
// CHECK-DAG: %[[C2:[0-9]+]] = "arith.constant"() <{value = 2 : i32}>
// CHECK-DAG: %[[C4:[0-9]+]] = "arith.constant"() <{value = 4 : i32}>
// CHECK-DAG: %[[ROW:[0-9]+]] = "arith.divui"(%[[TID]], %[[C2]])
// CHECK-DAG: %[[FOUR:[0-9]+]] = "arith.divui"(%[[ROW]], %[[C4]])
// CHECK-DAG: %[[KEY:[0-9]+]] = "arith.remui"(%[[FOUR]], %[[C2]])
// CHECK-DAG: "arith.xori"(%{{[0-9]+}}, %[[KEY]])
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
