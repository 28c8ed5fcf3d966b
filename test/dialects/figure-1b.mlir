// Figure 1 (b) of the paper: softmax(X) . W as one kernel, every mapping and size chosen (x = 64 blocks, i = 64 iterations).
//
// RUN: prism-opt %s --mlir-print-op-generic | prism-opt --sgraph-verify | FileCheck %s

// Figure 1 (a), with the softmax written out.
sgraph.program @softmax_matmul(%X: tensor<4096x4096xf16>, %W: tensor<4096x128xf16>) {
  %e = sgraph.unary %X "exp(x)" : tensor<4096x4096xf16> -> tensor<4096x4096xf16>
  %s = sgraph.sum %e dim 1 : tensor<4096x4096xf16> -> tensor<4096x1xf16>
  %p = sgraph.div %e, %s : (tensor<4096x4096xf16>, tensor<4096x1xf16>) -> tensor<4096x4096xf16>
  %O = sgraph.matmul %p, %W : (tensor<4096x4096xf16>, tensor<4096x128xf16>) -> tensor<4096x128xf16>
  sgraph.return %O as "O" : tensor<4096x128xf16>
}

// CHECK-LABEL: sgraph.graph @figure_1b implements @softmax_matmul
// CHECK-SAME: verdict = #sgraph.verdict<proved,
// CHECK: %[[O:.+]] = sgraph.custom({{.*}}) grid {x = 64} loop {i = 64} -> tensor<4096x128xf16> {
// CHECK: %[[X:.+]] = sgraph.load {{.*}} as X imap {x -> 0} fmap {i -> 1} : tensor<4096x4096xf16> -> !sgraph.tile<[4096/x, 4096/i] x f16>
// CHECK: %[[W:.+]] = sgraph.load {{.*}} as W imap {} fmap {i -> 0} : tensor<4096x128xf16> -> !sgraph.tile<[4096/i, 128] x f16>
// CHECK: %[[E:.+]] = sgraph.unary %[[X]] "exp(x)"
// CHECK: %[[S:.+]] = sgraph.sum %[[E]] dim 1 : {{.*}} -> !sgraph.tile<[4096/x, 1] x f16>
// CHECK: %[[D:.+]] = sgraph.accum %[[S]]
// CHECK: %[[M:.+]] = sgraph.matmul %[[E]], %[[W]] : {{.*}} -> !sgraph.tile<[4096/x, 128] x f16>
// CHECK: %[[N:.+]] = sgraph.accum %[[M]]
// CHECK: %[[Q:.+]] = sgraph.div %[[N]], %[[D]]
// CHECK: sgraph.save %[[Q]] omap {x -> 0} : !sgraph.tile<[4096/x, 128] x f16>
// CHECK: sgraph.yield %[[O]]

sgraph.graph @figure_1b implements @softmax_matmul(%X: tensor<4096x4096xf16>, %W: tensor<4096x128xf16>) {
  %O = sgraph.custom(%x = %X : tensor<4096x4096xf16>, %w = %W : tensor<4096x128xf16>) grid {x = 64} loop {i = 64} -> tensor<4096x128xf16> {
    // Input Loader 1 and 2
    %tx = sgraph.load %x as X imap {x -> 0} fmap {i -> 1} : tensor<4096x4096xf16> -> !sgraph.tile<[4096/x, 4096/i] x f16>
    %tw = sgraph.load %w as W imap {} fmap {i -> 0} : tensor<4096x128xf16> -> !sgraph.tile<[4096/i, 128] x f16>
    %e = sgraph.unary %tx "exp(x)" : !sgraph.tile<[4096/x, 4096/i] x f16> -> !sgraph.tile<[4096/x, 4096/i] x f16>
    // The figure's reducing accumulator: a sum, then the sum over iterations.
    %s = sgraph.sum %e dim 1 : !sgraph.tile<[4096/x, 4096/i] x f16> -> !sgraph.tile<[4096/x, 1] x f16>
    %d = sgraph.accum %s : !sgraph.tile<[4096/x, 1] x f16> -> !sgraph.tile<[4096/x, 1] x f16>
    %m = sgraph.matmul %e, %tw : (!sgraph.tile<[4096/x, 4096/i] x f16>, !sgraph.tile<[4096/i, 128] x f16>) -> !sgraph.tile<[4096/x, 128] x f16>
    %n = sgraph.accum %m : !sgraph.tile<[4096/x, 128] x f16> -> !sgraph.tile<[4096/x, 128] x f16>
    %q = sgraph.div %n, %d : (!sgraph.tile<[4096/x, 128] x f16>, !sgraph.tile<[4096/x, 1] x f16>) -> !sgraph.tile<[4096/x, 128] x f16>
    // Output Saver
    sgraph.save %q omap {x -> 0} : !sgraph.tile<[4096/x, 128] x f16>
  }
  sgraph.yield %O : tensor<4096x128xf16>
}
