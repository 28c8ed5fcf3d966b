// Results on their way to global memory. A thread of a product holds two neighbours of a row (one in the transposed form); through shared
// memory it gets enough of a row for 16 bytes, where rows are long enough and the block needs no more shared memory for it.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// 16x64 by four warps: 8 tiles of 16x8, two a warp, four pairs a thread. They go to shared memory as f32, after a barrier, because X and W
// lay there; after a second one each of the 128 threads reads 8 of 1024 results and stores them at once.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "wide"}>
// CHECK-COUNT-8: "nvvm.mma.sync"
// CHECK-NOT: "nvvm.mma.sync"
// CHECK-NOT: "vector.store"
// CHECK: "gpu.barrier"
// CHECK: %[[S:[^ ,)]+]] = "memref.view"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) : {{.*}} -> memref<1024xf32, #gpu.address_space<workgroup>>
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[S]], %{{[^ ,)]+}}) <{alignment = 8 : i64}> : (vector<2xf32>
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[S]], %{{[^ ,)]+}}) <{alignment = 8 : i64}> : (vector<2xf32>
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[S]], %{{[^ ,)]+}}) <{alignment = 8 : i64}> : (vector<2xf32>
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[S]], %{{[^ ,)]+}}) <{alignment = 8 : i64}> : (vector<2xf32>
// CHECK-NOT: "vector.store"
// CHECK: "gpu.barrier"
// CHECK: "vector.load"(%[[S]], %{{[^ ,)]+}}) <{alignment = 16 : i64}> : {{.*}} -> vector<4xf32>
// CHECK: "vector.load"(%[[S]], %{{[^ ,)]+}}) <{alignment = 16 : i64}> : {{.*}} -> vector<4xf32>
// CHECK: "vector.store"(%{{[^ ,)]+}}, %arg2, %{{[^ ,)]+}}) <{alignment = 16 : i64}> : (vector<8xf16>
// CHECK-NOT: "vector.store"
//
// The second half of a tile is 8 rows of 256 bytes further, the warp's second tile 4 * 8 columns = 128 bytes.
// PTX-LABEL: .visible .entry wide(
// PTX: bar.sync 0;
// PTX: bar.sync 0;
// PTX: st.shared.v2.b32 {{\[}}[[A:%rd[0-9]+]]], {
// PTX: st.shared.v2.b32 {{\[}}[[A]]+2048], {
// PTX: st.shared.v2.b32 {{\[}}[[A]]+128], {
// PTX: st.shared.v2.b32 {{\[}}[[A]]+2176], {
// PTX: bar.sync 0;
// PTX-COUNT-2: ld.shared.v4.b32
// PTX: st.global.v4.b32
// PTX-NOT: st.global
// PTX: ret;
sgraph.program @p(%X: tensor<16x64xf16>, %W: tensor<64x64xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  sgraph.return %0 as "o" : tensor<16x64xf16>
}
sgraph.graph @wide implements @p(%X: tensor<16x64xf16>, %W: tensor<64x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 4, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>, %w = %W : tensor<64x64xf16>) grid {x = 1} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x64xf16> -> !sgraph.tile<[16, 64] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<64x64xf16> -> !sgraph.tile<[64, 64] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 64] x f16>, !sgraph.tile<[64, 64] x f16>) -> !sgraph.tile<[16, 64] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 64] x f16>
  }
  sgraph.yield %0 : tensor<16x64xf16>
}

// -----

// The same with k = 16: 16 * 16 * 2 + 16 * 64 * 2 = 2560 bytes of X and W leave no room for 16 * 64 * 4 = 4096 bytes of results. Pairs are
// stored from registers, and no barrier is needed before.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "no_room"}>
// CHECK-COUNT-2: "nvvm.mma.sync"
// CHECK-NOT: "gpu.barrier"
// CHECK-COUNT-4: "vector.store"(%{{[^ ,)]+}}, %arg2, %{{[^ ,)]+}}) <{alignment = 4 : i64}> : (vector<2xf16>
// CHECK-NOT: "vector.store"
// CHECK: \22shared_bytes\22: 2560,
//
// PTX-LABEL: .visible .entry no_room(
// PTX-NOT: st.shared
// PTX-COUNT-4: st.global.b32
// PTX-NOT: st.global
// PTX: ret;
sgraph.program @p(%X: tensor<16x16xf16>, %W: tensor<16x64xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x16xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  sgraph.return %0 as "o" : tensor<16x64xf16>
}
sgraph.graph @no_room implements @p(%X: tensor<16x16xf16>, %W: tensor<16x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 4, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x16xf16>, %w = %W : tensor<16x64xf16>) grid {x = 1} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x16xf16> -> !sgraph.tile<[16, 16] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<16x64xf16> -> !sgraph.tile<[16, 64] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 16] x f16>, !sgraph.tile<[16, 64] x f16>) -> !sgraph.tile<[16, 64] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 64] x f16>
  }
  sgraph.yield %0 : tensor<16x64xf16>
}
