// A graph of two kernels: a workspace buffer takes what the first one leaves for the second one, in f32. The launch of each names it as an
// argument, after the inputs and results of its own in the order of first use.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// Row sums, then a division. 16 sums in f32 are 64 bytes of workspace. The first kernel has 8 rows a block: 8 * 256 * 2 bytes of X and a line
// of 128 bytes for its sums, 4224; the second 16x64 f16 of X and a line for all 16 sums, 2176.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "two"}>
// CHECK: "gpu.func"() <{function_type = (memref<4096xf16>, memref<16xf32>) -> (), {{.*}}known_grid_size = array<i32: 2, 1, 1>
// CHECK-NEXT: ^bb0(%[[X:[a-z0-9]+]]: memref<4096xf16>, %[[T:[a-z0-9]+]]: memref<16xf32>):
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %[[X]],
// CHECK: "memref.store"(%{{[^ ,)]+}}, %[[T]],
// CHECK: sym_name = "two_0"
// CHECK: "gpu.func"() <{function_type = (memref<4096xf16>, memref<16xf32>, memref<4096xf16>) -> (), {{.*}}known_grid_size = array<i32: 4, 1, 1>
// CHECK-NEXT: ^bb0(%[[X1:[a-z0-9]+]]: memref<4096xf16>, %[[T1:[a-z0-9]+]]: memref<16xf32>, %[[O1:[a-z0-9]+]]: memref<4096xf16>):
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %[[X1]],
// CHECK: "nvgpu.device_async_copy"(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %[[T1]],
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[O1]],
// CHECK: sym_name = "two_1"
// CHECK: sgraph.launch = "{\22kernels\22: [{\22entry\22: \22two_0\22, \22ptx\22: \22two.ptx\22, \22grid\22: [2, 1, 1], \22block\22: [64, 1, 1], \22shared_bytes\22: 4224,
// CHECK-SAME: {\22role\22: \22input\22, \22index\22: 0, \22name\22: \22X\22, \22dtype\22: \22f16\22, \22shape\22: [16, 256], \22strides\22: [256, 1], \22alignment\22: 16}
// CHECK-SAME: {\22role\22: \22workspace\22, \22index\22: 0, \22name\22: \22t1\22, \22dtype\22: \22f32\22, \22shape\22: [16, 1], \22strides\22: [1, 1], \22alignment\22: 16}
// CHECK-SAME: \22entry\22: \22two_1\22, \22ptx\22: \22two.ptx\22, \22grid\22: [4, 1, 1], \22block\22: [64, 1, 1], \22shared_bytes\22: 2176,
// CHECK-SAME: {\22role\22: \22input\22, \22index\22: 0, \22name\22: \22X\22, \22dtype\22: \22f16\22, \22shape\22: [16, 256], \22strides\22: [256, 1], \22alignment\22: 16}
// CHECK-SAME: {\22role\22: \22workspace\22, \22index\22: 0, \22name\22: \22t1\22, \22dtype\22: \22f32\22, \22shape\22: [16, 1], \22strides\22: [1, 1], \22alignment\22: 16}
// CHECK-SAME: {\22role\22: \22output\22, \22index\22: 0, \22name\22: \22o\22, \22dtype\22: \22f16\22, \22shape\22: [16, 256], \22strides\22: [256, 1], \22alignment\22: 16}
// CHECK-SAME: \22workspace\22: [64]}"
//
// PTX: .visible .entry two_0(
// PTX: st.global.b32
// PTX: .visible .entry two_1(
sgraph.program @p(%X: tensor<16x256xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<16x256xf16> -> tensor<16x1xf16>
  %1 = sgraph.div %X, %0 : (tensor<16x256xf16>, tensor<16x1xf16>) -> tensor<16x256xf16>
  sgraph.return %1 as "o" : tensor<16x256xf16>
}
sgraph.graph @two implements @p(%X: tensor<16x256xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 2, y = 4}, warps 2, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x256xf16>) grid {x = 2} -> tensor<16x1xf32> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<16x256xf16> -> !sgraph.tile<[16/x, 256] x f16>
    %2 = sgraph.sum %1 dim 1 : !sgraph.tile<[16/x, 256] x f16> -> !sgraph.tile<[16/x, 1] x f32>
    sgraph.save %2 omap {x -> 0} : !sgraph.tile<[16/x, 1] x f32>
  }
  %3 = sgraph.custom(%x = %X : tensor<16x256xf16>, %s = %0 : tensor<16x1xf32>) grid {y = 4} -> tensor<16x256xf16> {
    %4 = sgraph.load %x as X imap {y -> 1} : tensor<16x256xf16> -> !sgraph.tile<[16, 256/y] x f16>
    %5 = sgraph.load %s as S imap {} : tensor<16x1xf32> -> !sgraph.tile<[16, 1] x f32>
    %6 = sgraph.div %4, %5 : (!sgraph.tile<[16, 256/y] x f16>, !sgraph.tile<[16, 1] x f32>) -> !sgraph.tile<[16, 256/y] x f16>
    sgraph.save %6 omap {y -> 1} : !sgraph.tile<[16, 256/y] x f16>
  }
  sgraph.yield %3 : tensor<16x256xf16>
}

// -----

// A product cut along k: block z of three stores its whole part, 32 columns wide, at column 32z of a workspace of 16 * 96 * 4 = 6144 bytes;
// rows are cut by x into 8. The second kernel's loop adds the three up. Shared memory: 8x32 and 32x32 f16, 2560; 8x32 f32 twice for the
// pipeline and once for the sum, 3072.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "split"}>
// CHECK: "gpu.func"() <{function_type = (memref<1536xf16>, memref<3072xf16>, memref<1536xf32>) -> (), {{.*}}known_grid_size = array<i32: 2, 3, 1>
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: memref<1536xf16>, %{{[a-z0-9]+}}: memref<3072xf16>, %[[T:[a-z0-9]+]]: memref<1536xf32>):
// CHECK-DAG: %[[BX:[^ ,)]+]] = "gpu.block_id"() <{dimension = #gpu<dim x>}>
// CHECK-DAG: %[[XB:[^ ,)]+]] = "arith.index_castui"(%[[BX]])
// CHECK-DAG: %[[BY:[^ ,)]+]] = "gpu.block_id"() <{dimension = #gpu<dim y>}>
// CHECK-DAG: %[[ZB:[^ ,)]+]] = "arith.index_castui"(%[[BY]])
// CHECK-DAG: %[[FIRST:[^ ,)]+]] = "arith.muli"(%[[XB]], %c8)
// CHECK-DAG: %[[PART:[^ ,)]+]] = "arith.muli"(%[[ZB]], %c32)
// CHECK: "nvvm.mma.sync"
// CHECK-DAG: %[[ROW:[^ ,)]+]] = "arith.addi"(%[[FIRST]], %{{[^ ,)]+}})
// CHECK-DAG: %[[LINE:[^ ,)]+]] = "arith.muli"(%[[ROW]], %c96)
// CHECK-DAG: %[[COLUMN:[^ ,)]+]] = "arith.addi"(%[[PART]], %{{[^ ,)]+}})
// CHECK-DAG: %[[PLACE:[^ ,)]+]] = "arith.addi"(%[[LINE]], %[[COLUMN]])
// CHECK-DAG: %[[AT:[^ ,)]+]] = "arith.index_castui"(%[[PLACE]])
// CHECK: "vector.store"(%{{[^ ,)]+}}, %[[T]], %[[AT]]) <{alignment = 16 : i64}> : (vector<4xf32>
// CHECK: sym_name = "split_0"
// CHECK: "gpu.func"() <{function_type = (memref<1536xf32>, memref<512xf16>)
// CHECK: "scf.for"
// CHECK: "nvgpu.device_async_copy"
// CHECK: "arith.addf"
// CHECK: sym_name = "split_1"
// CHECK: \22split_0\22, {{.*}}\22grid\22: [2, 3, 1], {{.*}}\22shared_bytes\22: 2560, {{.*}}\22split_1\22, {{.*}}\22shared_bytes\22: 3072,
// CHECK-SAME: \22workspace\22: [6144]}"
sgraph.program @p(%A: tensor<16x96xf16>, %B: tensor<96x32xf16>) {
  %0 = sgraph.matmul %A, %B : (tensor<16x96xf16>, tensor<96x32xf16>) -> tensor<16x32xf16>
  sgraph.return %0 as "o" : tensor<16x32xf16>
}
sgraph.graph @split implements @p(%A: tensor<16x96xf16>, %B: tensor<96x32xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 2, z = 3}, warps 1, stages 2>} {
  %0 = sgraph.custom(%a = %A : tensor<16x96xf16>, %b = %B : tensor<96x32xf16>) grid {x = 2, z = 3} -> tensor<16x32xf32> {
    %1 = sgraph.load %a as A imap {x -> 0, z -> 1} : tensor<16x96xf16> -> !sgraph.tile<[16/x, 96/z] x f16>
    %2 = sgraph.load %b as B imap {z -> 0} : tensor<96x32xf16> -> !sgraph.tile<[96/z, 32] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16/x, 96/z] x f16>, !sgraph.tile<[96/z, 32] x f16>) -> !sgraph.tile<[16/x, 32] x f32>
    sgraph.save %3 omap {x -> 0, z -> 1} : !sgraph.tile<[16/x, 32] x f32>
  }
  %4 = sgraph.custom(%t = %0 : tensor<16x32xf32>) grid {x = 2} loop {z = 3} -> tensor<16x32xf16> {
    %5 = sgraph.load %t as T imap {x -> 0} fmap {z -> 1} : tensor<16x32xf32> -> !sgraph.tile<[16/x, 32] x f32>
    %6 = sgraph.accum %5 : !sgraph.tile<[16/x, 32] x f32> -> !sgraph.tile<[16/x, 32] x f16>
    sgraph.save %6 omap {x -> 0} : !sgraph.tile<[16/x, 32] x f16>
  }
  sgraph.yield %4 : tensor<16x32xf16>
}
