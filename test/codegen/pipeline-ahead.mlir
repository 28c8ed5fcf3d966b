// When tiles are requested and waited for. A tile of X is 16x64 f16 = 128 chunks of 16 bytes, one for each of the 128 threads: one
// copy an iteration. With S stages, iterations 0 .. S-2 are requested before the loop; iteration i waits until at most S-2 groups are
// in flight, and requests iteration i+S-1.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// Three stages: iterations 0 and 1 are requested before the loop, a group each; one group may be in flight; iteration i requests i+2
// into copy (i+2) mod 3, of 16x64 f16 = 2048 bytes.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "three"}>
// CHECK: "nvgpu.device_async_copy"
// CHECK: "nvvm.cp.async.commit.group"
// CHECK: "nvgpu.device_async_copy"
// CHECK: "nvvm.cp.async.commit.group"
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK: "scf.for"(%{{[a-z0-9]+}}, %[[COUNT:[a-z0-9]+]],
// CHECK-NEXT: ^bb0(%[[I:.+]]: i32
// CHECK-NEXT: "nvvm.cp.async.wait.group"() <{n = 1 : i32}>
// CHECK-NEXT: "gpu.barrier"
// CHECK-NEXT: %[[NEXT:.+]] = "arith.addi"(%[[I]], %c2)
// CHECK-NEXT: %[[LEFT:.+]] = "arith.cmpi"(%[[NEXT]], %[[COUNT]]) <{predicate = 6 : i64}>
// CHECK-NEXT: "scf.if"(%[[LEFT]])
// CHECK: %[[SLOT:.+]] = "arith.remui"(%[[NEXT]], %c3)
// CHECK: "arith.muli"(%[[SLOT]], %c2048)
// CHECK: "nvgpu.device_async_copy"
// CHECK: })
// CHECK-NEXT: "nvvm.cp.async.commit.group"
// CHECK-NOT: "nvvm.cp.async
// CHECK: "scf.yield"(%{{.*}}) : (f32
// CHECK-NOT: "nvvm.cp.async
//
// PTX-LABEL: .visible .entry three(
// PTX: cp.async.cg.shared.global {{\[}}[[A:%rd[0-9]+]]], {{\[}}[[G:%rd[0-9]+]]], 16;
// PTX-NEXT: cp.async.commit_group;
// PTX-NEXT: cp.async.cg.shared.global {{\[}}[[A]]+2048], {{\[}}[[G]]+128], 16;
// PTX-NEXT: cp.async.commit_group;
// PTX-NOT: cp.async.c
// PTX: cp.async.wait_group 1;
// PTX-NEXT: bar.sync 0;
sgraph.program @p(%X: tensor<16x256xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<16x256xf16> -> tensor<16x1xf16>
  sgraph.return %0 as "o" : tensor<16x1xf16>
}
sgraph.graph @three implements @p(%X: tensor<16x256xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 1}, warps 4, stages 3>} {
  %0 = sgraph.custom(%x = %X : tensor<16x256xf16>) grid {x = 1} loop {i = 4} -> tensor<16x1xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x256xf16> -> !sgraph.tile<[16, 256/i] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[16, 256/i] x f16> -> !sgraph.tile<[16, 1] x f16>
    %3 = sgraph.accum %2 : !sgraph.tile<[16, 1] x f16> -> !sgraph.tile<[16, 1] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 1] x f16>
  }
  sgraph.yield %0 : tensor<16x1xf16>
}

// -----

// Three stages, one iteration: of the two groups before it the second is empty, as is the one that the iteration itself commits.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "short"}>
// CHECK: "nvgpu.device_async_copy"
// CHECK: "nvvm.cp.async.commit.group"
// CHECK-NOT: "nvgpu.device_async_copy"
// CHECK-NOT: "scf.for"
// CHECK: "nvvm.cp.async.commit.group"
// CHECK: "nvvm.cp.async.wait.group"() <{n = 1 : i32}>
// CHECK-NEXT: "gpu.barrier"
// CHECK-NEXT: "nvvm.cp.async.commit.group"
// CHECK-NOT: "nvvm.cp.async
// CHECK-NOT: "scf.for"
sgraph.program @p(%X: tensor<16x64xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<16x64xf16> -> tensor<16x1xf16>
  sgraph.return %0 as "o" : tensor<16x1xf16>
}
sgraph.graph @short implements @p(%X: tensor<16x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 1, x = 1}, warps 4, stages 3>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>) grid {x = 1} loop {i = 1} -> tensor<16x1xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x64xf16> -> !sgraph.tile<[16, 64/i] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[16, 64/i] x f16> -> !sgraph.tile<[16, 1] x f16>
    %3 = sgraph.accum %2 : !sgraph.tile<[16, 1] x f16> -> !sgraph.tile<[16, 1] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 1] x f16>
  }
  sgraph.yield %0 : tensor<16x1xf16>
}
