// RUN: prism-opt %s --prism-superoptimize='operators=3 samples=100' --dump-pass-pipeline -o %t.mlir 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: FileCheck %s --input-file %t.mlir

// PIPELINE: builtin.module(sgraph-import,sgraph-generate{operators=3},sgraph-match-dims,sgraph-prune,sgraph-instantiate-maps,sgraph-verify{proved_only=true},sgraph-instantiate-parameters{samples=100},sgraph-fuse-threads,sgraph-to-gpu,gpu-to-ptx)

// CHECK: sgraph.program @main
// CHECK-SAME: complete = true
// CHECK-SAME: proved = {{[1-9][0-9]*}} : i64
// CHECK: "gpu.binary"() <{objects = [#gpu.object<#nvvm.target<chip = "sm_80">, assembly = "{{.*}}mma.sync
// CHECK-SAME: sgraph.implements = @main
func.func @main(%x: tensor<16x64xf16>, %w: tensor<64x64xf16>) -> tensor<16x64xf16> {
  %z = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<16x64xf16>
  %f = linalg.fill ins(%z : f16) outs(%e : tensor<16x64xf16>) -> tensor<16x64xf16>
  %0 = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x64xf16>) outs(%f : tensor<16x64xf16>) -> tensor<16x64xf16>
  %1 = linalg.exp ins(%0 : tensor<16x64xf16>) outs(%e : tensor<16x64xf16>) -> tensor<16x64xf16>
  return %1 : tensor<16x64xf16>
}
