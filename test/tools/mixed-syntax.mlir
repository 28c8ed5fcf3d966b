// One file in three syntaxes: upstream's, ours, and ours in generic form. Aliases reach all of them.
//
// RUN: prism-opt %s --sgraph-import | FileCheck %s
// RUN: prism-opt - < %s | FileCheck %s --check-prefix=READ

!rows = tensor<8x16xf32>
#id = affine_map<(d0, d1) -> (d0, d1)>

// READ: sgraph.program @ours(%X: tensor<8x16xf32>)
// READ: func.func @theirs(
// READ: linalg.generic
// READ: sgraph.program @generic(%Y: tensor<8xf16>)

// CHECK: sgraph.program @ours(%X: tensor<8x16xf32>)
sgraph.program @ours(%X: !rows) {
  %0 = sgraph.sum %X dim 1 : !rows -> tensor<8x1xf32>
  sgraph.return %0 as "o" : tensor<8x1xf32>
}

// CHECK: sgraph.program @theirs(
// CHECK: sgraph.unary %{{.*}} "exp(x)"
func.func @theirs(%a: !rows) -> !rows {
  %e = tensor.empty() : !rows
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : !rows) outs(%e : !rows) {
  ^bb0(%x: f32, %y: f32):
    %1 = math.exp %x : f32
    linalg.yield %1 : f32
  } -> !rows
  return %0 : !rows
}

// CHECK: sgraph.program @generic(%Y: tensor<8xf16>)
"sgraph.program"() <{inputs = [#sgraph.input<"Y", arg 0, shape [8], strides [1], offset 0>], sym_name = "generic"}> ({
^bb0(%a: tensor<8xf16>):
  "sgraph.return"(%a) <{outputs = [#sgraph.output<"o", f16, shape [8], strides [1]>]}> : (tensor<8xf16>) -> ()
}) : () -> ()
