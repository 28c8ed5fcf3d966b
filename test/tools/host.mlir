// What `prism compile` writes for compilers on MLIR: the input module, with launches in the place of the function's body.
//
// RUN: prism compile %s --function product -o %t --max-operators 4 --samples 20 --no-check -q
// RUN: FileCheck %s < %t/product.host.mlir

// CHECK: module attributes {gpu.container_module} {
// CHECK: func.func @copy(%{{.*}}: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {test.other} {
func.func @copy(%y: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {test.other} {
  return %y : tensor<8x32xf32>
}

// CHECK: gpu.binary @product_binary [#gpu.object<#nvvm.target<chip = "sm_80", features = "+ptx70">
// CHECK-SAME: assembly = "{{.*}}.visible .entry product(
// CHECK: func.func @product(%[[A:.*]]: tensor<8x64xf16>, %[[B:.*]]: tensor<64x32xf16>) -> tensor<8x32xf32> {
// CHECK-DAG: %[[SHARED:.*]] = arith.constant {{[0-9]+}} : i32
// CHECK: %[[T0:.*]] = gpu.wait async
// CHECK: %[[A_DEV:.*]], %[[T1:.*]] = gpu.alloc async [%[[T0]]] () : memref<8x64xf16>
// CHECK: %[[A_HOST:.*]] = bufferization.to_buffer %[[A]] read_only : tensor<8x64xf16> to memref<8x64xf16>
// CHECK: gpu.memcpy async [%[[T1]]] %[[A_DEV]], %[[A_HOST]]
// CHECK: %[[A_INDEX:.*]] = memref.extract_aligned_pointer_as_index %[[A_DEV]]
// CHECK: %[[A_PTR:.*]] = arith.index_cast %[[A_INDEX]] : index to i64
// CHECK: %[[T2:.*]] = gpu.launch_func async [%{{.*}}] @product_binary::@product blocks in
// CHECK-SAME: dynamic_shared_memory_size %[[SHARED]] args(%[[A_PTR]] : i64, %{{.*}} : i64, %{{.*}} : i64)
// CHECK: %[[OUT:.*]] = memref.alloc() : memref<8x32xf32>
// CHECK: gpu.memcpy async [%[[T2]]] %[[OUT]], %{{.*}} : memref<8x32xf32>, memref<8x32xf32>
// CHECK-COUNT-3: gpu.dealloc async
// CHECK: gpu.wait [
// CHECK: %[[RESULT:.*]] = bufferization.to_tensor %[[OUT]] restrict writable : memref<8x32xf32> to tensor<8x32xf32>
// CHECK: return %[[RESULT]] : tensor<8x32xf32>
func.func @product(%a: tensor<8x64xf16>, %b: tensor<64x32xf16>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x32xf32>
  %acc = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x32xf32>) -> tensor<8x32xf32>
  %y = linalg.matmul ins(%a, %b : tensor<8x64xf16>, tensor<64x32xf16>) outs(%acc : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
