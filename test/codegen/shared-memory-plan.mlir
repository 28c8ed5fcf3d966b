// Where buffers lie in shared memory. All of it is dynamic: a launch asks for the bytes of the fullest phase.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// Three stages: a tile of X is 16x32 f16 = 1024 bytes, one of W is 32x32 f16 = 2048 bytes. Copies of X lie at 0, 1024, 2048; those
// of W follow at 3 * 1024 = 3072, then 5120 and 7168; the end is 3072 + 3 * 2048 = 9216. Iterations 0 and 1 are requested before the
// loop. The result, 16x32 f32 = 2048 bytes, is stored through shared memory after the loop, where X was: it costs nothing.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "stages"}>
// CHECK: "memref.global"() <{alignment = 128 : i64, sym_name = "dynamic_shared", type = memref<0xi8, #gpu.address_space<workgroup>>}>
// CHECK-DAG: %[[X0:.+]] = "memref.view"(%[[S:.+]], %c0) : {{.*}} -> memref<512xf16,
// CHECK-DAG: "nvgpu.device_async_copy"(%[[X0]],
// CHECK-DAG: %[[W0:.+]] = "memref.view"(%[[S]], %c3072) : {{.*}} -> memref<1024xf16,
// CHECK-DAG: "nvgpu.device_async_copy"(%[[W0]],
// CHECK-DAG: %[[X1:.+]] = "memref.view"(%[[S]], %c1024) : {{.*}} -> memref<512xf16,
// CHECK-DAG: "nvgpu.device_async_copy"(%[[X1]],
// CHECK-DAG: %[[W1:.+]] = "memref.view"(%[[S]], %c5120) : {{.*}} -> memref<1024xf16,
// CHECK-DAG: "nvgpu.device_async_copy"(%[[W1]],
// CHECK: "scf.for"
// CHECK: "scf.yield"(%{{.*}}) : (f32
// CHECK: %[[R:.+]] = "memref.view"(%[[S]], %c0) : {{.*}} -> memref<512xf32,
// CHECK: "vector.store"(%{{.+}}, %[[R]],
// CHECK: \22shared_bytes\22: 9216,
//
// One thread's chunk lies at the same place in each copy: 4 chunks a row, 64 threads, 16 rows of X or half of W at a time.
// PTX-LABEL: .visible .entry stages(
// PTX: cp.async.cg.shared.global {{\[}}[[A:%rd[0-9]+]]], [{{.*}}], 16;
// PTX: cp.async.cg.shared.global {{\[}}[[A]]+3072], [{{.*}}], 16;
// PTX: cp.async.cg.shared.global {{\[}}[[A]]+4096], [{{.*}}], 16;
// PTX: cp.async.commit_group;
// PTX: cp.async.cg.shared.global {{\[}}[[A]]+1024], [{{.*}}], 16;
// PTX: cp.async.cg.shared.global {{\[}}[[A]]+5120], [{{.*}}], 16;
// PTX: cp.async.cg.shared.global {{\[}}[[A]]+6144], [{{.*}}], 16;
// PTX: cp.async.commit_group;
sgraph.program @p(%X: tensor<16x128xf16>, %W: tensor<128x64xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x128xf16>, tensor<128x64xf16>) -> tensor<16x64xf16>
  sgraph.return %0 as "o" : tensor<16x64xf16>
}
sgraph.graph @stages implements @p(%X: tensor<16x128xf16>, %W: tensor<128x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 2}, warps 2, stages 3>} {
  %0 = sgraph.custom(%x = %X : tensor<16x128xf16>, %w = %W : tensor<128x64xf16>) grid {x = 2} loop {i = 4} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x128xf16> -> !sgraph.tile<[16, 128/i] x f16>
    %2 = sgraph.load %w as W imap {x -> 1} fmap {i -> 0} : tensor<128x64xf16> -> !sgraph.tile<[128/i, 64/x] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 128/i] x f16>, !sgraph.tile<[128/i, 64/x] x f16>) -> !sgraph.tile<[16, 64/x] x f16>
    %4 = sgraph.accum %3 : !sgraph.tile<[16, 64/x] x f16> -> !sgraph.tile<[16, 64/x] x f16>
    sgraph.save %4 omap {x -> 1} : !sgraph.tile<[16, 64/x] x f16>
  }
  sgraph.yield %0 : tensor<16x64xf16>
}

// -----

// Phases. Alive throughout, so first, at 0: the sums of X, 16 f32, rounded up to a line of 128 bytes. Alive before and in the loop:
// two copies of Y's tile, 16x64 f16 = 2048 bytes, at 128 and 2176. Alive before the loop only, above them at 128 + 2 * 2048 = 4224: X,
// 16x64 f16 = 2048 bytes. Alive after the loop only, where Y was, at 128: the sums of Y. Fullest before the loop: 4224 + 2048 = 6272.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "phases"}>
// CHECK-DAG: %[[X:.+]] = "memref.view"(%[[S:.+]], %c4224) : {{.*}} -> memref<1024xf16,
// CHECK-DAG: "nvgpu.device_async_copy"(%[[X]], %{{.+}}, %arg0,
// CHECK-DAG: %[[Y:.+]] = "memref.view"(%[[S]], %c128) : {{.*}} -> memref<1024xf16,
// CHECK-DAG: "nvgpu.device_async_copy"(%[[Y]], %{{.+}}, %arg1,
// CHECK-DAG: %[[SX:.+]] = "memref.view"(%[[S]], %c0) : {{.*}} -> memref<32xf32,
// CHECK-DAG: "memref.store"(%{{.+}}, %[[SX]],
// CHECK: "scf.for"
// CHECK: "scf.yield"(%{{.*}}) : (f32
// CHECK-NEXT: })
// CHECK-NEXT: "gpu.barrier"
// CHECK: %[[SY:.+]] = "memref.view"(%[[S]], %c128) : {{.*}} -> memref<32xf32,
// CHECK: "memref.store"(%{{.+}}, %[[SY]],
// CHECK: \22shared_bytes\22: 6272,
sgraph.program @p(%X: tensor<16x64xf16>, %Y: tensor<16x256xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<16x64xf16> -> tensor<16x1xf16>
  %1 = sgraph.sum %Y dim 1 : tensor<16x256xf16> -> tensor<16x1xf16>
  %2 = sgraph.mul %0, %1 : (tensor<16x1xf16>, tensor<16x1xf16>) -> tensor<16x1xf16>
  sgraph.return %2 as "o" : tensor<16x1xf16>
}
sgraph.graph @phases implements @p(%X: tensor<16x64xf16>, %Y: tensor<16x256xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 1}, warps 4, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>, %y = %Y : tensor<16x256xf16>) grid {x = 1} loop {i = 4} -> tensor<16x1xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x64xf16> -> !sgraph.tile<[16, 64] x f16>
    %2 = sgraph.load %y as Y imap {} fmap {i -> 1} : tensor<16x256xf16> -> !sgraph.tile<[16, 256/i] x f16>
    %3 = sgraph.sum %1 dim 1 : !sgraph.tile<[16, 64] x f16> -> !sgraph.tile<[16, 1] x f16>
    %4 = sgraph.sum %2 dim 1 : !sgraph.tile<[16, 256/i] x f16> -> !sgraph.tile<[16, 1] x f16>
    %5 = sgraph.accum %4 : !sgraph.tile<[16, 1] x f16> -> !sgraph.tile<[16, 1] x f16>
    %6 = sgraph.mul %3, %5 : (!sgraph.tile<[16, 1] x f16>, !sgraph.tile<[16, 1] x f16>) -> !sgraph.tile<[16, 1] x f16>
    sgraph.save %6 omap {} : !sgraph.tile<[16, 1] x f16>
  }
  sgraph.yield %0 : tensor<16x1xf16>
}

// -----

// A computed operand is alive in the loop only. Two copies each of X, 16x64 f16 = 2048 bytes, from 0 and of W, 64x32 f16 = 4096 bytes,
// from 4096; then exp(X) rounded to f16, 2048 bytes, at 2 * (2048 + 4096) = 12288. The end is 14336.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "computed"}>
// CHECK: "scf.for"
// CHECK: %[[E:.+]] = "memref.view"(%{{.+}}, %c12288) : {{.*}} -> memref<1024xf16,
// CHECK: "vector.store"(%{{.+}}, %[[E]],
// CHECK: "gpu.barrier"
// CHECK: "nvgpu.ldmatrix"(%[[E]],
// CHECK: \22shared_bytes\22: 14336,
sgraph.program @p(%X: tensor<16x128xf16>, %W: tensor<128x32xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<16x128xf16> -> tensor<16x128xf16>
  %1 = sgraph.matmul %0, %W : (tensor<16x128xf16>, tensor<128x32xf16>) -> tensor<16x32xf16>
  sgraph.return %1 as "o" : tensor<16x32xf16>
}
sgraph.graph @computed implements @p(%X: tensor<16x128xf16>, %W: tensor<128x32xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 2, x = 1}, warps 2, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<16x128xf16>, %w = %W : tensor<128x32xf16>) grid {x = 1} loop {i = 2} -> tensor<16x32xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x128xf16> -> !sgraph.tile<[16, 128/i] x f16>
    %2 = sgraph.load %w as W imap {} fmap {i -> 0} : tensor<128x32xf16> -> !sgraph.tile<[128/i, 32] x f16>
    %3 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16, 128/i] x f16> -> !sgraph.tile<[16, 128/i] x f16>
    %4 = sgraph.matmul %3, %2 : (!sgraph.tile<[16, 128/i] x f16>, !sgraph.tile<[128/i, 32] x f16>) -> !sgraph.tile<[16, 32] x f16>
    %5 = sgraph.accum %4 : !sgraph.tile<[16, 32] x f16> -> !sgraph.tile<[16, 32] x f16>
    sgraph.save %5 omap {} : !sgraph.tile<[16, 32] x f16>
  }
  sgraph.yield %0 : tensor<16x32xf16>
}
