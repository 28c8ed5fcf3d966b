// RUN: prism-opt %s -p 'sgraph-generate{operators=2 grid-dims=1}' | FileCheck %s
// RUN: prism-opt %s -p 'sgraph-generate{operators=2 grid-dims=1 structures=1}' | FileCheck %s --check-prefix=LIMIT

// Row sums with at most two operators: sum then accumulate, accumulate then sum, and without a loop the sum alone.
// CHECK-LABEL: sgraph.program @p(%X: tensor<8x16xf16>) attributes {sgraph.funnel = {{{.*}}complete = true{{.*}}structures = 3 : i64}}
// CHECK-LABEL: sgraph.graph @p_0 implements @p(%X: tensor<8x16xf16>) {
// CHECK: sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x1xf16> {
// CHECK-NEXT: sgraph.load %x as X imap m fmap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
// CHECK-NEXT: sgraph.accum
// CHECK-NEXT: sgraph.sum
// CHECK-NEXT: sgraph.save %{{.*}} omap m : !sgraph.tile<[8/sigma(X,0), 1] x f16>
// CHECK-LABEL: sgraph.graph @p_1 implements @p
// CHECK: sgraph.sum
// CHECK-NEXT: sgraph.accum
// CHECK-LABEL: sgraph.graph @p_2 implements @p
// CHECK: grid {x = d_x} -> tensor<8x1xf16> {
// CHECK-NEXT: sgraph.load %x as X imap m : tensor
// CHECK-NOT: sgraph.accum
// CHECK-NOT: sgraph.graph

// LIMIT: sgraph.funnel = {{{.*}}complete = false{{.*}}stopped_by = "structures limit of 1"
// LIMIT-COUNT-1: sgraph.graph @
sgraph.program @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
