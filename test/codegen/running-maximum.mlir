// softmax(X) . W in one loop. The program's exp is shifted by the row maximum, which the code keeps as a running maximum: when it rises
// from old to new, what was summed up so far is multiplied with exp(old - new).
//
// RUN: prism-opt %s --sgraph-to-gpu | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// Shared memory: two copies of X's tile (16x32 f16 = 1024 bytes) at 0, two of W's (32x16 f16 = 1024) at 2048, the maxima (16 f32 in a
// 128-byte line) at 4096; in the loop only, the factors at 4224 and exp(X - max) as operand of the product (1024) at 4352. Together 5376.
//
// The maximum starts from the least finite number, so that old - new is never inf - inf.
// CHECK: %[[MAX:[^ ,)]+]] = "memref.view"(%{{[^ ,)]+}}, %c4096) : {{.*}} -> memref<32xf32,
// CHECK: "memref.store"(%c-3.40282347e+38, %[[MAX]],
//
// Four warps, 16 rows: a lane carries four partial sums, and of the 16x16 product four values (two of the warps hold a 16x8 tile each).
// CHECK: %[[S0:[^ ,)]+]], %{{.*}}, %[[P0:[^ ,)]+]], %[[P1:[^ ,)]+]], %{{[^ ,)]+}}, %{{[^ ,)]+}} = "scf.for"
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: i32, %[[T0:[a-z0-9]+]]: f32, %[[T1:[a-z0-9]+]]: f32, %[[T2:[a-z0-9]+]]: f32, %[[T3:[a-z0-9]+]]: f32, %[[A0:[a-z0-9]+]]: f32, %[[A1:[a-z0-9]+]]: f32, %[[A2:[a-z0-9]+]]: f32, %[[A3:[a-z0-9]+]]: f32):
// CHECK: "nvvm.cp.async.wait.group"
// CHECK: "nvvm.cp.async.commit.group"
//
// The tile's row maxima, four rows a warp. Lane 0 raises the running maximum and leaves the factor.
// CHECK: "arith.maximumf"(%c0x{{ff|FF}}800000,
// CHECK-COUNT-5: "gpu.shuffle"
// CHECK: %[[CAME:[^ ,)]+]] = "arith.maximumf"
// CHECK: %[[M:[^ ,)]+]] = "memref.view"(%{{[^ ,)]+}}, %c4096)
// CHECK: %[[OLD:[^ ,)]+]] = "memref.load"(%[[M]], %[[ROW:[^ ,)]+]])
// CHECK: %[[NEW:[^ ,)]+]] = "arith.maximumf"(%[[OLD]], %[[CAME]])
// CHECK: "memref.store"(%[[NEW]], %[[M]], %[[ROW]])
// CHECK: %[[BEHIND:[^ ,)]+]] = "arith.subf"(%[[OLD]], %[[NEW]])
// CHECK: %[[FACTOR:[^ ,)]+]] = "math.exp"(%[[BEHIND]])
// CHECK: %[[F:[^ ,)]+]] = "memref.view"(%{{[^ ,)]+}}, %c4224) : {{.*}} -> memref<32xf32,
// CHECK: "memref.store"(%[[FACTOR]], %[[F]], %[[ROW]])
// CHECK-COUNT-15: "gpu.shuffle"
// CHECK-NOT: "gpu.shuffle"
// CHECK: "gpu.barrier"
//
// exp(X - max), rounded, for the product.
// CHECK: %[[HERE:[^ ,)]+]] = "memref.load"(%{{[^ ,)]+}}, %{{[^ ,)]+}}) : (memref<32xf32,
// CHECK: %[[BELOW:[^ ,)]+]] = "arith.subf"(%{{[^ ,)]+}}, %[[HERE]])
// CHECK: "math.exp"(%[[BELOW]])
// CHECK: %[[E:[^ ,)]+]] = "memref.view"(%{{[^ ,)]+}}, %c4352) : {{.*}} -> memref<512xf16,
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[E]],
//
// Sums and product are brought to the new maximum, then take the tile in.
// CHECK: %[[R0:[^ ,)]+]] = "arith.mulf"(%[[T0]], %{{[^ ,)]+}})
// CHECK: %[[N0:[^ ,)]+]] = "arith.addf"(%[[R0]],
// CHECK: "arith.mulf"(%[[T1]],
// CHECK: "arith.mulf"(%[[T2]],
// CHECK: "arith.mulf"(%[[T3]],
// CHECK: %[[C0:[^ ,)]+]] = "arith.mulf"(%[[A0]], %[[G:[^ ,)]+]])
// CHECK: %[[C1:[^ ,)]+]] = "arith.mulf"(%[[A1]], %[[G]])
// CHECK: %[[C2:[^ ,)]+]] = "arith.mulf"(%[[A2]], %[[H:[^ ,)]+]])
// CHECK: %[[C3:[^ ,)]+]] = "arith.mulf"(%[[A3]], %[[H]])
// CHECK: "gpu.barrier"
// CHECK: "nvgpu.ldmatrix"(%[[E]],
// CHECK: "nvvm.mma.sync"({{.*}}, %[[C0]], %[[C1]], %[[C2]], %[[C3]])
// CHECK: "scf.yield"(%[[N0]],
//
// After the loop the maximum cancels in the quotient.
// CHECK: "gpu.barrier"
// CHECK: "gpu.shuffle"(%[[S0]],
// CHECK-NOT: "math.exp"
// CHECK: "llvm.call_intrinsic"(%[[P0]], %[[SUM:[^ ,)]+]]) <{{.*}}intrin = "llvm.nvvm.div.full"
// CHECK: "llvm.call_intrinsic"(%[[P1]], %[[SUM]]) <{{.*}}intrin = "llvm.nvvm.div.full"
// CHECK-NOT: "math.exp"
// CHECK: \22shared_bytes\22: 5376,
//
// The least finite f32 has the bits FF7FFFFF: 0fFF7FFFFF in PTX, or -8388609 as an integer. Blocks may lie in any order.
// PTX-DAG: {{0fFF7FFFFF|-8388609}}
// PTX-DAG: shfl.sync.bfly.b32
// PTX-DAG: ex2.approx
// PTX-DAG: mma.sync
// PTX-DAG: div.full.f32
sgraph.program @p(%X: tensor<16x128xf16>, %W: tensor<128x16xf16>) {
  %0 = sgraph.unary %X "exp(x)" shift 1 : tensor<16x128xf16> -> tensor<16x128xf16>
  %1 = sgraph.sum %0 dim 1 : tensor<16x128xf16> -> tensor<16x1xf16>
  %2 = sgraph.div %0, %1 : (tensor<16x128xf16>, tensor<16x1xf16>) -> tensor<16x128xf16>
  %3 = sgraph.matmul %2, %W : (tensor<16x128xf16>, tensor<128x16xf16>) -> tensor<16x16xf16>
  sgraph.return %3 as "o" : tensor<16x16xf16>
}
sgraph.graph @online implements @p(%X: tensor<16x128xf16>, %W: tensor<128x16xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 1}, warps 4, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<16x128xf16>, %w = %W : tensor<128x16xf16>) grid {x = 1} loop {i = 4} -> tensor<16x16xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x128xf16> -> !sgraph.tile<[16, 128/i] x f16>
    %2 = sgraph.load %w as W imap {} fmap {i -> 0} : tensor<128x16xf16> -> !sgraph.tile<[128/i, 16] x f16>
    %3 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[16, 128/i] x f16> -> !sgraph.tile<[16, 128/i] x f16>
    %4 = sgraph.sum %3 dim 1 : !sgraph.tile<[16, 128/i] x f16> -> !sgraph.tile<[16, 1] x f16>
    %5 = sgraph.accum %4 : !sgraph.tile<[16, 1] x f16> -> !sgraph.tile<[16, 1] x f16>
    %6 = sgraph.matmul %3, %2 : (!sgraph.tile<[16, 128/i] x f16>, !sgraph.tile<[128/i, 16] x f16>) -> !sgraph.tile<[16, 16] x f16>
    %7 = sgraph.accum %6 : !sgraph.tile<[16, 16] x f16> -> !sgraph.tile<[16, 16] x f16>
    %8 = sgraph.div %7, %5 : (!sgraph.tile<[16, 16] x f16>, !sgraph.tile<[16, 1] x f16>) -> !sgraph.tile<[16, 16] x f16>
    sgraph.save %8 omap {} : !sgraph.tile<[16, 16] x f16>
  }
  sgraph.yield %0 : tensor<16x16xf16>
}
