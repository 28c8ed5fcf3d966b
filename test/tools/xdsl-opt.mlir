// The stock xdsl-opt finds the dialect and the passes through the `xdsl.universe` entry point, from any folder.
//
// RUN: mkdir -p %t
// RUN: cd %t && xdsl-opt %s -p 'sgraph-generate{operators=2 grid-dims=1},sgraph-prune,sgraph-instantiate-maps,sgraph-verify{proved_only=true}' | FileCheck %s

// CHECK: sgraph.graph @p_0_0 implements @p(%X: tensor<8x16xf16>) attributes {verdict = #sgraph.verdict<proved,
// CHECK: sgraph.load %x as X imap
sgraph.program @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
