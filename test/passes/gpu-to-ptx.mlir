// RUN: prism-opt %s --gpu-to-ptx --split-input-file --verify-diagnostics | FileCheck %s

// Upstream's custom syntax is read; what is not a GPU module stays; our attributes move over.
// CHECK: sgraph.program @p
// CHECK: "gpu.binary"() <{objects = [#gpu.object<#nvvm.target<chip = "sm_80">, assembly = "{{.*}}.target sm_80{{.*}}.visible .entry copy({{.*}}ld.global{{.*}}st.global{{.*}}">], sym_name = "m"}> {sgraph.implements = @p} : () -> ()
// CHECK-NOT: gpu.module
sgraph.program @p(%X: tensor<64xf32>) {
  sgraph.return %X as "o" : tensor<64xf32>
}
gpu.module @m attributes {sgraph.implements = @p} {
  gpu.func @copy(%from: memref<64xf32>, %to: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %from[%t] : memref<64xf32>
    memref.store %v, %to[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

// expected-error @+1 {{no kernel}}
gpu.module @empty {
}
