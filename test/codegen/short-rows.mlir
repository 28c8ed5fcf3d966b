// Rows too short for copies of 16 bytes: the widest of 16, 8 and 4 bytes that divides a row is copied, so that every copy is aligned; rows
// of an odd number of 16-bit elements go through registers. cp.async of fewer than 16 bytes cannot pass by L1: no bypassL1, `.ca`.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// 12 f16 = 24 bytes: three copies of 8 bytes, 4 elements, a row; 32 rows are 96 copies, 3 for each of 32 threads.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "eight_bytes"}>
// CHECK-NOT: bypassL1
// CHECK-COUNT-3: "nvgpu.device_async_copy"(%{{.+}}) <{dstElements = 4 : index,
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: "nvvm.cp.async.commit.group"
//
// PTX-LABEL: .visible .entry eight_bytes(
// PTX-NOT: cp.async.cg
// PTX-COUNT-3: cp.async.ca.shared.global {{.*}}, 8;
// PTX-NOT: cp.async.c{{[ag]}}
// PTX: cp.async.commit_group;
sgraph.program @p(%X: tensor<32x12xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<32x12xf16> -> tensor<32x12xf16>
  sgraph.return %0 as "o" : tensor<32x12xf16>
}
sgraph.graph @eight_bytes implements @p(%X: tensor<32x12xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<32x12xf16>) grid {x = 1} -> tensor<32x12xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<32x12xf16> -> !sgraph.tile<[32, 12] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[32, 12] x f16> -> !sgraph.tile<[32, 12] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[32, 12] x f16>
  }
  sgraph.yield %0 : tensor<32x12xf16>
}

// -----

// 10 f16 = 20 bytes: five copies of 4 bytes, 2 elements, a row; 32 rows are 160 copies, 5 for each of 32 threads.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "four_bytes"}>
// CHECK-NOT: bypassL1
// CHECK-COUNT-5: "nvgpu.device_async_copy"(%{{.+}}) <{dstElements = 2 : index,
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: "nvvm.cp.async.commit.group"
//
// PTX-LABEL: .visible .entry four_bytes(
// PTX-NOT: cp.async.cg
// PTX-COUNT-5: cp.async.ca.shared.global {{.*}}, 4;
// PTX-NOT: cp.async.c{{[ag]}}
// PTX: cp.async.commit_group;
sgraph.program @p(%X: tensor<32x10xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<32x10xf16> -> tensor<32x10xf16>
  sgraph.return %0 as "o" : tensor<32x10xf16>
}
sgraph.graph @four_bytes implements @p(%X: tensor<32x10xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<32x10xf16>) grid {x = 1} -> tensor<32x10xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<32x10xf16> -> !sgraph.tile<[32, 10] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[32, 10] x f16> -> !sgraph.tile<[32, 10] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[32, 10] x f16>
  }
  sgraph.yield %0 : tensor<32x10xf16>
}

// -----

// 6 f32 = 24 bytes: three copies of 8 bytes, 2 elements, a row.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "single"}>
// CHECK-NOT: bypassL1
// CHECK-COUNT-3: "nvgpu.device_async_copy"(%{{.+}}) <{dstElements = 2 : index,
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: "nvvm.cp.async.commit.group"
//
// PTX-LABEL: .visible .entry single(
// PTX-NOT: cp.async.cg
// PTX-COUNT-3: cp.async.ca.shared.global {{.*}}, 8;
// PTX-NOT: cp.async.c{{[ag]}}
// PTX: cp.async.commit_group;
sgraph.program @p(%X: tensor<32x6xf32>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<32x6xf32> -> tensor<32x6xf32>
  sgraph.return %0 as "o" : tensor<32x6xf32>
}
sgraph.graph @single implements @p(%X: tensor<32x6xf32>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<32x6xf32>) grid {x = 1} -> tensor<32x6xf32> {
    %1 = sgraph.load %x as X imap {} : tensor<32x6xf32> -> !sgraph.tile<[32, 6] x f32>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[32, 6] x f32> -> !sgraph.tile<[32, 6] x f32>
    sgraph.save %2 omap {} : !sgraph.tile<[32, 6] x f32>
  }
  sgraph.yield %0 : tensor<32x6xf32>
}

// -----

// 9 f16 = 18 bytes: element by element, 4 * 9 = 36 of them for 32 threads: one each, and a second one for four threads.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "odd"}>
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK-DAG: %[[VALUE:[^ ,)]+]] = "memref.load"(%arg0, %{{[^ ,)]+}}) : (memref<36xf16>, index) -> f16
// CHECK: "memref.store"(%[[VALUE]], %{{[^ ,)]+}}, %{{[^ ,)]+}}) : (f16, memref<64xf16, #gpu.address_space<workgroup>>, index)
// CHECK: %[[WORK:[^ ,)]+]] = "arith.cmpi"(%{{[^ ,)]+}}, %c36) <{predicate = 6 : i64}>
// CHECK: "scf.if"(%[[WORK]])
// CHECK: "memref.load"(%arg0,
// CHECK: "memref.store"
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: sgraph.launch
//
// PTX-LABEL: .visible .entry odd(
// PTX-NOT: cp.async.c{{[ag]}}
// PTX: ld.global.b16
// PTX: st.shared.b16
// PTX: cp.async.wait_group 0;
// PTX: ret;
sgraph.program @p(%X: tensor<4x9xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<4x9xf16> -> tensor<4x9xf16>
  sgraph.return %0 as "o" : tensor<4x9xf16>
}
sgraph.graph @odd implements @p(%X: tensor<4x9xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<4x9xf16>) grid {x = 1} -> tensor<4x9xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<4x9xf16> -> !sgraph.tile<[4, 9] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[4, 9] x f16> -> !sgraph.tile<[4, 9] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[4, 9] x f16>
  }
  sgraph.yield %0 : tensor<4x9xf16>
}
