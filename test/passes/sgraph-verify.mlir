// RUN: prism-opt %s --sgraph-verify --split-input-file | FileCheck %s
// RUN: prism-opt %s -p 'sgraph-verify{proved-only=true}' --split-input-file | FileCheck %s --check-prefix=ONLY

// Graphs that look right. Row statistics may be divided out of a product, other divisors may not.
// CHECK-LABEL: sgraph.program @rows
// CHECK-SAME: proved = 1 : i64, refuted = 2 : i64
// CHECK: sgraph.graph @divided_out {{.*}}verdict = #sgraph.verdict<proved, "axioms
// CHECK: sgraph.graph @swapped {{.*}}verdict = #sgraph.verdict<refuted, "{{.+}}; output 0 at [{{.*}}]: {{[0-9]+}} instead of {{[0-9]+}}; sizes
// CHECK: sgraph.graph @column_partitioned {{.*}}verdict = #sgraph.verdict<refuted,
// ONLY: sgraph.graph @divided_out
// ONLY-NOT: sgraph.graph @swapped
sgraph.program @rows(%X: tensor<8x16xf16>, %V: tensor<8x1xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.div %X, %V : (tensor<8x16xf16>, tensor<8x1xf16>) -> tensor<8x16xf16>
  %1 = sgraph.matmul %0, %W : (tensor<8x16xf16>, tensor<16x16xf16>) -> tensor<8x16xf16>
  sgraph.return %1 as "o" : tensor<8x16xf16>
}
sgraph.graph @divided_out implements @rows(%X: tensor<8x16xf16>, %V: tensor<8x1xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>, %v = %V : tensor<8x1xf16>, %w = %W : tensor<16x16xf16>) grid {x = d_x, y = d_y} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    %2 = sgraph.load %v as V imap {x -> 0} : tensor<8x1xf16> -> !sgraph.tile<[8/x, 1] x f16>
    %3 = sgraph.load %w as W imap {y -> 1} : tensor<16x16xf16> -> !sgraph.tile<[16, 16/y] x f16>
    %4 = sgraph.matmul %1, %3 : (!sgraph.tile<[8/x, 16] x f16>, !sgraph.tile<[16, 16/y] x f16>) -> !sgraph.tile<[8/x, 16/y] x f16>
    %5 = sgraph.div %4, %2 : (!sgraph.tile<[8/x, 16/y] x f16>, !sgraph.tile<[8/x, 1] x f16>) -> !sgraph.tile<[8/x, 16/y] x f16>
    sgraph.save %5 omap {x -> 0, y -> 1} : !sgraph.tile<[8/x, 16/y] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}
// Operands of the division are swapped.
sgraph.graph @swapped implements @rows(%X: tensor<8x16xf16>, %V: tensor<8x1xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>, %v = %V : tensor<8x1xf16>, %w = %W : tensor<16x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    %2 = sgraph.load %v as V imap {x -> 0} : tensor<8x1xf16> -> !sgraph.tile<[8/x, 1] x f16>
    %3 = sgraph.load %w as W imap {} : tensor<16x16xf16> -> !sgraph.tile<[16, 16] x f16>
    %4 = sgraph.matmul %1, %3 : (!sgraph.tile<[8/x, 16] x f16>, !sgraph.tile<[16, 16] x f16>) -> !sgraph.tile<[8/x, 16] x f16>
    %5 = sgraph.div %2, %4 : (!sgraph.tile<[8/x, 1] x f16>, !sgraph.tile<[8/x, 16] x f16>) -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %5 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}
// Contracted dims are cut in the loop, and partial products are divided by a sum of copies of V.
sgraph.graph @column_partitioned implements @rows(%X: tensor<8x16xf16>, %V: tensor<8x1xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>, %v = %V : tensor<8x1xf16>, %w = %W : tensor<16x16xf16>) grid {} loop {i = d_i} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<8x16xf16> -> !sgraph.tile<[8, 16/i] x f16>
    %2 = sgraph.load %v as V imap {} fmap {} : tensor<8x1xf16> -> !sgraph.tile<[8, 1] x f16>
    %3 = sgraph.load %w as W imap {} fmap {i -> 0} : tensor<16x16xf16> -> !sgraph.tile<[16/i, 16] x f16>
    %4 = sgraph.matmul %1, %3 : (!sgraph.tile<[8, 16/i] x f16>, !sgraph.tile<[16/i, 16] x f16>) -> !sgraph.tile<[8, 16] x f16>
    %5 = sgraph.accum %4 : !sgraph.tile<[8, 16] x f16> -> !sgraph.tile<[8, 16] x f16>
    %6 = sgraph.accum %2 : !sgraph.tile<[8, 1] x f16> -> !sgraph.tile<[8, 1] x f16>
    %7 = sgraph.div %5, %6 : (!sgraph.tile<[8, 16] x f16>, !sgraph.tile<[8, 1] x f16>) -> !sgraph.tile<[8, 16] x f16>
    sgraph.save %7 omap {} : !sgraph.tile<[8, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// Y has X's shape, and W is square: every shape fits, the divisor still does not move out.
// CHECK-LABEL: sgraph.program @full
// CHECK: sgraph.graph @moved_out {{.*}}verdict = #sgraph.verdict<refuted,
// ONLY-LABEL: sgraph.program @full
// ONLY-NOT: sgraph.graph @moved_out
sgraph.program @full(%X: tensor<16x16xf16>, %Y: tensor<16x16xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.div %X, %Y : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %1 = sgraph.matmul %0, %W : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  sgraph.return %1 as "o" : tensor<16x16xf16>
}
sgraph.graph @moved_out implements @full(%X: tensor<16x16xf16>, %Y: tensor<16x16xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<16x16xf16>, %y = %Y : tensor<16x16xf16>, %w = %W : tensor<16x16xf16>) grid {x = d_x} -> tensor<16x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<16x16xf16> -> !sgraph.tile<[16/x, 16] x f16>
    %2 = sgraph.load %y as Y imap {x -> 0} : tensor<16x16xf16> -> !sgraph.tile<[16/x, 16] x f16>
    %3 = sgraph.load %w as W imap {} : tensor<16x16xf16> -> !sgraph.tile<[16, 16] x f16>
    %4 = sgraph.matmul %1, %3 : (!sgraph.tile<[16/x, 16] x f16>, !sgraph.tile<[16, 16] x f16>) -> !sgraph.tile<[16/x, 16] x f16>
    %5 = sgraph.div %4, %2 : (!sgraph.tile<[16/x, 16] x f16>, !sgraph.tile<[16/x, 16] x f16>) -> !sgraph.tile<[16/x, 16] x f16>
    sgraph.save %5 omap {x -> 0} : !sgraph.tile<[16/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<16x16xf16>
}

// -----

// An accumulator in a loop that cuts nothing multiplies by the number of iterations; a grid dim nobody joins leaves blocks
// that disagree.
// CHECK-LABEL: sgraph.program @sum
// CHECK: sgraph.graph @idle_loop {{.*}}verdict = #sgraph.verdict<refuted,
// CHECK: sgraph.graph @blocks_disagree {{.*}}verdict = #sgraph.verdict<refuted, "blocks
sgraph.program @sum(%X: tensor<8x16xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
sgraph.graph @idle_loop implements @sum(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} fmap {} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8/x, 16] x f16> -> !sgraph.tile<[8/x, 1] x f16>
    %3 = sgraph.accum %2 : !sgraph.tile<[8/x, 1] x f16> -> !sgraph.tile<[8/x, 1] x f16>
    sgraph.save %3 omap {x -> 0} : !sgraph.tile<[8/x, 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}
sgraph.graph @blocks_disagree implements @sum(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap {x -> 1} : tensor<8x16xf16> -> !sgraph.tile<[8, 16/x] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8, 16/x] x f16> -> !sgraph.tile<[8, 1] x f16>
    sgraph.save %2 omap {} : !sgraph.tile<[8, 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}
