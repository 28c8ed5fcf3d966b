// RUN: prism-opt %s --sgraph-instantiate-maps | FileCheck %s
// RUN: prism-opt %s -p 'sgraph-instantiate-maps{candidates=1}' | FileCheck %s --check-prefix=LIMIT

// Row sums: rows may go to the grid, columns to the loop; a grid that cuts columns would need a sum over blocks.
// CHECK-LABEL: sgraph.program @p
// CHECK-SAME: mappings = 2 : i64
// CHECK-LABEL: sgraph.graph @g_0 implements @p
// CHECK: grid {} loop {i = d_i} ->
// CHECK-NEXT: sgraph.load %x as X imap {} fmap {i -> 1} : tensor<8x16xf16> -> !sgraph.tile<[8, 16/i] x f16>
// CHECK: sgraph.save %{{.*}} omap {} : !sgraph.tile<[8, 1] x f16>
// CHECK-LABEL: sgraph.graph @g_1 implements @p
// CHECK: grid {x = d_x} loop {i = d_i} ->
// CHECK-NEXT: sgraph.load %x as X imap {x -> 0} fmap {i -> 1} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16/i] x f16>
// CHECK: sgraph.save %{{.*}} omap {x -> 0} : !sgraph.tile<[8/x, 1] x f16>
// CHECK-NOT: sgraph.graph

// LIMIT: stopped_by = "candidates limit of 1"
// LIMIT-COUNT-1: sgraph.graph @
sgraph.program @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
sgraph.graph @g implements @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x, y = d_y} loop {i = d_i} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap m fmap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16> -> !sgraph.tile<[8/sigma(X,0), 1] x f16>
    %3 = sgraph.accum %2 : !sgraph.tile<[8/sigma(X,0), 1] x f16> -> !sgraph.tile<[8/sigma(X,0), 1] x f16>
    sgraph.save %3 omap m : !sgraph.tile<[8/sigma(X,0), 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}
