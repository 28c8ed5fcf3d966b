// Rules that only generic form can break, and files that mix generic form with custom syntax.
//
// RUN: prism-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'sgraph.program' op describes 0 inputs and has 1 arguments}}
"sgraph.program"() <{inputs = [], sym_name = "p"}> ({
^bb0(%a: tensor<8xf16>):
  "sgraph.return"(%a) <{outputs = [#sgraph.output<"o", f16, shape [8], strides [1]>]}> : (tensor<8xf16>) -> ()
}) : () -> ()

// -----

"sgraph.program"() <{inputs = [#sgraph.input<"a", arg 0, shape [8], strides [1], offset 0>], sym_name = "p"}> ({
^bb0(%a: tensor<8xf16>):
  // expected-error @+1 {{'sgraph.return' op returns 1 values and describes 0; one each, at least one}}
  "sgraph.return"(%a) <{outputs = []}> : (tensor<8xf16>) -> ()
}) : () -> ()

// -----

"sgraph.graph"() <{sym_name = "g"}> ({
^bb0(%X: tensor<8x16xf16>):
  // expected-error @+1 {{'sgraph.custom' op passes tensors of other types than its block graph takes}}
  %0 = "sgraph.custom"(%X) <{grid = #sgraph.dims<{x = d_x}>}> ({
  ^bb0(%x: tensor<8x8xf16>):
    %1 = "sgraph.load"(%x) <{imap = #sgraph.map<{x -> 0}>, tensor = "X"}> : (tensor<8x8xf16>) -> !sgraph.tile<[8/x, 8] x f16>
    "sgraph.save"(%1) <{omap = #sgraph.map<{x -> 0}>}> : (!sgraph.tile<[8/x, 8] x f16>) -> ()
  }) : (tensor<8x16xf16>) -> tensor<8x8xf16>
  "sgraph.yield"(%0) : (tensor<8x8xf16>) -> ()
}) : () -> ()

// -----

"sgraph.graph"() <{sym_name = "g"}> ({
^bb0(%X: tensor<8x16xf16>):
  // expected-error @+1 {{'sgraph.custom' op declares 2 loop dims; a block graph has one, or no loop clause}}
  %0 = "sgraph.custom"(%X) <{grid = #sgraph.dims<{}>, loop = #sgraph.dims<{i = d_i, j = d_j}>}> ({
  ^bb0(%x: tensor<8x16xf16>):
    %1 = "sgraph.load"(%x) <{imap = #sgraph.map<{}>, tensor = "X"}> : (tensor<8x16xf16>) -> !sgraph.tile<[8, 16] x f16>
    "sgraph.save"(%1) <{omap = #sgraph.map<{}>}> : (!sgraph.tile<[8, 16] x f16>) -> ()
  }) : (tensor<8x16xf16>) -> tensor<8x16xf16>
  "sgraph.yield"(%0) : (tensor<8x16xf16>) -> ()
}) : () -> ()

// -----

"sgraph.graph"() <{sym_name = "g"}> ({
^bb0(%X: tensor<8x16xf16>):
  %0 = "sgraph.custom"(%X) <{grid = #sgraph.dims<{}>, loop = #sgraph.dims<{i = d_i}>}> ({
  ^bb0(%x: tensor<8x16xf16>):
    %1 = "sgraph.load"(%x) <{fmap = #sgraph.map<{}>, imap = #sgraph.map<{}>, tensor = "X"}> : (tensor<8x16xf16>) -> !sgraph.tile<[8, 16] x f16>
    // expected-error @+1 {{'sgraph.accum' op combines by 'product'; known are sum, max, min}}
    %2 = "sgraph.accum"(%1) <{monoid = "product"}> : (!sgraph.tile<[8, 16] x f16>) -> !sgraph.tile<[8, 16] x f16>
    "sgraph.save"(%2) <{omap = #sgraph.map<{}>}> : (!sgraph.tile<[8, 16] x f16>) -> ()
  }) : (tensor<8x16xf16>) -> tensor<8x16xf16>
  "sgraph.yield"(%0) : (tensor<8x16xf16>) -> ()
}) : () -> ()

// -----

"sgraph.graph"() <{sym_name = "g"}> ({
^bb0(%X: tensor<8x16xf16>):
  %0 = "sgraph.custom"(%X) <{grid = #sgraph.dims<{}>}> ({
  ^bb0(%x: tensor<8x16xf16>):
    %1 = "sgraph.load"(%x) <{imap = #sgraph.map<{}>, tensor = "X"}> : (tensor<8x16xf16>) -> !sgraph.tile<[8, 16] x f16>
    // expected-error @+1 {{'sgraph.thread' op passes tiles of other types than its region takes}}
    %2 = "sgraph.thread"(%1) ({
    ^bb1(%t: !sgraph.tile<[8, 8] x f16>):
      "sgraph.yield"(%t) : (!sgraph.tile<[8, 8] x f16>) -> ()
    }) : (!sgraph.tile<[8, 16] x f16>) -> !sgraph.tile<[8, 8] x f16>
    "sgraph.save"(%2) <{omap = #sgraph.map<{}>}> : (!sgraph.tile<[8, 8] x f16>) -> ()
  }) : (tensor<8x16xf16>) -> tensor<8x8xf16>
  "sgraph.yield"(%0) : (tensor<8x8xf16>) -> ()
}) : () -> ()

// -----

// A load that is no part of a block graph, and a yield that ends nothing.

%x = "test.tensor"() : () -> tensor<8xf16>
// expected-error @+1 {{'sgraph.load' expects parent op 'sgraph.custom'}}
%0 = "sgraph.load"(%x) <{imap = #sgraph.map<{}>, tensor = "X"}> : (tensor<8xf16>) -> !sgraph.tile<[8] x f16>

// -----

func.func @f(%a: tensor<8xf16>) {
  // expected-error @+1 {{'sgraph.yield' op ends a kernel graph or a thread graph only}}
  "sgraph.yield"(%a) : (tensor<8xf16>) -> ()
}

// -----

// Upstream's ops are checked by upstream, ours by us, in one file.

func.func @f(%a: tensor<8x16xf16>, %b: tensor<8x4xf16>) -> tensor<8x4xf16> {
  %e = tensor.empty() : tensor<8x4xf16>
  // expected-error @+1 {{inferred input/output operand #1 has shape's dimension #0 to be 16, but found 8}}
  %0 = linalg.matmul ins(%a, %b : tensor<8x16xf16>, tensor<8x4xf16>) outs(%e : tensor<8x4xf16>) -> tensor<8x4xf16>
  return %0 : tensor<8x4xf16>
}

// -----

func.func @f(%a: tensor<8x16xf16>) -> tensor<8x16xf16> {
  return %a : tensor<8x16xf16>
}
sgraph.program @p(%a: tensor<8x16xf16>) {
  // expected-error @+1 {{'sgraph.sum' op has a shape mismatch: sum needs a dim between 0 and 1, got 2}}
  %0 = sgraph.sum %a dim 2 : tensor<8x16xf16> -> tensor<8x16xf16>
  sgraph.return %0 as "o" : tensor<8x16xf16>
}
