// RUN: prism-opt %s --sgraph-fuse-threads | FileCheck %s
// RUN: prism-opt %s --sgraph-fuse-threads | prism-opt --sgraph-fuse-threads | FileCheck %s

// exp, its negation and the sum of both operands become one thread graph; the product before them and the accumulator do not.

// CHECK-LABEL: sgraph.graph @g
// CHECK: %[[X:.*]] = sgraph.load
// CHECK: %[[W:.*]] = sgraph.load
// CHECK: %[[P:.*]] = sgraph.matmul %[[X]], %[[W]]
// CHECK: %[[A:.*]] = sgraph.accum %[[P]]
// CHECK-NEXT: %[[T:.*]] = sgraph.thread(%[[IN:.*]] = %[[A]] : {{.*}}) -> {{.*}} {
// CHECK-NEXT: %[[E:.*]] = sgraph.unary %[[IN]] "exp(x)"
// CHECK-NEXT: %[[S:.*]] = sgraph.add %[[IN]], %[[E]]
// CHECK-NEXT: sgraph.yield %[[S]]
// CHECK-NEXT: }
// CHECK-NEXT: sgraph.save %[[T]]
sgraph.program @p(%X: tensor<16x64xf16>, %W: tensor<64x64xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  %1 = sgraph.unary %0 "exp(x)" : tensor<16x64xf16> -> tensor<16x64xf16>
  %2 = sgraph.add %0, %1 : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  sgraph.return %2 as "o" : tensor<16x64xf16>
}
sgraph.graph @g implements @p(%X: tensor<16x64xf16>, %W: tensor<64x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 2, x = 2}, warps 2, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<16x64xf16>, %w = %W : tensor<64x64xf16>) grid {x = 2} loop {i = 2} -> tensor<16x64xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<16x64xf16> -> !sgraph.tile<[16, 64/i] x f16>
    %2 = sgraph.load %w as W imap {x -> 1} fmap {i -> 0} : tensor<64x64xf16> -> !sgraph.tile<[64/i, 64/x] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 64/i] x f16>, !sgraph.tile<[64/i, 64/x] x f16>) -> !sgraph.tile<[16, 64/x] x f16>
    %4 = sgraph.accum %3 : !sgraph.tile<[16, 64/x] x f16> -> !sgraph.tile<[16, 64/x] x f16>
    %5 = sgraph.unary %4 "exp(x)" : !sgraph.tile<[16, 64/x] x f16> -> !sgraph.tile<[16, 64/x] x f16>
    %6 = sgraph.add %4, %5 : (!sgraph.tile<[16, 64/x] x f16>, !sgraph.tile<[16, 64/x] x f16>) -> !sgraph.tile<[16, 64/x] x f16>
    sgraph.save %6 omap {x -> 1} : !sgraph.tile<[16, 64/x] x f16>
  }
  sgraph.yield %0 : tensor<16x64xf16>
}
