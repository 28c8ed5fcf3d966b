// Fragments of tensor-core products: what ldmatrix brings, and which words of it each mma.sync.m16n8k16 gets. A fragment of the 16-row
// side is four 8x8 blocks, one of the 8-column side is two. One ldmatrix.x4 therefore serves one fragment of the 16-row side, or two
// of the 8-column side: of two tiles of columns, or of two steps along k where a warp has one tile.
//
// RUN: prism-opt %s --sgraph-to-gpu --split-input-file | awk -f %S/Inputs/constants.awk | FileCheck %s
// RUN: prism-opt %s --sgraph-to-gpu --gpu-to-ptx --split-input-file | sed -f %S/Inputs/ptx.sed | FileCheck %s --check-prefix=PTX

// 16x32 times 32x16: normal form, two tiles of columns, two steps along k. W has n, not k, next to each other: transposed on the way;
// X as it lies. From the first to the second step W goes 16 rows of 16 elements on, 256 elements or 512 bytes, for all lanes.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "normal"}>
// CHECK: %[[W:[^ ,)]+]] = "nvgpu.ldmatrix"(%{{[^ ,)]+}}, %[[AT:[^ ,)]+]]) <{numTiles = 4 : i32, transpose = true}>
// CHECK-NEXT: %[[W0:[^ ,)]+]] = "vector.extract"(%[[W]]) <{static_position = array<i64: 0>}>
// CHECK-NEXT: %[[W1:[^ ,)]+]] = "vector.extract"(%[[W]]) <{static_position = array<i64: 1>}>
// CHECK-NEXT: %[[W2:[^ ,)]+]] = "vector.extract"(%[[W]]) <{static_position = array<i64: 2>}>
// CHECK-NEXT: %[[W3:[^ ,)]+]] = "vector.extract"(%[[W]]) <{static_position = array<i64: 3>}>
// CHECK: %[[X:[^ ,)]+]] = "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 4 : i32, transpose = false}>
// CHECK-NEXT: %[[X0:[^ ,)]+]] = "vector.extract"(%[[X]]) <{static_position = array<i64: 0>}>
// CHECK-NEXT: %[[X1:[^ ,)]+]] = "vector.extract"(%[[X]]) <{static_position = array<i64: 1>}>
// CHECK-NEXT: %[[X2:[^ ,)]+]] = "vector.extract"(%[[X]]) <{static_position = array<i64: 2>}>
// CHECK-NEXT: %[[X3:[^ ,)]+]] = "vector.extract"(%[[X]]) <{static_position = array<i64: 3>}>
// CHECK-NEXT: %[[LEFT:[^ ,)]+]] = "nvvm.mma.sync"(%[[X0]], %[[X1]], %[[X2]], %[[X3]], %[[W0]], %[[W1]], %[[Z:[^ ,)]+]], %[[Z]], %[[Z]], %[[Z]])
// CHECK: %[[L0:[^ ,)]+]] = "llvm.extractvalue"(%[[LEFT]]) <{position = array<i64: 0>}>
// CHECK: %[[RIGHT:[^ ,)]+]] = "nvvm.mma.sync"(%[[X0]], %[[X1]], %[[X2]], %[[X3]], %[[W2]], %[[W3]], %[[Z]], %[[Z]], %[[Z]], %[[Z]])
// CHECK: %[[R0:[^ ,)]+]] = "llvm.extractvalue"(%[[RIGHT]]) <{position = array<i64: 0>}>
// CHECK: %[[THERE:[^ ,)]+]] = "arith.addi"(%[[AT]], %c256)
// CHECK: "nvgpu.ldmatrix"(%{{[^ ,)]+}}, %[[THERE]]) <{numTiles = 4 : i32, transpose = true}>
// CHECK: "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 4 : i32, transpose = false}>
// CHECK: "nvvm.mma.sync"({{.*}}, %[[L0]], %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}) <{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: "nvvm.mma.sync"({{.*}}, %[[R0]], %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}) <{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK-NOT: "nvvm.mma.sync"
//
// PTX-LABEL: .visible .entry normal(
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {[[W0:%r[0-9]+]], [[W1:%r[0-9]+]], [[W2:%r[0-9]+]], [[W3:%r[0-9]+]]}, {{\[}}[[A:%rd[0-9]+]]+1024];
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// PTX: {[[W0]], [[W1]]},
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// PTX: {[[W2]], [[W3]]},
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{.*}}}, {{\[}}[[A]]+1536];
sgraph.program @p(%X: tensor<16x32xf16>, %W: tensor<32x16xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<16x32xf16>, tensor<32x16xf16>) -> tensor<16x16xf16>
  sgraph.return %0 as "o" : tensor<16x16xf16>
}
sgraph.graph @normal implements @p(%X: tensor<16x32xf16>, %W: tensor<32x16xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<16x32xf16>, %w = %W : tensor<32x16xf16>) grid {x = 1} -> tensor<16x16xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<16x32xf16> -> !sgraph.tile<[16, 32] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<32x16xf16> -> !sgraph.tile<[32, 16] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[16, 32] x f16>, !sgraph.tile<[32, 16] x f16>) -> !sgraph.tile<[16, 16] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[16, 16] x f16>
  }
  sgraph.yield %0 : tensor<16x16xf16>
}

// -----

// 8x48 times 48x16: the transposed form, 16 columns of W as the 16-row side, 8 rows of X as the 8-column side, nothing wasted. A warp
// has one tile of X's rows: two steps along k in one x4, the last step in an x2.
//
// CHECK-LABEL: "gpu.module"() <{sym_name = "turned"}>
// CHECK: %[[X:[^ ,)]+]] = "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 4 : i32, transpose = false}>
// CHECK-NEXT: %[[X0:[^ ,)]+]] = "vector.extract"(%[[X]]) <{static_position = array<i64: 0>}>
// CHECK-NEXT: %[[X1:[^ ,)]+]] = "vector.extract"(%[[X]]) <{static_position = array<i64: 1>}>
// CHECK-NEXT: %[[X2:[^ ,)]+]] = "vector.extract"(%[[X]]) <{static_position = array<i64: 2>}>
// CHECK-NEXT: %[[X3:[^ ,)]+]] = "vector.extract"(%[[X]]) <{static_position = array<i64: 3>}>
// CHECK: "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 4 : i32, transpose = true}>
// CHECK: %[[ONE:[^ ,)]+]] = "nvvm.mma.sync"(%{{.*}}, %[[X0]], %[[X1]], %[[Z:[^ ,)]+]], %[[Z]], %[[Z]], %[[Z]])
// CHECK: %[[ONE0:[^ ,)]+]] = "llvm.extractvalue"(%[[ONE]]) <{position = array<i64: 0>}>
// CHECK: "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 4 : i32, transpose = true}>
// CHECK: "nvvm.mma.sync"(%{{.*}}, %[[X2]], %[[X3]], %[[ONE0]], %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}})
// CHECK: "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 2 : i32, transpose = false}>
// CHECK: "nvgpu.ldmatrix"(%{{.+}}) <{numTiles = 4 : i32, transpose = true}>
// CHECK: "nvvm.mma.sync"
// CHECK-NOT: "nvvm.mma.sync"
//
// W lies after X, whose 8 rows of 48 f16 are padded to 56: at 896. Steps of 16 rows of 16 f16 are 512 bytes apart.
// PTX-LABEL: .visible .entry turned(
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{.*}}}, {{\[}}[[A:%rd[0-9]+]]+896];
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{.*}}}, {{\[}}[[A]]+1408];
// PTX: ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{.*}}+64];
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{.*}}}, {{\[}}[[A]]+1920];
sgraph.program @p(%X: tensor<8x48xf16>, %W: tensor<48x16xf16>) {
  %0 = sgraph.matmul %X, %W : (tensor<8x48xf16>, tensor<48x16xf16>) -> tensor<8x16xf16>
  sgraph.return %0 as "o" : tensor<8x16xf16>
}
sgraph.graph @turned implements @p(%X: tensor<8x48xf16>, %W: tensor<48x16xf16>) attributes {verdict = #sgraph.verdict<proved>, schedule = #sgraph.schedule<{x = 1}, warps 1, stages 1>} {
  %0 = sgraph.custom(%x = %X : tensor<8x48xf16>, %w = %W : tensor<48x16xf16>) grid {x = 1} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap {} : tensor<8x48xf16> -> !sgraph.tile<[8, 48] x f16>
    %2 = sgraph.load %w as W imap {} : tensor<48x16xf16> -> !sgraph.tile<[48, 16] x f16>
    %3 = sgraph.matmul %1, %2 : (!sgraph.tile<[8, 48] x f16>, !sgraph.tile<[48, 16] x f16>) -> !sgraph.tile<[8, 16] x f16>
    sgraph.save %3 omap {} : !sgraph.tile<[8, 16] x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}
