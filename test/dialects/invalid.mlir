// Every rule of the dialect's verifiers, broken once. Each error stands at the op at fault.
//
// RUN: prism-opt %s --split-input-file --verify-diagnostics

sgraph.program @p(%a: tensor<8x16xf16>, %b: tensor<8x4xf16>) {
  // expected-error @+1 {{'sgraph.matmul' op has a shape mismatch: matmul needs [.., m, k] x [.., k, n] with equal leading dims, got [8, 16] and [8, 4]}}
  %0 = sgraph.matmul %a, %b : (tensor<8x16xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
  sgraph.return %0 as "o" : tensor<8x4xf16>
}

// -----

sgraph.program @p(%a: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.sum' op has a shape mismatch: it computes [8, 1], its type says [8]}}
  %0 = sgraph.sum %a dim 1 : tensor<8x16xf16> -> tensor<8xf16>
  sgraph.return %0 as "o" : tensor<8xf16>
}

// -----

sgraph.program @p(%a: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.unary' op cannot be read: scalar function '__import__(x)' uses something other than arithmetic}}
  %0 = sgraph.unary %a "__import__(x)" : tensor<8x16xf16> -> tensor<8x16xf16>
  sgraph.return %0 as "o" : tensor<8x16xf16>
}

// -----

sgraph.program @p(%a: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.unary' op records a shift over dim 2 of a tensor of rank 2}}
  %0 = sgraph.unary %a "exp(x)" shift 2 : tensor<8x16xf16> -> tensor<8x16xf16>
  sgraph.return %0 as "o" : tensor<8x16xf16>
}

// -----

// expected-error @+1 {{'sgraph.program' op input 'a': element type i7 is not one of f16, bf16, f32, f64, i1, i8, i32, i64}}
sgraph.program @p(%a: tensor<8x16xi7>) {
  %0 = sgraph.unary %a "exp(x)" : tensor<8x16xi7> -> tensor<8x16xi7>
  sgraph.return %0 as "o" : tensor<8x16xi7> stored f16, shape [8, 16], strides [16, 1]
}

// -----

sgraph.program @p(%a: tensor<?x16xf16>) {
  // expected-error @+1 {{'sgraph.unary' op tensor<?x16xf16> has a dim without a size; sgraph needs every size}}
  %0 = sgraph.unary %a "exp(x)" : tensor<?x16xf16> -> tensor<?x16xf16>
  sgraph.return %0 as "o" : tensor<?x16xf16> stored f16, shape [8, 16], strides [16, 1]
}

// -----

// expected-error @+1 {{'sgraph.program' op input 'a' sees elements 0 to 127 of an argument of 64 elements}}
sgraph.program @p(%a: tensor<8x16xf16> view arg 0, shape [64], strides [16, 1], offset 0) {
  sgraph.return %a as "o" : tensor<8x16xf16>
}

// -----

// expected-error @+1 {{'sgraph.program' op input 'a' has rank 2 and 1 strides}}
sgraph.program @p(%a: tensor<8x16xf16> view arg 0, shape [128], strides [1], offset 0) {
  sgraph.return %a as "o" : tensor<8x16xf16>
}

// -----

// expected-error @+1 {{'sgraph.program' op input 'a' holds 2 bytes, its shape needs 4}}
sgraph.program @p(%a: tensor<2xf16> view data "0000", shape [2], strides [1], offset 0) {
  sgraph.return %a as "o" : tensor<2xf16>
}

// -----

// expected-error @+1 {{'sgraph.program' op input 'a' has a dim of size 0; nothing to compute}}
sgraph.program @p(%a: tensor<0x16xf16>) {
  sgraph.return %a as "o" : tensor<0x16xf16>
}

// -----

// expected-error @+1 {{'sgraph.program' op must end with sgraph.return}}
sgraph.program @p(%a: tensor<8x16xf16>) {
  %0 = sgraph.unary %a "exp(x)" : tensor<8x16xf16> -> tensor<8x16xf16>
}

// -----

sgraph.program @p(%a: tensor<8x16xf16>) {
  // expected-error @+1 {{'test.foreign' op is not allowed in a tensor program, which holds operators only}}
  "test.foreign"() : () -> ()
  sgraph.return %a as "o" : tensor<8x16xf16>
}

// -----

sgraph.program @p(%a: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.return' op result 'o' stores 128 elements in [8, 8]}}
  sgraph.return %a as "o" : tensor<8x16xf16> stored f16, shape [8, 8], strides [16, 1]
}

// -----

sgraph.program @p(%a: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.return' op result 'o' stores element 239 in a result of 128 elements}}
  sgraph.return %a as "o" : tensor<8x16xf16> stored f16, shape [8, 16], strides [32, 1]
}

// -----

sgraph.program @p(%a: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.return' op result 'o' has rank 2 and 1 strides}}
  sgraph.return %a as "o" : tensor<8x16xf16> stored f16, shape [8, 16], strides [1]
}

// -----

// Constraint (1) of the paper: a parallel dim partitions at most one data dim.

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op violates constraint (1): in the imap of X, x partitions dims 0 and 1; it may partition one}}
    %1 = sgraph.load %x as X imap {x -> 0, x -> 1} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16/x] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16/x] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// Constraint (2): a data dim is partitioned by at most one grid dim.

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x, y = d_y} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op violates constraint (2): in the imap of X, dim 0 is partitioned by x and y; one grid dim may}}
    %1 = sgraph.load %x as X imap {x -> 0, y -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/(x*y), 16] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/(x*y), 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// The grid and the loop may partition the same dim: no violation (paper, section 2).

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap {x -> 1} fmap {i -> 1} : tensor<8x16xf16> -> !sgraph.tile<[8, 16/(x*i)] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[8, 16/(x*i)] x f16> -> !sgraph.tile<[8, 1] x f16>
    %3 = sgraph.accum %2 : !sgraph.tile<[8, 1] x f16> -> !sgraph.tile<[8, 1] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[8, 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}

// -----

// An omap on a loop dim.

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} fmap {i -> 1} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16/i] x f16>
    // expected-error @+1 {{'sgraph.save' op omap names the loop dim i; an omap joins blocks of the grid, the loop ends in an accumulator}}
    sgraph.save %1 omap {x -> 0, i -> 1} : !sgraph.tile<[8/x, 16/i] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op imap of X names the loop dim i; an imap is over the grid, an fmap is over the loop}}
    %1 = sgraph.load %x as X imap {i -> 0} fmap {} : tensor<8x16xf16> -> !sgraph.tile<[8/i, 16] x f16>
    sgraph.save %1 omap {} : !sgraph.tile<[8/i, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op fmap of X names a grid dim x; an imap is over the grid, an fmap is over the loop}}
    %1 = sgraph.load %x as X imap {} fmap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %1 omap {} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// Undeclared symbols: a parallel dim in a map, a parallel dim in a type, a tensor in a type, a tensor in an equality.

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op uses an undeclared symbol: imap of X names q, declared are x, i}}
    %1 = sgraph.load %x as X imap {q -> 0} fmap {} : tensor<8x16xf16> -> !sgraph.tile<[8, 16] x f16>
    sgraph.save %1 omap {} : !sgraph.tile<[8, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op uses an undeclared symbol: its tile is cut along q, declared are x}}
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/q, 16] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/q, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op uses an undeclared symbol: sigma(Y,0) names no loaded tensor}}
    %1 = sgraph.load %x as X imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(Y,0), 16/sigma(X,1)] x f16>
    sgraph.save %1 omap m : !sgraph.tile<[8/sigma(Y,0), 16/sigma(X,1)] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op names sigma(X,2) of a tensor of rank 2}}
    %1 = sgraph.load %x as X imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,2), 16/sigma(X,1)] x f16>
    sgraph.save %1 omap m : !sgraph.tile<[8/sigma(X,2), 16/sigma(X,1)] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.custom' op uses an undeclared symbol: sigma(W,0) names no loaded tensor and no node}}
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} where [sigma(X,1) = sigma(W,0)] -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    sgraph.save %1 omap m : !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.custom' op sigma(X,2) names dim 2 of a tensor of rank 2}}
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} where [sigma(X,2) = sigma(X,0)] -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    sgraph.save %1 omap m : !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.custom' op has a shape mismatch: it equates a dim of size 8 with one of size 16}}
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} where [sigma(X,0) = sigma(X,1)] -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    sgraph.save %1 omap m : !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// An unused loader.

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op loads U and nothing uses it; drop the loader}}
    %u = sgraph.load %x as U imap {} : tensor<8x16xf16> -> !sgraph.tile<[8, 16] x f16>
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// Mixed stages: a tile of the loop body meets one from after the loop.

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} fmap {} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    %2 = sgraph.accum %1 : !sgraph.tile<[8/x, 16] x f16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.div' op has a stage mismatch: block node 2 mixes a tile of the loop body with one that exists after the loop}}
    %3 = sgraph.div %1, %2 : (!sgraph.tile<[8/x, 16] x f16>, !sgraph.tile<[8/x, 16] x f16>) -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %3 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} fmap {} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.save' op has a stage mismatch: block node 0 is saved inside the loop; accumulate it first}}
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.accum' op has a stage mismatch: block node 1 accumulates a tile that does not change in the loop}}
    %2 = sgraph.accum %1 : !sgraph.tile<[8/x, 16] x f16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op has an fmap for X in a block graph without loop; declare one, or drop the fmap}}
    %1 = sgraph.load %x as X imap {x -> 0} fmap {} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// Mappings whose tiles do not fit together for all sizes (paper, section 3.2).

sgraph.graph @g(%X: tensor<8x16xf16>, %W: tensor<16x4xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>, %w = %W : tensor<16x4xf16>) grid {x = d_x} -> tensor<8x4xf16> {
    %1 = sgraph.load %x as X imap {x -> 1} : tensor<8x16xf16> -> !sgraph.tile<[8, 16/x] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<16x4xf16> -> !sgraph.tile<[16, 4] x f16>
    // expected-error @+1 {{'sgraph.matmul' op has a mapping mismatch: node 2 (matmul): {x} and {} must be cut alike}}
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[8, 16/x] x f16>, !sgraph.tile<[16, 4] x f16>) -> !sgraph.tile<[8, 4] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[8, 4] x f16>
  }
  sgraph.yield %0 : tensor<8x4xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.save' op has a mapping mismatch: output 0: its omap joins {} and {x}, its tiles are cut as {x} and {}}}
    sgraph.save %1 omap {x -> 1} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x1xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x1xf16>) grid {x = d_x} -> tensor<8x1xf16> {
    // expected-error @+1 {{'sgraph.load' op has a mapping mismatch: load 0: dim 1 has size 1 and cannot be partitioned along {x}}}
    %1 = sgraph.load %x as X imap {x -> 1} : tensor<8x1xf16> -> !sgraph.tile<[8, 1/x] x f16>
    sgraph.save %1 omap {x -> 1} : !sgraph.tile<[8, 1/x] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op imap of X names data dim 2 of a tensor of rank 2}}
    %1 = sgraph.load %x as X imap {x -> 2} : tensor<8x16xf16> -> !sgraph.tile<[8, 16] x f16>
    sgraph.save %1 omap {} : !sgraph.tile<[8, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    // expected-error @+1 {{'sgraph.save' op has a chosen map while other maps of this block graph are symbols; choose all or none}}
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// Types of tiles that are not what the maps and operators make of them.

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op has a shape mismatch: its tile is !sgraph.tile<[8/x, 16] x f16>, its type says !sgraph.tile<[8, 16/x] x f16>}}
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8, 16/x] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8, 16/x] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<16x8xf16> {
    %1 = sgraph.load %x as X imap m : tensor<8x16xf16> -> !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16>
    // expected-error @+1 {{'sgraph.transpose' op has a shape mismatch: its tile is !sgraph.tile<[16/sigma(X,1), 8/sigma(X,0)] x f16>, its type says !sgraph.tile<[16/sigma(X,0), 8/sigma(X,1)] x f16>}}
    %2 = sgraph.transpose %1 perm [1, 0] : !sgraph.tile<[8/sigma(X,0), 16/sigma(X,1)] x f16> -> !sgraph.tile<[16/sigma(X,0), 8/sigma(X,1)] x f16>
    sgraph.save %2 omap m : !sgraph.tile<[16/sigma(X,0), 8/sigma(X,1)] x f16>
  }
  sgraph.yield %0 : tensor<16x8xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op has a shape mismatch: its tensor is [8, 16], its type says [8, 8]}}
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 8] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 8] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.load' op loads f16 as f32; a load does not convert}}
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f32>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f32>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<16x8xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.save' op has a shape mismatch: it saves [8, 16], the result's type says [16, 8]}}
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<16x8xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {i = d_i} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} fmap {} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.accum' op has a shape mismatch: it accumulates [8, 16], its type says [8, 1]}}
    %2 = sgraph.accum %1 : !sgraph.tile<[8/x, 16] x f16> -> !sgraph.tile<[8/x, 1] x f16>
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[8/x, 1] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// The rest of what a block graph and a kernel graph must be.

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.custom' op declares parallel dim x twice}}
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} loop {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.custom' op declares 0 parts along x, it must be at least 1}}
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = 0} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.load' op names its tensor X, as an earlier load does; give it its own name}}
    %2 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    %3 = sgraph.add %1, %2 : (!sgraph.tile<[8/x, 16] x f16>, !sgraph.tile<[8/x, 16] x f16>) -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %3 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.custom' op saves nothing}}
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.custom' op has 2 results and saves 1 tiles; the k-th save is result k}}
  %0:2 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> (tensor<8x16xf16>, tensor<8x16xf16>) {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0#0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'sgraph.unary' op works on a whole tensor inside a block graph; load a tile of it first}}
    %1 = sgraph.unary %x "exp(x)" : tensor<8x16xf16> -> tensor<8x16xf16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.constant' op works on a tile outside of a block graph; tiles exist only inside sgraph.custom}}
  %0 = sgraph.constant 1.0 : f64 : !sgraph.tile<[8, 16] x f16>
  sgraph.yield %X : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    // expected-error @+1 {{'test.foreign' op is not allowed in a block graph}}
    %1 = "test.foreign"() : () -> !sgraph.tile<[8, 16] x f16>
    sgraph.save %1 omap {} : !sgraph.tile<[8, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.unary' op records a shift on a tile; a shift belongs to the program}}
    %2 = sgraph.unary %1 "exp(x)" shift 1 : !sgraph.tile<[8/x, 16] x f16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'test.foreign' op is not allowed in a kernel graph, which holds library operators and sgraph.custom}}
  %0 = "test.foreign"() : () -> tensor<8x16xf16>
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

// expected-error @+1 {{'sgraph.graph' op must end with sgraph.yield}}
sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<8x16xf16> -> tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.yield' op names no result}}
  sgraph.yield
}

// -----

// expected-error @+1 {{'sgraph.graph' op implements @nothing, which names no sgraph.program}}
sgraph.graph @g implements @nothing(%X: tensor<8x16xf16>) {
  sgraph.yield %X : tensor<8x16xf16>
}

// -----

sgraph.program @p(%X: tensor<8x16xf16>) {
  sgraph.return %X as "o" : tensor<8x16xf16>
}
// expected-error @+1 {{'sgraph.graph' op takes other types than @p, the program it implements}}
sgraph.graph @g implements @p(%X: tensor<16x8xf16>) {
  sgraph.yield %X : tensor<16x8xf16>
}

// -----

sgraph.program @p(%X: tensor<8x16xf16>) {
  sgraph.return %X as "o" : tensor<8x16xf16>
}
sgraph.graph @g implements @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  // expected-error @+1 {{'sgraph.yield' op has a shape mismatch: @p returns [[8, 16]], its type says [[8, 1]]}}
  sgraph.yield %0 : tensor<8x1xf16>
}

// -----

// expected-error @+1 {{'sgraph.graph' op declares x = 4, its schedule says 2}}
sgraph.graph @g(%X: tensor<8x16xf16>) attributes {schedule = #sgraph.schedule<{x = 2}, warps 4, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = 4} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = 4} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %1 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  // expected-error @+1 {{'sgraph.custom' op declares another size for x than an earlier kernel; kernels that name a dim share it}}
  %2 = sgraph.custom(%x = %0 : tensor<8x16xf16>) grid {x = 2} -> tensor<8x16xf16> {
    %3 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    sgraph.save %3 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %2 : tensor<8x16xf16>
}

// -----

// expected-error @+1 {{'sgraph.graph' op "yes" should be of base attribute sgraph.verdict}}
sgraph.graph @g(%X: tensor<8x16xf16>) attributes {verdict = "yes"} {
  sgraph.yield %X : tensor<8x16xf16>
}

// -----

// Thread graphs.

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x1xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    %2 = sgraph.thread(%t = %1 : !sgraph.tile<[8/x, 16] x f16>) -> !sgraph.tile<[8/x, 1] x f16> {
      // expected-error @+1 {{'sgraph.sum' op is not elementwise; a thread graph holds elementwise operators only}}
      %3 = sgraph.sum %t dim 1 : !sgraph.tile<[8/x, 16] x f16> -> !sgraph.tile<[8/x, 1] x f16>
      sgraph.yield %3 : !sgraph.tile<[8/x, 1] x f16>
    }
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[8/x, 1] x f16>
  }
  sgraph.yield %0 : tensor<8x1xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.thread' op has results of other types than its region yields}}
    %2 = sgraph.thread(%t = %1 : !sgraph.tile<[8/x, 16] x f16>) -> !sgraph.tile<[8, 16/x] x f16> {
      sgraph.yield %t : !sgraph.tile<[8/x, 16] x f16>
    }
    sgraph.save %2 omap {x -> 1} : !sgraph.tile<[8, 16/x] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}

// -----

sgraph.graph @g(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf16> -> !sgraph.tile<[8/x, 16] x f16>
    // expected-error @+1 {{'sgraph.thread' op must end with sgraph.yield}}
    %2 = sgraph.thread(%t = %1 : !sgraph.tile<[8/x, 16] x f16>) -> !sgraph.tile<[8/x, 16] x f16> {
      %3 = sgraph.unary %t "exp(x)" : !sgraph.tile<[8/x, 16] x f16> -> !sgraph.tile<[8/x, 16] x f16>
    }
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}
