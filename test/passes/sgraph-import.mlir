// RUN: prism-opt %s --sgraph-import | FileCheck %s
// RUN: prism-opt %s -p 'sgraph-import{function=attend}' | FileCheck %s --check-prefix=ONE
// RUN: not prism-opt %s -p 'sgraph-import{function=nobody}' 2>&1 | FileCheck %s --check-prefix=NOBODY
//
// ONE-NOT: @helper
// ONE: sgraph.program @attend
// ONE-NOT: @scale
//
// NOBODY: error: no function @nobody, there is: @

// Programs that are there already stay.
// CHECK-LABEL: sgraph.program @already
sgraph.program @already(%a: tensor<8x16xf16>) {
  %0 = sgraph.sum %a dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}

// Declarations are dropped, private functions are inlined.
// CHECK-NOT: @declared
// CHECK-NOT: @helper
func.func private @declared(tensor<4x8xf32>)

func.func private @helper(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A chain of scalar arithmetic on one tensor is one unary.
// CHECK-LABEL: sgraph.program @scale(%{{.*}}: tensor<4x8xf32>) {
// CHECK-NEXT: %[[R:.*]] = sgraph.unary %{{.*}} "0.5*exp(x) + 1" : tensor<4x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT: sgraph.return %[[R]] as "out" : tensor<4x8xf32>
func.func @scale(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %0 = call @helper(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%0 : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.mulf %a, %half : f32
    %3 = arith.addf %2, %one : f32
    linalg.yield %3 : f32
  } -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// softmax(Q . K^T) . V: the transpose becomes a view of K, the softmax's shift is recorded.
// CHECK-LABEL: sgraph.program @attend(
// CHECK-SAME: tensor<8x32xf32>{{.*}} view arg 1, shape [32, 8], strides [1, 8], offset 0
// CHECK: %[[S:.*]] = sgraph.matmul
// CHECK-NEXT: %[[E:.*]] = sgraph.unary %[[S]] "exp(x)" shift 1
// CHECK-NEXT: %[[D:.*]] = sgraph.sum %[[E]] dim 1
// CHECK-NEXT: %[[P:.*]] = sgraph.div %[[E]], %[[D]]
// CHECK-NEXT: %[[O:.*]] = sgraph.matmul %[[P]]
// CHECK-NEXT: sgraph.return %[[O]]
func.func @attend(%q: tensor<16x8xf32>, %k: tensor<32x8xf32>, %v: tensor<32x4xf32>) -> tensor<16x4xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %ke = tensor.empty() : tensor<8x32xf32>
  %kt = linalg.transpose ins(%k : tensor<32x8xf32>) outs(%ke : tensor<8x32xf32>) permutation = [1, 0]
  %se = tensor.empty() : tensor<16x32xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<16x32xf32>) -> tensor<16x32xf32>
  %s = linalg.matmul ins(%q, %kt : tensor<16x8xf32>, tensor<8x32xf32>) outs(%sz : tensor<16x32xf32>) -> tensor<16x32xf32>
  %re = tensor.empty() : tensor<16xf32>
  %rn = linalg.fill ins(%ninf : f32) outs(%re : tensor<16xf32>) -> tensor<16xf32>
  %max = linalg.reduce { arith.maximumf } ins(%s : tensor<16x32xf32>) outs(%rn : tensor<16xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%max : tensor<16xf32>) outs(%se : tensor<16x32xf32>) dimensions = [1]
  %d = linalg.sub ins(%s, %mb : tensor<16x32xf32>, tensor<16x32xf32>) outs(%se : tensor<16x32xf32>) -> tensor<16x32xf32>
  %x = linalg.exp ins(%d : tensor<16x32xf32>) outs(%se : tensor<16x32xf32>) -> tensor<16x32xf32>
  %rz = linalg.fill ins(%zero : f32) outs(%re : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<16x32xf32>) outs(%rz : tensor<16xf32>) dimensions = [1]
  %sb = linalg.broadcast ins(%sum : tensor<16xf32>) outs(%se : tensor<16x32xf32>) dimensions = [1]
  %p = linalg.div ins(%x, %sb : tensor<16x32xf32>, tensor<16x32xf32>) outs(%se : tensor<16x32xf32>) -> tensor<16x32xf32>
  %oe = tensor.empty() : tensor<16x4xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<16x4xf32>) -> tensor<16x4xf32>
  %o = linalg.matmul ins(%p, %v : tensor<16x32xf32>, tensor<32x4xf32>) outs(%oz : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %o : tensor<16x4xf32>
}
