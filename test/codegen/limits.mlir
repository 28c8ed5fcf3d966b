// What no kernel can be made of, and what the message says to do.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file --verify-diagnostics

// Three copies of X's 64x256 and of W's 256x64 f16, 3 * 2 * 32768 = 196608 bytes; a block can have 163 * 1024 = 166912.
sgraph.program @p(%X: tensor<64x1024xf16>, %W: tensor<1024x64xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<64x1024xf16>, tensor<1024x64xf16>) -> tensor<64x64xf16>
  sgraph.return %0 as "o" : tensor<64x64xf16>
}
// expected-error @+1 {{a block needs 196608 bytes of shared memory, the limit is 166912}}
sgraph.graph @memory implements @p(%X: tensor<64x1024xf16>, %W: tensor<1024x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 1}, warps 4, stages 3>} {
  %0 = sgraph.custom(%x = %X : tensor<64x1024xf16>, %w = %W : tensor<1024x64xf16>) grid {x = 1} loop {i = 4} -> tensor<64x64xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<64x1024xf16> -> !sgraph.tile<[64, 1024/i] x f16>
    %2 = sgraph.load %w as W imap {} fmap {i -> 0} : tensor<1024x64xf16> -> !sgraph.tile<[1024/i, 64] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[64, 1024/i] x f16>, !sgraph.tile<[1024/i, 64] x f16>) -> !sgraph.tile<[64, 64] x f16>
    %4 = sgraph.accum %3 : !sgraph.tile<[64, 64] x f16> -> !sgraph.tile<[64, 64] x f16>
    sgraph.save %4 omap {} : !sgraph.tile<[64, 64] x f16>
  }
  sgraph.yield %0 : tensor<64x64xf16>
}

// -----

// 128x256 results for 128 threads are 256 registers each.
sgraph.program @p(%X: tensor<128x64xf16>, %W: tensor<64x256xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<128x64xf16>, tensor<64x256xf16>) -> tensor<128x256xf16>
  sgraph.return %0 as "o" : tensor<128x256xf16>
}
// expected-error @+1 {{a thread would hold 256 accumulators, more than 160}}
sgraph.graph @registers implements @p(%X: tensor<128x64xf16>, %W: tensor<64x256xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 1}, warps 4, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<128x64xf16>, %w = %W : tensor<64x256xf16>) grid {x = 1} loop {i = 4} -> tensor<128x256xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<128x64xf16> -> !sgraph.tile<[128, 64/i] x f16>
    %2 = sgraph.load %w as W imap {} fmap {i -> 0} : tensor<64x256xf16> -> !sgraph.tile<[64/i, 256] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[128, 64/i] x f16>, !sgraph.tile<[64/i, 256] x f16>) -> !sgraph.tile<[128, 256] x f16>
    %4 = sgraph.accum %3 : !sgraph.tile<[128, 256] x f16> -> !sgraph.tile<[128, 256] x f16>
    sgraph.save %4 omap {} : !sgraph.tile<[128, 256] x f16>
  }
  sgraph.yield %0 : tensor<128x256xf16>
}

// -----

sgraph.program @p(%X: tensor<64x64xf16>, %W: tensor<64x64xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  sgraph.return %0 as "o" : tensor<64x64xf16>
}
// expected-error @+1 {{33 warps a block, the limits are 1 and 32}}
sgraph.graph @warps implements @p(%X: tensor<64x64xf16>, %W: tensor<64x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 1}, warps 33, stages 2>} {
  %0 = sgraph.custom(%x = %X : tensor<64x64xf16>, %w = %W : tensor<64x64xf16>) grid {x = 1} loop {i = 4} -> tensor<64x64xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<64x64xf16> -> !sgraph.tile<[64, 64/i] x f16>
    %2 = sgraph.load %w as W imap {} fmap {i -> 0} : tensor<64x64xf16> -> !sgraph.tile<[64/i, 64] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[64, 64/i] x f16>, !sgraph.tile<[64/i, 64] x f16>) -> !sgraph.tile<[64, 64] x f16>
    %4 = sgraph.accum %3 : !sgraph.tile<[64, 64] x f16> -> !sgraph.tile<[64, 64] x f16>
    sgraph.save %4 omap {} : !sgraph.tile<[64, 64] x f16>
  }
  sgraph.yield %0 : tensor<64x64xf16>
}

// -----

sgraph.program @p(%X: tensor<64x64xf16>, %W: tensor<64x64xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  sgraph.return %0 as "o" : tensor<64x64xf16>
}
// expected-error @+1 {{9 pipeline stages, the limits are 1 and 8}}
sgraph.graph @stages implements @p(%X: tensor<64x64xf16>, %W: tensor<64x64xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{i = 4, x = 1}, warps 4, stages 9>} {
  %0 = sgraph.custom(%x = %X : tensor<64x64xf16>, %w = %W : tensor<64x64xf16>) grid {x = 1} loop {i = 4} -> tensor<64x64xf16> {
    %1 = sgraph.load %x as X imap {} fmap {i -> 1} : tensor<64x64xf16> -> !sgraph.tile<[64, 64/i] x f16>
    %2 = sgraph.load %w as W imap {} fmap {i -> 0} : tensor<64x64xf16> -> !sgraph.tile<[64/i, 64] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[64, 64/i] x f16>, !sgraph.tile<[64/i, 64] x f16>) -> !sgraph.tile<[64, 64] x f16>
    %4 = sgraph.accum %3 : !sgraph.tile<[64, 64] x f16> -> !sgraph.tile<[64, 64] x f16>
    sgraph.save %4 omap {} : !sgraph.tile<[64, 64] x f16>
  }
  sgraph.yield %0 : tensor<64x64xf16>
}
