// Every op of the dialect, in custom syntax.
//
// RUN: prism-opt %s | FileCheck %s
// RUN: prism-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// GENERIC: "sgraph.program"() <{{.*}}sym_name = "operators"
// GENERIC: "sgraph.unary"(%{{.*}}) <{fn = "exp(x)", shift = 1 : i64}>
// GENERIC: "sgraph.transpose"(%{{.*}}) <{perm = array<i64: 1, 0>}>
// GENERIC: #sgraph.output<"second", f32, shape [16, 8], strides [4, 1, 16]>
// GENERIC: #sgraph.input<"rows", arg 1, shape [64, 8], strides [0, 1], offset 16>
// GENERIC: "sgraph.custom"(%{{.*}}) <{{.*}}grid = #sgraph.dims<{x = 2, y = 4}>
// GENERIC: "sgraph.load"(%{{.*}}) <{tensor = "A", imap = #sgraph.map<{x -> 0, y -> 1}>}> : (tensor<16x64xf16>) -> !sgraph.tile<[16/x, 64/y] x f16>
// GENERIC: equalities = #sgraph.equalities<[sigma("W 1",1) = sigma(0,1)]>
// GENERIC: "sgraph.accum"(%{{.*}}) <{monoid = "max"}>

// CHECK-LABEL: sgraph.program @operators(%a: tensor<8x16xf16>, %b: tensor<16x4xf16>, %c: tensor<8x16xf16>) {
sgraph.program @operators(%a: tensor<8x16xf16>, %b: tensor<16x4xf16>, %c: tensor<8x16xf16>) {
  // CHECK: sgraph.matmul %a, %b : (tensor<8x16xf16>, tensor<16x4xf16>) -> tensor<8x4xf16>
  %0 = sgraph.matmul %a, %b : (tensor<8x16xf16>, tensor<16x4xf16>) -> tensor<8x4xf16>
  // CHECK: sgraph.add %a, %c :
  %1 = sgraph.add %a, %c : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16>
  // CHECK: sgraph.sub
  %2 = sgraph.sub %1, %a : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16>
  // CHECK: sgraph.mul
  %3 = sgraph.mul %2, %a : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf32>
  // CHECK: sgraph.unary %{{.*}} "exp(x)" shift 1 : tensor<8x16xf32> -> tensor<8x16xf32>
  %4 = sgraph.unary %3 "exp(x)" shift 1 : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: sgraph.sum %{{.*}} dim 1 : tensor<8x16xf32> -> tensor<8x1xf32>
  %5 = sgraph.sum %4 dim 1 : tensor<8x16xf32> -> tensor<8x1xf32>
  // CHECK: sgraph.div
  %6 = sgraph.div %4, %5 : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  // CHECK: sgraph.reduce_max %{{.*}} dim 0
  %7 = sgraph.reduce_max %6 dim 0 : tensor<8x16xf32> -> tensor<1x16xf32>
  // CHECK: sgraph.max
  %8 = sgraph.max %6, %7 : (tensor<8x16xf32>, tensor<1x16xf32>) -> tensor<8x16xf32>
  // CHECK: sgraph.min
  %9 = sgraph.min %8, %6 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: sgraph.reduce_min %{{.*}} dim 0
  %14 = sgraph.reduce_min %6 dim 0 : tensor<8x16xf32> -> tensor<1x16xf32>
  // CHECK: sgraph.keep %{{.*}}, %{{.*}} else 0xfff0000000000000 : f64 : (tensor<1x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %15 = sgraph.keep %14, %8 else 0xfff0000000000000 : f64 : (tensor<1x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: sgraph.transpose %{{.*}} perm [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  %10 = sgraph.transpose %9 perm [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  // CHECK: sgraph.reshape %{{.*}} : tensor<16x8xf32> -> tensor<4x4x8xf32>
  %11 = sgraph.reshape %10 : tensor<16x8xf32> -> tensor<4x4x8xf32>
  // CHECK: sgraph.constant 5.000000e-01 : f64 : tensor<4x4x8xf32>
  %12 = sgraph.constant 5.000000e-01 : f64 : tensor<4x4x8xf32>
  %13 = sgraph.mul %11, %12 : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xbf16>
  // CHECK: sgraph.return %{{.*}} as "first" : tensor<8x4xf16>, %{{.*}} as "second" : tensor<4x4x8xbf16> stored f32, shape [16, 8], strides [4, 1, 16]
  sgraph.return %0 as "first" : tensor<8x4xf16>, %13 as "second" : tensor<4x4x8xbf16> stored f32, shape [16, 8], strides [4, 1, 16]
}

// Views of arguments, a repeated argument, a constant, and names that are no identifiers.
// CHECK-LABEL: sgraph.program @"two words"(
// CHECK-SAME: %q: tensor<16x8xf16> as "a name",
// CHECK-SAME: %k: tensor<8x64xf16> view arg 1, shape [64, 8], strides [1, 8], offset 0,
// CHECK-SAME: %k_1: tensor<2x8xf16> as "rows" view arg 1, shape [64, 8], strides [0, 1], offset 16,
// CHECK-SAME: %c: tensor<2xf32> view data "000080bf0000003f", shape [2], strides [1], offset 0)
sgraph.program @"two words"(%q: tensor<16x8xf16> as "a name", %k: tensor<8x64xf16> view arg 1, shape [64, 8], strides [1, 8], offset 0, %k_1: tensor<2x8xf16> as "rows" view arg 1, shape [64, 8], strides [0, 1], offset 16, %c: tensor<2xf32> view data "000080bf0000003f", shape [2], strides [1], offset 0) {
  %0 = sgraph.matmul %q, %k : (tensor<16x8xf16>, tensor<8x64xf16>) -> tensor<16x64xf16>
  sgraph.return %0 as "o" : tensor<16x64xf16>
}

// Schedules that ask for more than sizes, warps and stages.
// CHECK-LABEL: sgraph.graph @turned(%x: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{}, warps 2, stages 1, orientation sideways, residency 3>}
sgraph.graph @turned(%x: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{}, warps 2, stages 1, orientation sideways, residency 3>} {
  %0 = sgraph.unary %x "exp(x)" : tensor<8xf16> -> tensor<8xf16>
  sgraph.yield %0 : tensor<8xf16>
}

// CHECK-LABEL: sgraph.graph @upright(%x: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{}, warps 2, stages 1, orientation upright>}
sgraph.graph @upright(%x: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{}, warps 2, stages 1, orientation upright>} {
  %0 = sgraph.unary %x "exp(x)" : tensor<8xf16> -> tensor<8xf16>
  sgraph.yield %0 : tensor<8xf16>
}

// CHECK-LABEL: sgraph.graph @resident(%x: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{}, warps 2, stages 1, residency 2>}
sgraph.graph @resident(%x: tensor<8xf16>) attributes {schedule = #sgraph.schedule<{}, warps 2, stages 1, residency 2>} {
  %0 = sgraph.unary %x "exp(x)" : tensor<8xf16> -> tensor<8xf16>
  sgraph.yield %0 : tensor<8xf16>
}

// A kernel graph with a library operator, two kernels that share a dim, an invariant load, a maximum, a thread graph.
// CHECK-LABEL: sgraph.graph @levels(%x: tensor<16x64xf16>) attributes {verdict = #sgraph.verdict<unknown, "no \22luck\22">, schedule = #sgraph.schedule<{x = 2, y = 4}, warps 4, stages 1>, cost = 2.500000e-06 : f64}
sgraph.graph @levels(%x: tensor<16x64xf16>) attributes {verdict = #sgraph.verdict<unknown, "no \22luck\22">, schedule = #sgraph.schedule<{x = 2, y = 4}, warps 4, stages 1>, cost = 2.500000e-06 : f64} {
  %0 = sgraph.unary %x "exp(x)" : tensor<16x64xf16> -> tensor<16x64xf16>
  // CHECK: %{{.*}}, %{{.*}} = sgraph.custom(%a = %{{.*}} : tensor<16x64xf16>) grid {x = 2, y = 4} -> (tensor<16x64xf16>, tensor<16x64xf16>) {
  %1:2 = sgraph.custom(%a = %0 : tensor<16x64xf16>) grid {x = 2, y = 4} -> (tensor<16x64xf16>, tensor<16x64xf16>) {
    // CHECK: sgraph.load %a as A imap {x -> 0, y -> 1} : tensor<16x64xf16> -> !sgraph.tile<[16/x, 64/y] x f16>
    %2 = sgraph.load %a as A imap {x -> 0, y -> 1} : tensor<16x64xf16> -> !sgraph.tile<[16/x, 64/y] x f16>
    // CHECK: sgraph.thread(%u = %{{.*}} : !sgraph.tile<[16/x, 64/y] x f16>) -> !sgraph.tile<[16/x, 64/y] x f16> {
    %3 = sgraph.thread(%u = %2 : !sgraph.tile<[16/x, 64/y] x f16>) -> !sgraph.tile<[16/x, 64/y] x f16> {
      %4 = sgraph.unary %u "x**2" : !sgraph.tile<[16/x, 64/y] x f16> -> !sgraph.tile<[16/x, 64/y] x f16>
      %5 = sgraph.add %4, %u : (!sgraph.tile<[16/x, 64/y] x f16>, !sgraph.tile<[16/x, 64/y] x f16>) -> !sgraph.tile<[16/x, 64/y] x f16>
      // CHECK: sgraph.yield %{{.*}} : !sgraph.tile<[16/x, 64/y] x f16>
      sgraph.yield %5 : !sgraph.tile<[16/x, 64/y] x f16>
    }
    sgraph.save %3 omap {x -> 0, y -> 1} : !sgraph.tile<[16/x, 64/y] x f16>
    sgraph.save %2 omap {x -> 0, y -> 1} : !sgraph.tile<[16/x, 64/y] x f16>
  }
  // CHECK: sgraph.custom(%b = %{{.*}} : tensor<16x64xf16>, %x_1 = %x : tensor<16x64xf16>) grid {x = 2} loop {y = 4} where [sigma("W 1",1) = sigma(0,1)] -> tensor<16x1xf16>
  %6 = sgraph.custom(%b = %1#0 : tensor<16x64xf16>, %x_1 = %x : tensor<16x64xf16>) grid {x = 2} loop {y = 4} where [sigma("W 1",1) = sigma(0,1)] -> tensor<16x1xf16> {
    // CHECK: sgraph.load %b as "W 1" imap {x -> 0} fmap {y -> 1} :
    %7 = sgraph.load %b as "W 1" imap {x -> 0} fmap {y -> 1} : tensor<16x64xf16> -> !sgraph.tile<[16/x, 64/y] x f16>
    %8 = sgraph.load %x_1 as X imap {x -> 0} : tensor<16x64xf16> -> !sgraph.tile<[16/x, 64] x f16>
    %9 = sgraph.reduce_max %7 dim 1 : !sgraph.tile<[16/x, 64/y] x f16> -> !sgraph.tile<[16/x, 1] x f16>
    // CHECK: sgraph.accum %{{.*}} max : !sgraph.tile<[16/x, 1] x f16> -> !sgraph.tile<[16/x, 1] x f16>
    %10 = sgraph.accum %9 max : !sgraph.tile<[16/x, 1] x f16> -> !sgraph.tile<[16/x, 1] x f16>
    %11 = sgraph.sum %8 dim 1 : !sgraph.tile<[16/x, 64] x f16> -> !sgraph.tile<[16/x, 1] x f16>
    %12 = sgraph.add %10, %11 : (!sgraph.tile<[16/x, 1] x f16>, !sgraph.tile<[16/x, 1] x f16>) -> !sgraph.tile<[16/x, 1] x f16>
    sgraph.save %12 omap {x -> 0} : !sgraph.tile<[16/x, 1] x f16>
  }
  // CHECK: sgraph.yield %{{.*}} : tensor<16x1xf16>
  sgraph.yield %6 : tensor<16x1xf16>
}
