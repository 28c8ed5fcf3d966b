// Syntax errors of every parser of the dialect, each with its place.
//
// RUN: prism-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{a program's argument is a tensor, not f16}}
sgraph.program @p(%a: f16) {
  sgraph.return %a as "o" : f16
}

// -----

sgraph.program @p(%a: tensor<8xf16>) {
  // expected-error @+1 {{and the result's name}}
  sgraph.return %a : tensor<8xf16>
}

// -----

// expected-error @+1 {{data wants bytes in hex}}
sgraph.program @p(%a: tensor<1xf16> view data "xyz", shape [1], strides [1], offset 0) {
  sgraph.return %a as "o" : tensor<1xf16>
}

// -----

sgraph.program @p(%a: tensor<8xf16>) {
  // expected-error @+1 {{element type is one of f16, bf16, f32, f64, i1, i8, i32, i64}}
  sgraph.return %a as "o" : tensor<8xf16> stored i4, shape [8], strides [1]
}

// -----

sgraph.graph @g(%X: tensor<8xf16>) {
  // expected-error @+1 {{the size of x is a number or the symbol d_x}}
  %0 = sgraph.custom(%x = %X : tensor<8xf16>) grid {x = d_y} -> tensor<8xf16> {
  }
  sgraph.yield %0 : tensor<8xf16>
}

// -----

sgraph.graph @g(%X: tensor<8xf16>) {
  // expected-error @+1 {{a block graph has at most one loop dim}}
  %0 = sgraph.custom(%x = %X : tensor<8xf16>) grid {x = 4} loop {i = 2, j = 2} -> tensor<8xf16> {
  }
  sgraph.yield %0 : tensor<8xf16>
}

// -----

sgraph.graph @g(%X: tensor<8xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8xf16>) grid {x = 4} -> tensor<8xf16> {
    // expected-error @+1 {{a load gives a !sgraph.tile}}
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8xf16> -> tensor<8xf16>
  }
  sgraph.yield %0 : tensor<8xf16>
}

// -----

sgraph.graph @g(%X: tensor<8xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8xf16>) grid {x = 4} -> tensor<8xf16> {
    // expected-error @+1 {{'{' expected in a map, or m}}
    %1 = sgraph.load %x as X imap x -> 0 : tensor<8xf16> -> !sgraph.tile<[8/x] x f16>
  }
  sgraph.yield %0 : tensor<8xf16>
}

// -----

sgraph.graph @g(%X: tensor<8xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8xf16>) grid {x = 4} -> tensor<8xf16> {
    // expected-error @+1 {{sigma(T,d) or a parallel dim}}
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8xf16> -> !sgraph.tile<[8/4] x f16>
  }
  sgraph.yield %0 : tensor<8xf16>
}

// -----

sgraph.graph @g(%X: tensor<8xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8xf16>) grid {x = 4} -> tensor<8xf16> {
    // expected-error @+1 {{element type i3 is not one of f16}}
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8xf16> -> !sgraph.tile<[8/x] x i3>
  }
  sgraph.yield %0 : tensor<8xf16>
}

// -----

sgraph.graph @g(%X: tensor<8xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8xf16>) grid {x = 4} -> tensor<8xf16> {
    // expected-error @+1 {{a tile's dim has size 0, it must be positive}}
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8xf16> -> !sgraph.tile<[0] x f16>
  }
  sgraph.yield %0 : tensor<8xf16>
}

// -----

// expected-error @+1 {{a schedule gives every parallel dim a number, x has none}}
sgraph.graph @g(%X: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{x = d_x}, warps 4, stages 2>} {
  sgraph.yield %X : tensor<8xf16>
}

// -----

// expected-error @+1 {{Expected one of 'sideways', 'upright'}}
sgraph.graph @g(%X: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{}, warps 4, stages 2, orientation slanted>} {
  sgraph.yield %X : tensor<8xf16>
}

// -----

// expected-error @+1 {{Expected 'residency'}}
sgraph.graph @g(%X: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{}, warps 4, stages 2, orientation upright, blocks 2>} {
  sgraph.yield %X : tensor<8xf16>
}

// -----

// expected-error @+1 {{a schedule asks for 1 resident block or more}}
sgraph.graph @g(%X: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{}, warps 4, stages 2, residency 0>} {
  sgraph.yield %X : tensor<8xf16>
}

// -----

// expected-error @+1 {{Expected one of 'proved', 'refuted', 'unknown'}}
sgraph.graph @g(%X: tensor<8xf16>) attributes {verdict = #sgraph.verdict<maybe>} {
  sgraph.yield %X : tensor<8xf16>
}

// -----

sgraph.graph @g(%X: tensor<8xf16>) {
  // expected-error @+1 {{between a region's argument and the operand it stands for}}
  %0 = sgraph.custom(%X : tensor<8xf16>) grid {x = 4} -> tensor<8xf16> {
  }
  sgraph.yield %0 : tensor<8xf16>
}

// -----

sgraph.program @p(%a: tensor<8xf16>) {
  // expected-error @+1 {{operand is used with type tensor<4xf16>, but has been previously used or defined with type tensor<8xf16>}}
  %0 = sgraph.unary %a "exp(x)" : tensor<4xf16> -> tensor<4xf16>
  sgraph.return %0 as "o" : tensor<4xf16>
}

// -----

sgraph.program @p(%a: tensor<8xf16>) {
  sgraph.return %undefined as "o" : tensor<8xf16>
}
// expected-error @+1 {{values used but not defined: [%undefined]}}
