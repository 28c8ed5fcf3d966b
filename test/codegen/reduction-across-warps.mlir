// Every warp needs the results of all warps: they meet in shared memory, with one barrier between the last result and the first read.
//
// RUN: prism-opt %s --sgraph-to-gpu | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// X / rowsum(X) of 8x64 by 4 warps. Warp w sums rows w and w + 4; then 64 chunks of 8 elements go to the first 64 threads, so that warp 0
// stores rows 0 to 3. X is read to the end too: its 1024 bytes and the sums, 8 f32 in a line of 128 bytes, lie one after
// the other.
//
// CHECK: %[[TID:[^ ,)]+]] = "arith.index_castui"
// CHECK: %[[WORK:[^ ,)]+]] = "arith.cmpi"(%[[TID]], %c64) <{predicate = 6 : i64}>
// CHECK: "nvvm.cp.async.wait.group"
// CHECK-NEXT: "gpu.barrier"
// CHECK-NOT: "gpu.barrier"
// CHECK-COUNT-10: "gpu.shuffle"
// CHECK-NOT: "gpu.shuffle"
// CHECK-NOT: "gpu.barrier"
// CHECK: "memref.store"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}) : (f32, memref<32xf32, #gpu.address_space<workgroup>>, index)
// CHECK: "gpu.barrier"
// CHECK-NOT: "gpu.barrier"
// CHECK: "scf.if"(%[[WORK]])
// CHECK: %[[S:[^ ,)]+]] = "memref.view"(%{{[^ ,)]+}}, %c1024) : {{.*}} -> memref<32xf32,
// CHECK: %[[SUM:[^ ,)]+]] = "memref.load"(%[[S]],
// CHECK: "llvm.call_intrinsic"(%{{[^ ,)]+}}, %[[SUM]]) <{{.*}}intrin = "llvm.nvvm.div.full"
// CHECK: "vector.store"(%{{[^ ,)]+}}, %arg1, %{{[^ ,)]+}}) <{alignment = 16 : i64}> : (vector<8xf16>
// CHECK-NOT: "gpu.barrier"
// CHECK: \22shared_bytes\22: 1152,
//
// PTX: bar.sync 0;
// PTX-COUNT-10: shfl.sync.bfly.b32
// PTX: bar.sync 0;
// PTX-COUNT-8: div.full.f32
// PTX-NOT: bar.sync
// PTX: ret;
sgraph.program @p(%X: tensor<8x64xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x64xf16> -> tensor<8x1xf16>
  %1 = sgraph.div %X, %0 : (tensor<8x64xf16>, tensor<8x1xf16>) -> tensor<8x64xf16>
  sgraph.return %1 as "o" : tensor<8x64xf16>
}
sgraph.graph @normalize implements @p(%X: tensor<8x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 4, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<8x64xf16>) grid {x = 1} -> tensor<8x64xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<8x64xf16> -> !sgraph.tile<[8, 64] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8, 64] x f16> -> !sgraph.tile<[8, 1] x f16>
    %3 = sgraph.div %1, %2 : (!sgraph.tile<[8, 64] x f16>, !sgraph.tile<[8, 1] x f16>) -> !sgraph.tile<[8, 64] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[8, 64] x f16>
  }
  sgraph.yield %0 : tensor<8x64xf16>
}
