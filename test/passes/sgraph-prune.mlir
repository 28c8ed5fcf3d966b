// RUN: prism-opt %s --sgraph-prune | FileCheck %s

// CHECK-LABEL: sgraph.program @p({{.*}}) attributes {sgraph.funnel = {complete = true, pruned = 2 : i64}}
sgraph.program @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<8x16xf16> -> tensor<8x16xf16>
  %1 = sgraph.sum %0 dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  %2 = sgraph.unary %1 "sqrt(x)" : tensor<8x1xf16> -> tensor<8x1xf16>
  sgraph.return %2 as "o" : tensor<8x1xf16>
}

// CHECK: sgraph.graph @good
sgraph.graph @good implements @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap m fmap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    %2 = sgraph.unary %1 "exp(x)" : !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    %3 = sgraph.sum %2 dim 1 : !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16> -> !sgraph.tile<[8/sigma(X,0), 1] x f16>
    %4 = sgraph.accum %3 : !sgraph.tile<[8/sigma(X,0), 1] x f16> -> !sgraph.tile<[8/sigma(X,0), 1] x f16>
    %5 = sgraph.unary %4 "sqrt(x)" : !sgraph.tile<[8/sigma(X,0), 1] x f16> -> !sgraph.tile<[8/sigma(X,0), 1] x f16>
    sgraph.save %5 omap m : !sgraph.tile<[8/sigma(X,0), 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}

// exp(sum(X)) is no part of the program.
// CHECK-NOT: sgraph.graph @exp_of_sum
sgraph.graph @exp_of_sum implements @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16> -> !sgraph.tile<[8/sigma(X,0), 1] x f16>
    %3 = sgraph.unary %2 "exp(x)" : !sgraph.tile<[8/sigma(X,0), 1] x f16> -> !sgraph.tile<[8/sigma(X,0), 1] x f16>
    sgraph.save %3 omap m : !sgraph.tile<[8/sigma(X,0), 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}

// A library operator and a kernel whose result is a subexpression, but not the whole.
// CHECK-NOT: sgraph.graph @unfinished
sgraph.graph @unfinished implements @p(%X: tensor<8x16xf16>) {
  %e = sgraph.unary %X "exp(x)" : tensor<8x16xf16> -> tensor<8x16xf16>
  %0 = sgraph.custom(%x = %e : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as E imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(E,0), 16/sigma(E,1)] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8/sigma(E,0), 16/sigma(E,1)] x f16> -> !sgraph.tile<[8/sigma(E,0), 1] x f16>
    sgraph.save %2 omap m : !sgraph.tile<[8/sigma(E,0), 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}
