// StableHLO in generic form, with its versions' notes on module and arguments: imported, explained, compiled.
//
// RUN: prism-opt -p sgraph-import %s | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: sgraph.program @main(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) {
// PROGRAM-NEXT: sgraph.matmul %x, %w
// PROGRAM-NEXT: sgraph.unary {{.*}} "x/(1 + exp(-x))"
// PROGRAM-NEXT: sgraph.return
//
// RUN: prism explain %s --limit operators=4 | FileCheck %s --check-prefix=SEARCH
// SEARCH: search of main
//
// RUN: prism compile %s -o %t --samples 20 --no-check | FileCheck %s --check-prefix=COMPILED
// COMPILED: program  main: matmul, unary[x/(1 + exp(-x))]
// RUN: FileCheck %s --check-prefix=HOST --input-file %t/main.host.mlir
// HOST: gpu.binary
// HOST: func.func public @main(%{{.*}}: tensor<16x64xf16>, %{{.*}}: tensor<64x32xf16>) -> tensor<16x32xf16> {
// HOST: gpu.launch_func
//
// RUN: sed 's/stablehlo.logistic/stablehlo.cholesky/' %s > %t/other.mlir
// RUN: not prism compile %t/other.mlir -o %t 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: other.mlir:[[# @LINE + 8]]:10: error: stablehlo.cholesky is not supported, rewrite it with supported operations

module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<16x64xf16> {jax.note = "x"} loc("x"), %w: tensor<64x32xf16> loc("w"))
      -> (tensor<16x32xf16> {jax.result_info = "result"}) {
    %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [0]>}> : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>
    %1 = "stablehlo.convert"(%0) : (tensor<16x32xf16>) -> tensor<16x32xf32>
    %2 = "stablehlo.logistic"(%1) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %3 = "stablehlo.multiply"(%1, %2) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %4 = "stablehlo.convert"(%3) : (tensor<16x32xf32>) -> tensor<16x32xf16>
    return %4 : tensor<16x32xf16>
  }
}
