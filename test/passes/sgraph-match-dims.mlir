// RUN: prism-opt %s --sgraph-match-dims --split-input-file --verify-diagnostics | FileCheck %s
// RUN: prism-opt %s -p 'sgraph-match-dims{drop=true}' --split-input-file | FileCheck %s --check-prefix=DROP

// The contracted dims of a product are cut alike; so are the dims of an elementwise operator's operands.
// CHECK-LABEL: sgraph.graph @g implements @p
// CHECK: grid {x = d_x} loop {i = d_i} where [sigma(X,1) = sigma(W,0), sigma(X,0) = sigma(Y,0), sigma(W,1) = sigma(Y,1)] ->
sgraph.program @p(%X: tensor<8x16xf16>, %W: tensor<16x4xf16>, %Y: tensor<8x4xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<8x16xf16>, tensor<16x4xf16>) -> tensor<8x4xf16>
  %1 = sgraph.add %0, %Y : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  sgraph.return %1 as "o" : tensor<8x4xf16>
}
sgraph.graph @g implements @p(%X: tensor<8x16xf16>, %W: tensor<16x4xf16>, %Y: tensor<8x4xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>, %w = %W : tensor<16x4xf16>, %y = %Y : tensor<8x4xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x4xf16> {
    %1 = sgraph.load %x as X imap m fmap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    %2 = sgraph.load %w as W imap m fmap m : tensor<16x4xf16> -> !sgraph.tile<[16/sigma(W,0), 4/sigma(W,1)] x f16>
    %3 = sgraph.load %y as Y imap m : tensor<8x4xf16> -> !sgraph.tile<[8/sigma(Y,0), 4/sigma(Y,1)] x f16>
    %4 = sgraph.matmul %1, %2 : (!sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>, !sgraph.tile<[16/sigma(W,0), 4/sigma(W,1)] x f16>) -> !sgraph.tile<[8/sigma(X,0), 4/sigma(W,1)] x f16>
    %5 = sgraph.accum %4 : !sgraph.tile<[8/sigma(X,0), 4/sigma(W,1)] x f16> -> !sgraph.tile<[8/sigma(X,0), 4/sigma(W,1)] x f16>
    %6 = sgraph.add %5, %3 : (!sgraph.tile<[8/sigma(X,0), 4/sigma(W,1)] x f16>, !sgraph.tile<[8/sigma(Y,0), 4/sigma(Y,1)] x f16>) -> !sgraph.tile<[8/sigma(X,0), 4/sigma(W,1)] x f16>
    sgraph.save %6 omap m : !sgraph.tile<[8/sigma(X,0), 4/sigma(W,1)] x f16>
  }
  sgraph.yield %0 : tensor<8x4xf16>
}

// -----

// A square W: its columns are not its rows. In the program X's columns meet W's rows; this graph lets W's columns meet them.
// DROP-LABEL: sgraph.program @square
// DROP-NOT: sgraph.graph @transposed
sgraph.program @square(%X: tensor<8x16xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<8x16xf16>, tensor<16x16xf16>) -> tensor<8x16xf16>
  sgraph.return %0 as "o" : tensor<8x16xf16>
}
// expected-error @+1 {{an operator joins dim}}
sgraph.graph @transposed implements @square(%X: tensor<8x16xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>, %w = %W : tensor<16x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    %2 = sgraph.load %w as W imap m : tensor<16x16xf16> -> !sgraph.tile<[16/sigma(W,0), 16/sigma(W,1)] x f16>
    %3 = sgraph.transpose %2 perm [1, 0] : !sgraph.tile<[16/sigma(W,0), 16/sigma(W,1)] x f16> -> !sgraph.tile<[16/sigma(W,1), 16/sigma(W,0)] x f16>
    %4 = sgraph.matmul %1, %3 : (!sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>, !sgraph.tile<[16/sigma(W,1), 16/sigma(W,0)] x f16>) -> !sgraph.tile<[8/sigma(X,0), 16/sigma(W,0)] x f16>
    sgraph.save %4 omap m : !sgraph.tile<[8/sigma(X,0), 16/sigma(W,0)] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}
