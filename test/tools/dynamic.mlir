// A `?` in an argument: code for buckets of sizes, and host code that chooses.
//
// RUN: prism compile %s -o %t --max-size 12 --sizes 5 --samples 20 --no-check | FileCheck %s --check-prefix=SAYS
// RUN: FileCheck %s < %t/main.host.mlir
// RUN: FileCheck %s --check-prefix=JSON < %t/launch.json
// RUN: prism ptx check %t/main_to12.ptx --launch %t/launch.json --size 11 | FileCheck %s --check-prefix=CLEAN
// RUN: prism ptx check %t/main_at5.ptx --launch %t/launch.json | FileCheck %s --check-prefix=CLEAN
// RUN: not prism ptx check %t/main_to12.ptx --launch %t/launch.json 2>&1 | FileCheck %s --check-prefix=WHICH
// RUN: not prism ptx check %t/main_to12.ptx --launch %t/launch.json --size 13 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not prism ptx check %t/main_at5.ptx --launch %t/launch.json --size 6 2>&1 | FileCheck %s --check-prefix=EXACT
// RUN: not prism compile %s -o %t.none --max-size 12 --sizes 13 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: not prism compile %s -o %t.none --max-size 12 --sizes y[0]=3 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// SAYS: size x[0]: dim 0 of x, dim 0 of y
// SAYS-NEXT: chosen x[0] 5: {{.*}} model
// SAYS: x[0] {{[0-9]+}}..12: {{.*}} model
// SAYS-NEXT: emitted {{.*}}main_to12.ptx, launch.json, main.host.mlir, report.json
// SAYS-NEXT: checked no (--no-check)

// The function that stays reads the size, and asks whether it is served and both tensors have it.
//
// CHECK: func.func private @main_at5(%{{.*}}: tensor<?x64xf16>, %{{.*}}: tensor<?x64xf16>) -> tensor<?x64xf16>
// CHECK: func.func private @main_to12(%[[X:.*]]: tensor<?x64xf16>, %{{.*}}: tensor<?x64xf16>) -> tensor<?x64xf16>
// CHECK: %[[DIM:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK: %[[N:.*]] = arith.index_cast %[[DIM]] : index to i32
// CHECK: gpu.alloc async [%{{.*}}] (%{{.*}}) : memref<?x64xf16>
// CHECK: gpu.launch_func async [%{{.*}}] @main_to12_binary::@main_to12 {{.*}} args({{.*}} : i64, {{.*}} : i64, {{.*}} : i64, %[[N]] : i32)
// CHECK: func.func @main(%[[A:.*]]: tensor<?x64xf16>, %[[B:.*]]: tensor<?x64xf16>) -> tensor<?x64xf16> {
// CHECK: %[[SIZE:.*]] = tensor.dim %[[A]], %{{.*}}
// CHECK: cf.assert %{{.*}}, "x[0] must be from 1 to 12"
// CHECK: %[[OTHER:.*]] = tensor.dim %[[B]], %{{.*}}
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[SIZE]], %[[OTHER]] : index
// CHECK: cf.assert %[[SAME]], "dim 0 of argument 1 must be x[0]"
// CHECK: %[[CHOSEN:.*]] = scf.if %{{.*}} -> (tensor<?x64xf16>) {
// CHECK: func.call @main_at5(%[[A]], %[[B]])
// CHECK: } else {
// CHECK: call @main_to12(%[[A]], %[[B]])
// CHECK: return %[[CHOSEN]]

// JSON: "name": "x[0]",
// JSON: "from":
// JSON: "role": "size",
// JSON-NEXT: "index": 0,
// JSON-NEXT: "name": "x[0]"

// CLEAN: clean nothing found
// WHICH: launch.json:1:1: error: the dynamic size is missing: x[0], give --size 'x[0]=13'
// LARGE: launch.json:1:1: error: main_to12.ptx does not serve x[0] = 13, it serves 1 to 12
// EXACT: launch.json:1:1: error: main_at5.ptx does not serve x[0] = 6, it serves 5 alone
// BEYOND: error: --sizes 13: size 13 is outside of 1 to 12, raise the largest (--max-size)
// UNKNOWN: error: --sizes: there is no dynamic size 'y[0]', there is: x[0]

#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<?x64xf16> loc("x"), %y: tensor<?x64xf16> loc("y")) -> tensor<?x64xf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf16>
  %e = tensor.empty(%n) : tensor<?x64xf16>
  %r = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<?x64xf16>, tensor<?x64xf16>) outs(%e : tensor<?x64xf16>) {
  ^bb0(%a: f16, %b: f16, %out: f16):
    %s = arith.addf %a, %b : f16
    linalg.yield %s : f16
  } -> tensor<?x64xf16>
  return %r : tensor<?x64xf16>
}
