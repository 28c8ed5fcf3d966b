// What cannot have dynamic sizes is said with its place.
//
// RUN: not prism compile %s -o %t --function stays 2>&1 | FileCheck %s --check-prefix=STAYS
// RUN: not prism compile %s -o %t --function static --sizes 3 2>&1 | FileCheck %s --check-prefix=STATIC
// RUN: not prism compile %s -o %t --function grows --workspace argument 2>&1 | FileCheck %s --check-prefix=WORKSPACE
// RUN: not prism ptx check %S/../ptx/axpy.ptx --size 3 2>&1 | FileCheck %s --check-prefix=LAUNCH

#map = affine_map<(d0) -> (d0)>

// STAYS: dynamic-errors.mlir:[[# @LINE + 5]]:8: error: tensor.empty has a tensor<?xf32>, whose `?` does not follow from the sizes of the arguments, compute it from dims of arguments, or give it a number
func.func @stays(%x: tensor<?xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %a = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %a : i64 to index
  %e = tensor.empty(%i) : tensor<?xf32>
  %r = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// STATIC: error: --sizes is for functions with `?` in their arguments, and this one has none, remove it
func.func @static(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.abs ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// WORKSPACE: dynamic-errors.mlir:[[# @LINE + 2]]:1: error: workspace as arguments of a function with dynamic sizes, use --workspace alloc
// LAUNCH: error: --size is for code that --launch describes, give --launch launch.json, or remove it
func.func @grows(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.abs ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
