// StableHLO as JAX prints it is read with jaxlib; its places are those of the model's source, or of the text.
//
// REQUIRES: jax
//
// RUN: prism-opt -p sgraph-import %inputs/stablehlo/jax_dpa_bthd.stablehlo.mlir | FileCheck %s
// CHECK: sgraph.program @main(%q: tensor<2x8x1x128xbf16> view arg 0
// CHECK-NEXT: sgraph.matmul %q, %k : {{.*}} -> tensor<2x8x1x1024xf32>
// CHECK-NEXT: sgraph.unary
// CHECK-NEXT: sgraph.unary {{.*}} "exp(x)" shift 3
// CHECK-NEXT: sgraph.sum
// CHECK-NEXT: sgraph.div {{.*}} -> tensor<2x8x1x1024xbf16>
// CHECK-NEXT: sgraph.matmul {{.*}}, %v
// CHECK-NEXT: sgraph.return
//
// RUN: not prism compile %s -o %t 2>&1 | FileCheck %s --check-prefix=SYNTAX -DFILE=%s
// SYNTAX: [[FILE]]:[[# @LINE + 3]]:24: error: expected ','

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.add %x : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
