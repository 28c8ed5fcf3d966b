// When tiles are requested and waited for. A tile of X is 16x64 f16 = 128 chunks of 16 bytes, one for each of the 128 threads: one
// copy an iteration. With S stages, iterations 0 .. S-2 are requested before the loop; iteration i waits until at most S-2 groups are
// in flight, and requests iteration i+S-1.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s

// One stage: nothing is requested before the loop. A barrier frees the only copy, its tile is requested and waited for.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "one"}>
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: "nvvm.cp.async.commit.group"
// CHECK-NOT: "nvvm.cp.async
// CHECK: "scf.for"
// CHECK-NEXT: ^bb0(%[[I:.+]]: i32
// CHECK-NEXT: "gpu.barrier"
// CHECK: "arith.cmpi"(%[[I]], %{{.+}}) <{predicate = 6 : i64}>
// CHECK: "nvgpu.device_async_copy"
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: "nvvm.cp.async.commit.group"
// CHECK-NEXT: "nvvm.cp.async.wait.group"() <{n = 0 : i32}>
// CHECK-NEXT: "gpu.barrier"
// CHECK-NOT: "nvvm.cp.async
// CHECK-NOT: "gpu.barrier"
// CHECK: "scf.yield"(%{{.*}}) : (f32
// CHECK-NOT: "nvvm.cp.async
sgraph.program @p(%X: tensor<16x256xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<16x256xf16> -> tensor<16x1xf16>
  sgraph.return %0 as "o" : tensor<16x1xf16>
}
sgraph.graph @one implements @p(%X: tensor<16x256xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 1}, warps 4, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x256xf16>) grid {x = 1} loop {i = 4} -> tensor<16x1xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x256xf16> -> !sgraph.tile<[16, 256/i] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[16, 256/i] x f16> -> !sgraph.tile<[16, 1] x f16>
    %3 = sgraph.accum %2 : !sgraph.tile<[16, 1] x f16> -> !sgraph.tile<[16, 1] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 1] x f16>
  }
  sgraph.yield %0 : tensor<16x1xf16>
}

// -----

// Two stages: iteration 0 is requested before the loop, iteration i+1 in iteration i, after the barrier that frees its copy. The
// group is committed outside of the condition: in the last iteration too, when nothing is left to request.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "two"}>
// CHECK: "nvgpu.device_async_copy"
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: "nvvm.cp.async.commit.group"
// CHECK-NOT: "nvvm.cp.async
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: "scf.for"(%{{[a-z0-9]+}}, %[[COUNT:[a-z0-9]+]], %c1,
// CHECK-NEXT: ^bb0(%[[I:.+]]: i32
// CHECK-NEXT: "nvvm.cp.async.wait.group"() <{n = 0 : i32}>
// CHECK-NEXT: "gpu.barrier"
// CHECK-NEXT: %[[NEXT:.+]] = "arith.addi"(%[[I]], %c1)
// CHECK-NEXT: %[[LEFT:.+]] = "arith.cmpi"(%[[NEXT]], %[[COUNT]]) <{predicate = 6 : i64}>
// CHECK-NEXT: "scf.if"(%[[LEFT]])
// CHECK: "nvgpu.device_async_copy"
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: "scf.yield"() : () -> ()
// CHECK-NEXT: }, {
// CHECK-NEXT: })
// CHECK-NEXT: "nvvm.cp.async.commit.group"
// CHECK-NOT: "nvvm.cp.async
// CHECK-NOT: "gpu.barrier"
// CHECK: "scf.yield"(%{{.*}}) : (f32
// CHECK-NOT: "nvvm.cp.async
sgraph.program @p(%X: tensor<16x256xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<16x256xf16> -> tensor<16x1xf16>
  sgraph.return %0 as "o" : tensor<16x1xf16>
}
sgraph.graph @two implements @p(%X: tensor<16x256xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 1}, warps 4, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<16x256xf16>) grid {x = 1} loop {i = 4} -> tensor<16x1xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x256xf16> -> !sgraph.tile<[16, 256/i] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[16, 256/i] x f16> -> !sgraph.tile<[16, 1] x f16>
    %3 = sgraph.accum %2 : !sgraph.tile<[16, 1] x f16> -> !sgraph.tile<[16, 1] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 1] x f16>
  }
  sgraph.yield %0 : tensor<16x1xf16>
}
