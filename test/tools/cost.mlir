// What a schedule costs, term by term: the model's terms of a given schedule, the errors of others, and a ranking.
//
// 16 x 64 by 64 x 64, halves, in graph 3: four blocks of 16 columns each read all of X (2048 bytes), together W (8192), and write
// 2048: 12288 bytes of DRAM, 4 x 2048 + 8192 + 2048 = 18432 = 576 x 32 through L2.
//
// RUN: prism cost %s --limit operators=4 --graph 3 --schedule x=4,i=2,warps=2,stages=2 | FileCheck %s --check-prefix=ONE
// ONE: product on sm_80 (A100 40 GB)
// ONE: graph 3 of 8: custom[grid x; loop i]
// ONE: schedule i=2,x=4,warps=2,stages=2
// ONE: model: kernel 0: grid x=4, loop i=2, limited by
// ONE: blocks {{ *}}4 {{ *}}of 2 warps, 2 stages
// ONE: registers
// ONE: shared memory {{ *}}4,096
// ONE: resident
// ONE: full waves {{ *}}0 {{ *}}4 blocks on 108 SMs in the last one
// ONE: DRAM {{ *}}12,288 {{ *}}0
// ONE: L2 {{ *}}18,432 {{ *}}B {{ *}}576 sectors of 32 B
// ONE: latency chain
// ONE: SM {{.*}}us
// ONE: L2 {{.*}}us
// ONE: DRAM {{.*}}us
// ONE: kernel {{.*}}us
// ONE: working set {{ *}}12,288 {{.*}}fits in L2
// ONE: total in a CUDA graph {{.*}}1 x 1.35 us
// ONE: total in a stream {{.*}}1 x 2.7 us
// ONE-NOT: counters
// ONE: roofline, DRAM {{.*}}12288 B once
// ONE: roofline, tensor {{.*}}65536 multiply-adds
//
// JSON holds the same kernel counted as well, in the same terms.
//
// RUN: prism cost %s --limit operators=4 --graph 3 --schedule x=4,i=2,warps=2,stages=2 --counters --json | FileCheck %s --check-prefix=BOTH
// BOTH: "schedule": "i=2,x=4,warps=2,stages=2",
// BOTH-NEXT: "model": {
// BOTH-NEXT: "source": "model"
// BOTH: "counters": {
// BOTH-NEXT: "source": "counters"
// BOTH: "roofline": [
//
// RUN: prism cost %s --limit operators=4 --compare 3 | FileCheck %s --check-prefix=RANKED
// RANKED: rank graph schedule cold us warm us limiter
// RANKED: {{^ *}}1 {{.*}}warps=
// RANKED: {{^ *}}2 {{.*}}warps=
// RANKED: {{^ *}}3 {{.*}}warps=
// RANKED-NOT: warps=
//
// RUN: not prism cost %s --limit operators=4 --graph 99 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: no graph 99, there are 8 proved graphs, from 1 to 8
//
// RUN: not prism cost %s --limit operators=4 --graph 3 --schedule x=16,i=2,warps=1 2>&1 | FileCheck %s --check-prefix=RULE
// RULE: error: sm_80 refuses i=2,x=16,warps=1,stages=2 for graph 3: rows shorter than a copy

func.func @product(%x: tensor<16x64xf16>, %w: tensor<64x64xf16>) -> tensor<16x64xf16> {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<16x64xf16>
  %init = linalg.fill ins(%zero : f16) outs(%empty : tensor<16x64xf16>) -> tensor<16x64xf16>
  %r = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x64xf16>) outs(%init : tensor<16x64xf16>) -> tensor<16x64xf16>
  return %r : tensor<16x64xf16>
}
