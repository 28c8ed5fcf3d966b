// Tensors that are views of arguments, and results with strides: what counts for the width of an access is where it lies in memory.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s

// 8 of the 12 columns of an argument: a row is one chunk of 16 bytes, but rows start every 24 bytes, and only 8 divides both. Two copies
// of 4 elements a row, 16 * 2 for 32 threads: row t / 2, at 12 (t / 2) + 4 (t % 2) in global memory.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "stride"}>
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.divui"(%[[TID]], %c2)
// CHECK-DAG: %[[C:[^ ,)]+]] = "arith.remui"(%[[TID]], %c2)
// CHECK-DAG: %[[COLUMN:[^ ,)]+]] = "arith.muli"(%[[C]], %c4)
// CHECK-DAG: %[[LINE:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c12)
// CHECK-DAG: %[[PLACE:[^ ,)]+]] = "arith.addi"(%[[LINE]], %[[COLUMN]])
// CHECK-DAG: %[[AT:[^ ,)]+]] = "arith.index_castui"(%[[PLACE]])
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %arg0, %[[AT]]) <{dstElements = 4 : index,
// CHECK-NOT: "nvgpu.device_async_copy"
sgraph.program @p(%X: tensor<16x8xf16> view arg 0, shape [16, 12], strides [12, 1], offset 0) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x8xf16> -> tensor<16x8xf16>
  sgraph.return %0 as "o" : tensor<16x8xf16>
}
sgraph.graph @stride implements @p(%X: tensor<16x8xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x8xf16>) grid {x = 1} -> tensor<16x8xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x8xf16> -> !sgraph.tile<[16, 8] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16, 8] x f16> -> !sgraph.tile<[16, 8] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[16, 8] x f16>
  }
  sgraph.yield %0 : tensor<16x8xf16>
}

// -----

// Columns 2 to 9 of an argument of 16: rows start at 32 bytes, but the view starts at byte 4. Four copies of 2 elements a row, 64 for 32
// threads, the second one 8 rows further: 8 * 16 + 2 elements from the argument's start, after 2 for the first.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "offset"}>
// CHECK: %[[AT:[^ ,)]+]] = "arith.addi"(%[[BASE:[^ ,)]+]], %c2){{.*}} : (index, index)
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %arg0, %[[AT]]) <{dstElements = 2 : index,
// CHECK: %[[AT2:[^ ,)]+]] = "arith.addi"(%[[BASE]], %c130){{.*}} : (index, index)
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %arg0, %[[AT2]]) <{dstElements = 2 : index,
// CHECK-NOT: "nvgpu.device_async_copy"
sgraph.program @p(%X: tensor<16x8xf16> view arg 0, shape [16, 16], strides [16, 1], offset 2) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x8xf16> -> tensor<16x8xf16>
  sgraph.return %0 as "o" : tensor<16x8xf16>
}
sgraph.graph @offset implements @p(%X: tensor<16x8xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x8xf16>) grid {x = 1} -> tensor<16x8xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x8xf16> -> !sgraph.tile<[16, 8] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16, 8] x f16> -> !sgraph.tile<[16, 8] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[16, 8] x f16>
  }
  sgraph.yield %0 : tensor<16x8xf16>
}

// -----

// A result that is stored transposed, as 8 rows of 16: neighbours of a row of 8 lie 16 elements apart. One by one: a row
// a thread, the 16 of which the first 16 threads take, 8 stores each, 16 elements apart.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "transposed"}>
// CHECK-NOT: "vector.store"
// CHECK: %[[WORK:[^ ,)]+]] = "arith.cmpi"(%{{[^ ,)]+}}, %c16) <{predicate = 6 : i64}>
// CHECK: "scf.if"(%[[WORK]])
// CHECK: "memref.store"(%{{[^ ,)]+}}, %arg1, %[[FIRST:[^ ,)]+]])
// CHECK: %[[SECOND:[^ ,)]+]] = "arith.addi"(%[[FIRST]], %c16){{.*}} : (index, index)
// CHECK: "memref.store"(%{{[^ ,)]+}}, %arg1, %[[SECOND]])
// CHECK-COUNT-6: "memref.store"(%{{[^ ,)]+}}, %arg1,
// CHECK-NOT: "memref.store"
// CHECK: \22role\22: \22output\22, \22index\22: 0, \22name\22: \22o\22, \22dtype\22: \22f16\22, \22shape\22: [8, 16], \22strides\22: [16, 1]
sgraph.program @p(%X: tensor<16x8xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x8xf16> -> tensor<16x8xf16>
  sgraph.return %0 as "o" : tensor<16x8xf16> stored f16, shape [8, 16], strides [1, 16]
}
sgraph.graph @transposed implements @p(%X: tensor<16x8xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x8xf16>) grid {x = 1} -> tensor<16x8xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x8xf16> -> !sgraph.tile<[16, 8] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16, 8] x f16> -> !sgraph.tile<[16, 8] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[16, 8] x f16>
  }
  sgraph.yield %0 : tensor<16x8xf16>
}

// -----

// Columns in three unequal parts: 44 in tiles of 16, 16 and 12. Eight neighbours would be 16 bytes, but rows of 88 bytes do not keep
// them aligned, and of the last tile only some exist; four are 8 bytes, and exist together. 16 rows of 16 are 32 times 8.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "unequal"}>
// CHECK: "gpu.barrier"
// CHECK-NOT: "memref.store"
// CHECK: "scf.if"
// CHECK: "vector.store"(%{{[^ ,)]+}}, %arg1, {{.*}}alignment = 8 : i64{{.*}}(vector<4xf16>
// CHECK: "scf.if"
// CHECK: "vector.store"(%{{[^ ,)]+}}, %arg1, {{.*}}alignment = 8 : i64{{.*}}(vector<4xf16>
// CHECK-NOT: "vector.store"
// CHECK-NOT: "memref.store"
sgraph.program @p(%X: tensor<16x44xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x44xf16> -> tensor<16x44xf16>
  sgraph.return %0 as "o" : tensor<16x44xf16>
}
sgraph.graph @unequal implements @p(%X: tensor<16x44xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 3}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x44xf16>) grid {x = 3} -> tensor<16x44xf16> {
    %1 = sgraph.load %x as X imap {x -> 1} : tensor<16x44xf16> -> !sgraph.tile<[16, 44/x] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16, 44/x] x f16> -> !sgraph.tile<[16, 44/x] x f16>
    sgraph.save %2 omap {x -> 1} : !sgraph.tile<[16, 44/x] x f16>
  }
  sgraph.yield %0 : tensor<16x44xf16>
}
