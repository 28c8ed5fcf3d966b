// A function with an operation that stays: refused whole, compiled in islands.
//
// RUN: not prism compile %s -o %t 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: islands.mlir:[[# @LINE + 29]]:10: error: tensor.insert_slice at an offset that is not constant
//
// RUN: prism compile %s -o %t --islands --samples 20 | FileCheck %s --check-prefix=SUMMARY
// SUMMARY: island   main_island0: 2 operations, 1,120 bytes across its edge, 2 tensors in, 1x16xf16 out
// SUMMARY-NEXT: main_island0: matmul, unary[tanh(x)] ({{[0-9]+}} graphs proved, model {{.*}} us)
// SUMMARY-NEXT: stays    tensor.insert_slice: it reads index ({{.*}}islands.mlir:[[# @LINE + 24]]:10)
// SUMMARY-NEXT: emitted  9 files in
// SUMMARY-NEXT: checked  the whole function against its source on 2 input sets: at most
//
// RUN: FileCheck %s --check-prefix=HOST --input-file %t/main.host.mlir
// HOST: gpu.binary @main_island0_binary
// HOST: func.func private @main_island0(%{{.*}}: tensor<1x32xf16>, %{{.*}}: tensor<32x16xf16>) -> tensor<1x16xf16> {
// HOST: gpu.launch_func
// HOST: func.func @main(
// HOST: call @main_island0(
// HOST: tensor.insert_slice
//
// RUN: prism compile %s -o %t --islands --no-check --json | FileCheck %s --check-prefix=JSON
// JSON: "left": [
// JSON: "reason": "it reads index"
//
func.func @main(%x: tensor<1x32xf16>, %w: tensor<32x16xf16>, %at: tensor<i32>, %cache: tensor<16x16xf16>) -> tensor<16x16xf16> {
  %c0 = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16xf16>
  %f = linalg.fill ins(%c0 : f16) outs(%e : tensor<1x16xf16>) -> tensor<1x16xf16>
  %k = linalg.matmul ins(%x, %w : tensor<1x32xf16>, tensor<32x16xf16>) outs(%f : tensor<1x16xf16>) -> tensor<1x16xf16>
  %t = math.tanh %k : tensor<1x16xf16>
  %n = tensor.extract %at[] : tensor<i32>
  %i = arith.index_cast %n : i32 to index
  %new = tensor.insert_slice %t into %cache[%i, 0] [1, 16] [1, 1] : tensor<1x16xf16> into tensor<16x16xf16>
  return %new : tensor<16x16xf16>
}
