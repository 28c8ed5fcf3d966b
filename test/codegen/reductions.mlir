// Reductions along rows: a warp reduces whole rows, its lanes stride along them, five shuffles join the lanes, and lane 0 leaves the result
// in shared memory for all warps.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// 8 rows of 256 f16 and 4 warps: rows w and w + 4 for warp w, 8 elements a lane in one access. 2 * 5 shuffles; results at w and w + 4;
// one barrier, then the first 8 threads store them.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "tile"}>
// CHECK: "nvvm.cp.async.wait.group"
// CHECK-NEXT: "gpu.barrier"
// CHECK: "vector.load"({{.*}}) <{alignment = 16 : i64}> : {{.*}} -> vector<8xf16>
// CHECK-COUNT-7: "arith.addf"
// CHECK: %[[SUM:[^ ,)]+]] = "arith.addf"
// CHECK-NOT: "arith.addf"
// CHECK-DAG: %[[G16:[^ ,)]+]], %{{[^ ,)]+}} = "gpu.shuffle"(%[[SUM]], %c16, %[[C32:[^ ,)]+]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S16:[^ ,)]+]] = "arith.addf"(%[[SUM]], %[[G16]])
// CHECK: %[[G8:[^ ,)]+]], %{{[^ ,)]+}} = "gpu.shuffle"(%[[S16]], %{{[^ ,)]+}}, %[[C32]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S8:[^ ,)]+]] = "arith.addf"(%[[S16]], %[[G8]])
// CHECK: %[[G4:[^ ,)]+]], %{{[^ ,)]+}} = "gpu.shuffle"(%[[S8]], %{{[^ ,)]+}}, %[[C32]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S4:[^ ,)]+]] = "arith.addf"(%[[S8]], %[[G4]])
// CHECK: %[[G2:[^ ,)]+]], %{{[^ ,)]+}} = "gpu.shuffle"(%[[S4]], %c2, %[[C32]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S2:[^ ,)]+]] = "arith.addf"(%[[S4]], %[[G2]])
// CHECK: %[[G1:[^ ,)]+]], %{{[^ ,)]+}} = "gpu.shuffle"(%[[S2]], %c1, %[[C32]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S1:[^ ,)]+]] = "arith.addf"(%[[S2]], %[[G1]])
// CHECK: %[[LANE0:[^ ,)]+]] = "arith.cmpi"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) <{predicate = 0 : i64}>
// CHECK: "scf.if"(%[[LANE0]])
// CHECK: "memref.store"(%[[S1]], %{{[^ ,)]+}}, %{{[^ ,)]+}}) : (f32, memref<32xf32, #gpu.address_space<workgroup>>, index)
// CHECK-COUNT-5: "gpu.shuffle"
// CHECK-NOT: "gpu.shuffle"
// CHECK: "scf.if"(%[[LANE0]])
// CHECK: %[[AT:[^ ,)]+]] = "arith.addi"(%{{[^ ,)]+}}, %c4)
// CHECK: "memref.store"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %[[AT]]) : (f32, memref<32xf32, #gpu.address_space<workgroup>>, index)
// CHECK: "gpu.barrier"
// CHECK-NOT: "gpu.barrier"
// CHECK: "memref.store"(%{{[^ ,)]+}}, %arg1,
// CHECK-NOT: "gpu.shuffle"
//
// PTX-LABEL: .visible .entry tile(
// PTX: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// PTX: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// PTX-NOT: shfl.sync
// PTX: ret;
sgraph.program @p(%X: tensor<8x256xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x256xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
sgraph.graph @tile implements @p(%X: tensor<8x256xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 4, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<8x256xf16>) grid {x = 1} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<8x256xf16> -> !sgraph.tile<[8, 256] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8, 256] x f16> -> !sgraph.tile<[8, 1] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[8, 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}

// -----

// Accumulated over a loop: two rows of a warp are two partial sums in registers of each lane, which start at 0; the lanes are joined once,
// after the loop, as above.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "loop"}>
// CHECK-NOT: "gpu.shuffle"
// CHECK: %[[A:[^ ,)]+]], %[[B:[^ ,)]+]] = "scf.for"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}, %c0.000000e+00, %c0.000000e+00)
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: i32, %[[P:[a-z0-9]+]]: f32, %[[Q:[a-z0-9]+]]: f32):
// CHECK-NOT: "gpu.shuffle"
// CHECK: "arith.addf"(%[[P]],
// CHECK-NOT: "gpu.shuffle"
// CHECK: "arith.addf"(%[[Q]],
// CHECK-NOT: "gpu.shuffle"
// CHECK: "scf.yield"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) : (f32, f32)
// CHECK: "gpu.shuffle"(%[[A]],
// CHECK-COUNT-4: "gpu.shuffle"
// CHECK: "gpu.shuffle"(%[[B]],
// CHECK-COUNT-4: "gpu.shuffle"
// CHECK-NOT: "gpu.shuffle"
sgraph.program @p(%X: tensor<8x512xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x512xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
sgraph.graph @loop implements @p(%X: tensor<8x512xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 2, x = 1}, warps 4, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<8x512xf16>) grid {x = 1} loop {i = 2} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<8x512xf16> -> !sgraph.tile<[8, 512/i] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8, 512/i] x f16> -> !sgraph.tile<[8, 1] x f16>
    %3 = sgraph.accum %2 : !sgraph.tile<[8, 1] x f16> -> !sgraph.tile<[8, 1] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[8, 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}
