// Reductions along rows: a warp reduces whole rows, its lanes stride along them, five shuffles join the lanes, and lane 0 leaves the result
// in shared memory for all warps.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// 8 rows of 256 f16 and 4 warps: rows w and w + 4 for warp w, 8 elements a lane in one access. 2 * 5 shuffles; results at w and w + 4;
// one barrier, then the first 8 threads store them.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "tile"}>
// CHECK: "nvvm.cp.async.wait.group"
// CHECK-NEXT: "gpu.barrier"
// CHECK: "vector.load"({{.*}}) <{alignment = 16 : i64}> : {{.*}} -> vector<8xf16>
// CHECK-COUNT-7: "arith.addf"
// CHECK: %[[SUM:[0-9]+]] = "arith.addf"
// CHECK-NOT: "arith.addf"
// CHECK-DAG: %[[C16:[0-9]+]] = "arith.constant"() <{value = 16 : i32}>
// CHECK-DAG: %[[G16:[0-9]+]], %{{[0-9]+}} = "gpu.shuffle"(%[[SUM]], %[[C16]], %[[C32:[0-9]+]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S16:[0-9]+]] = "arith.addf"(%[[SUM]], %[[G16]])
// CHECK: %[[G8:[0-9]+]], %{{[0-9]+}} = "gpu.shuffle"(%[[S16]], %{{[0-9]+}}, %[[C32]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S8:[0-9]+]] = "arith.addf"(%[[S16]], %[[G8]])
// CHECK: %[[G4:[0-9]+]], %{{[0-9]+}} = "gpu.shuffle"(%[[S8]], %{{[0-9]+}}, %[[C32]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S4:[0-9]+]] = "arith.addf"(%[[S8]], %[[G4]])
// CHECK: %[[C2:[0-9]+]] = "arith.constant"() <{value = 2 : i32}>
// CHECK: %[[G2:[0-9]+]], %{{[0-9]+}} = "gpu.shuffle"(%[[S4]], %[[C2]], %[[C32]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S2:[0-9]+]] = "arith.addf"(%[[S4]], %[[G2]])
// CHECK: %[[C1:[0-9]+]] = "arith.constant"() <{value = 1 : i32}>
// CHECK: %[[G1:[0-9]+]], %{{[0-9]+}} = "gpu.shuffle"(%[[S2]], %[[C1]], %[[C32]]) <{mode = #gpu<shuffle_mode xor>}>
// CHECK: %[[S1:[0-9]+]] = "arith.addf"(%[[S2]], %[[G1]])
// CHECK: %[[LANE0:[0-9]+]] = "arith.cmpi"(%{{[0-9]+}}, %{{[0-9]+}}) <{predicate = 0 : i64}>
// CHECK: "scf.if"(%[[LANE0]])
// CHECK: "memref.store"(%[[S1]], %{{[0-9]+}}, %{{[0-9]+}}) : (f32, memref<32xf32, #gpu.address_space<workgroup>>, index)
// CHECK-COUNT-5: "gpu.shuffle"
// CHECK-NOT: "gpu.shuffle"
// CHECK: "scf.if"(%[[LANE0]])
// CHECK: %[[FOUR:[0-9]+]] = "arith.constant"() <{value = 4 : index}>
// CHECK: %[[AT:[0-9]+]] = "arith.addi"(%{{[0-9]+}}, %[[FOUR]])
// CHECK: "memref.store"(%{{[0-9]+}}, %{{[0-9]+}}, %[[AT]]) : (f32, memref<32xf32, #gpu.address_space<workgroup>>, index)
// CHECK: "gpu.barrier"
// CHECK-NOT: "gpu.barrier"
// CHECK: "memref.store"(%{{[0-9]+}}, %arg1,
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
// CHECK: %[[ZERO:[0-9]+]] = "arith.constant"() <{value = 0.000000e+00 : f32}>
// CHECK-NOT: "gpu.shuffle"
// CHECK: %[[A:[0-9]+]], %[[B:[0-9]+]] = "scf.for"(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %[[ZERO]], %[[ZERO]])
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: i32, %[[P:[a-z0-9]+]]: f32, %[[Q:[a-z0-9]+]]: f32):
// CHECK-NOT: "gpu.shuffle"
// CHECK: "arith.addf"(%[[P]],
// CHECK-NOT: "gpu.shuffle"
// CHECK: "arith.addf"(%[[Q]],
// CHECK-NOT: "gpu.shuffle"
// CHECK: "scf.yield"(%{{[0-9]+}}, %{{[0-9]+}}) : (f32, f32)
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
