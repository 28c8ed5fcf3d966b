// Rows that allow no permutation of their chunks of 16 bytes. Of whole chunks, their number is made odd by padding, so that eight rows
// lie in eight different columns of the 128-byte line; rows of other lengths follow each other.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// Rows of 48 f16 = 6 chunks get a seventh: 56 elements from row to row in shared memory, 48 in global memory. 16 rows of 112 bytes are
// 1792 bytes. 96 threads, 6 a row.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "six"}>
// CHECK-NOT: "arith.xori"
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.divui"(%[[TID]], %c6)
// CHECK-DAG: %[[C:[^ ,)]+]] = "arith.remui"(%[[TID]], %c6)
// CHECK-DAG: %[[COLUMN:[^ ,)]+]] = "arith.muli"(%[[C]], %c8)
// CHECK-DAG: %[[GLOBAL:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c48)
// CHECK-DAG: %[[FROM:[^ ,)]+]] = "arith.addi"(%[[GLOBAL]], %[[COLUMN]])
// CHECK-DAG: %[[SHARED:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c56)
// CHECK-DAG: %[[TO:[^ ,)]+]] = "arith.addi"(%[[SHARED]], %[[COLUMN]])
// CHECK-DAG: %[[T:[^ ,)]+]] = "arith.index_castui"(%[[TO]])
// CHECK-DAG: %[[F:[^ ,)]+]] = "arith.index_castui"(%[[FROM]])
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %[[T]], %arg0, %[[F]]) <{bypassL1, dstElements = 8 : index,
// CHECK-NOT: "arith.xori"
// CHECK: \22shared_bytes\22: 1792,
//
// PTX-LABEL: .visible .entry six(
// PTX-NOT: xor.b32
// PTX: cp.async.cg.shared.global {{.*}}, 16;
// PTX-NOT: xor.b32
// PTX: ret;
sgraph.program @p(%X: tensor<16x48xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x48xf16> -> tensor<16x48xf16>
  sgraph.return %0 as "o" : tensor<16x48xf16>
}
sgraph.graph @six implements @p(%X: tensor<16x48xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 3, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x48xf16>) grid {x = 1} -> tensor<16x48xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x48xf16> -> !sgraph.tile<[16, 48] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16, 48] x f16> -> !sgraph.tile<[16, 48] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[16, 48] x f16>
  }
  sgraph.yield %0 : tensor<16x48xf16>
}

// -----

// Rows of 24 f16 = 3 chunks are odd as they are: 64 rows of 48 bytes are 3072 bytes, 24 elements from row to row on both sides.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "three"}>
// CHECK-NOT: "arith.xori"
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.divui"(%[[TID]], %c3)
// CHECK-DAG: %[[LINE:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c24)
// CHECK-DAG: %[[AT:[^ ,)]+]] = "arith.addi"(%[[LINE]], %{{[^ ,)]+}})
// CHECK-DAG: %[[A:[^ ,)]+]] = "arith.index_castui"(%[[AT]])
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %[[A]], %arg0, %[[A]]) <{bypassL1, dstElements = 8 : index,
// CHECK: \22shared_bytes\22: 3072,
sgraph.program @p(%X: tensor<64x24xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<64x24xf16> -> tensor<64x24xf16>
  sgraph.return %0 as "o" : tensor<64x24xf16>
}
sgraph.graph @three implements @p(%X: tensor<64x24xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 6, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<64x24xf16>) grid {x = 1} -> tensor<64x24xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<64x24xf16> -> !sgraph.tile<[64, 24] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[64, 24] x f16> -> !sgraph.tile<[64, 24] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[64, 24] x f16>
  }
  sgraph.yield %0 : tensor<64x24xf16>
}

// -----

// Rows of 20 f16 = 40 bytes are no whole chunks: 8 bytes at a time, 5 a row; 32 rows of 40 bytes are 1280 bytes.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "forty_bytes"}>
// CHECK-NOT: "arith.xori"
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.divui"(%[[TID]], %c5)
// CHECK-DAG: %[[LINE:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c20)
// CHECK-DAG: %[[AT:[^ ,)]+]] = "arith.addi"(%[[LINE]], %{{[^ ,)]+}})
// CHECK-DAG: %[[A:[^ ,)]+]] = "arith.index_castui"(%[[AT]])
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %[[A]], %arg0, %[[A]]) <{dstElements = 4 : index,
// CHECK: \22shared_bytes\22: 1280,
sgraph.program @p(%X: tensor<32x20xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<32x20xf16> -> tensor<32x20xf16>
  sgraph.return %0 as "o" : tensor<32x20xf16>
}
sgraph.graph @forty_bytes implements @p(%X: tensor<32x20xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 5, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<32x20xf16>) grid {x = 1} -> tensor<32x20xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<32x20xf16> -> !sgraph.tile<[32, 20] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[32, 20] x f16> -> !sgraph.tile<[32, 20] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[32, 20] x f16>
  }
  sgraph.yield %0 : tensor<32x20xf16>
}
