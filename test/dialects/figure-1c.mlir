// Figure 1 (c) of the paper: the same graph with mappings and sizes as symbols. One text stands for a family of kernels;
// figure-1b.mlir is one member. Dims 0 and 1 are the paper's r and c.
//
// RUN: prism-opt %s --mlir-print-op-generic | prism-opt | FileCheck %s
// RUN: prism-opt %s -p sgraph-match-dims,sgraph-instantiate-maps | FileCheck %s --check-prefix=MAPPED

sgraph.program @softmax_matmul(%X: tensor<4096x4096xf16>, %W: tensor<4096x128xf16>) {
  %e = sgraph.unary %X "exp(x)" : tensor<4096x4096xf16> -> tensor<4096x4096xf16>
  %s = sgraph.sum %e dim 1 : tensor<4096x4096xf16> -> tensor<4096x1xf16>
  %p = sgraph.div %e, %s : (tensor<4096x4096xf16>, tensor<4096x1xf16>) -> tensor<4096x4096xf16>
  %O = sgraph.matmul %p, %W : (tensor<4096x4096xf16>, tensor<4096x128xf16>) -> tensor<4096x128xf16>
  sgraph.return %O as "O" : tensor<4096x128xf16>
}

// CHECK-LABEL: sgraph.graph @figure_1c implements @softmax_matmul
// CHECK: sgraph.custom({{.*}}) grid {x = d_x} loop {i = d_i} -> tensor<4096x128xf16> {
// CHECK: %[[X:.+]] = sgraph.load {{.*}} as X imap m fmap m : {{.*}} -> !sgraph.tile<[4096/sigma(X,0), 4096/sigma(X,1)] x f16>
// CHECK: %[[W:.+]] = sgraph.load {{.*}} as W imap m fmap m : {{.*}} -> !sgraph.tile<[4096/sigma(W,0), 128/sigma(W,1)] x f16>
// CHECK: sgraph.matmul {{.*}} -> !sgraph.tile<[4096/sigma(X,0), 128/sigma(W,1)] x f16>
// CHECK: sgraph.save %{{.*}} omap m : !sgraph.tile<[4096/sigma(X,0), 128/sigma(W,1)] x f16>

// Equation (4): the contracted dims of X and W are cut alike, as dimension matching records.
// The mapping of Figure 1 (b) is among the instances.
// MAPPED: grid {x = d_x} loop {i = d_i} where [sigma(X,1) = sigma(W,0)]
// MAPPED-NEXT: as X imap {x -> 0} fmap {i -> 1}
// MAPPED-NEXT: as W imap {} fmap {i -> 0}
// MAPPED: sgraph.save %{{.*}} omap {x -> 0}
sgraph.graph @figure_1c implements @softmax_matmul(%X: tensor<4096x4096xf16>, %W: tensor<4096x128xf16>) {
  %O = sgraph.custom(%x = %X : tensor<4096x4096xf16>, %w = %W : tensor<4096x128xf16>) grid {x = d_x} loop {i = d_i} -> tensor<4096x128xf16> {
    %tx = sgraph.load %x as X imap m fmap m : tensor<4096x4096xf16> -> !sgraph.tile<[4096/sigma(X,0), 4096/sigma(X,1)] x f16>
    %tw = sgraph.load %w as W imap m fmap m : tensor<4096x128xf16> -> !sgraph.tile<[4096/sigma(W,0), 128/sigma(W,1)] x f16>
    %e = sgraph.unary %tx "exp(x)" : !sgraph.tile<[4096/sigma(X,0), 4096/sigma(X,1)] x f16> -> !sgraph.tile<[4096/sigma(X,0), 4096/sigma(X,1)] x f16>
    %s = sgraph.sum %e dim 1 : !sgraph.tile<[4096/sigma(X,0), 4096/sigma(X,1)] x f16> -> !sgraph.tile<[4096/sigma(X,0), 1] x f16>
    %d = sgraph.accum %s : !sgraph.tile<[4096/sigma(X,0), 1] x f16> -> !sgraph.tile<[4096/sigma(X,0), 1] x f16>
    %m = sgraph.matmul %e, %tw : (!sgraph.tile<[4096/sigma(X,0), 4096/sigma(X,1)] x f16>, !sgraph.tile<[4096/sigma(W,0), 128/sigma(W,1)] x f16>) -> !sgraph.tile<[4096/sigma(X,0), 128/sigma(W,1)] x f16>
    %n = sgraph.accum %m : !sgraph.tile<[4096/sigma(X,0), 128/sigma(W,1)] x f16> -> !sgraph.tile<[4096/sigma(X,0), 128/sigma(W,1)] x f16>
    %q = sgraph.div %n, %d : (!sgraph.tile<[4096/sigma(X,0), 128/sigma(W,1)] x f16>, !sgraph.tile<[4096/sigma(X,0), 1] x f16>) -> !sgraph.tile<[4096/sigma(X,0), 128/sigma(W,1)] x f16>
    sgraph.save %q omap m : !sgraph.tile<[4096/sigma(X,0), 128/sigma(W,1)] x f16>
  }
  sgraph.yield %O : tensor<4096x128xf16>
}
