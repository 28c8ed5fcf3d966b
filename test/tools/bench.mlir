// Without a GPU, `prism bench` and a bundle's program say so in one line; results of another machine are shown.
//
// RUN: not env CUDA_VISIBLE_DEVICES=-1 prism bench %s 2>&1 | FileCheck %s --check-prefix=NO-GPU
// NO-GPU: error: {{.*}}CUDA driver{{.*}}, make a bundle for a machine that has one (prism bundle), or show its results with --read
// NO-GPU-NOT: {{.}}
//
// RUN: rm -rf %t && mkdir %t
// RUN: prism bundle %t/packed %s --schedules 1 --peers none --no-check | FileCheck %s --check-prefix=BUNDLE -DOUT=%t/packed
// BUNDLE: packed   1 program, 1 candidate, 0.{{[0-9]}} MB, in [[OUT]]
// BUNDLE-NEXT: measure  python run.py --minutes 5
//
// RUN: not env CUDA_VISIBLE_DEVICES=-1 python %t/packed/run.py --output %t/results.json 2>&1 | FileCheck %s --check-prefix=STAND-ALONE
// STAND-ALONE: error: {{.*}}CUDA driver{{.*}}, run this on a machine with an NVIDIA driver
// RUN: not ls %t/results.json
//
// RUN: prism bench --read %S/Inputs/results.json | FileCheck %s --check-prefix=READ
// READ: measured on NVIDIA A100-SXM4-40GB (sm_80), code for sm_80; CUDA 12.4, driver 550.54.15; 100 runs each; SM 1410 MHz
// READ: L2 flushed before every run
// READ: workload {{.*}}PyTorch eager{{.*}}Triton{{.*}}Prism{{.*}}paper to Mirage
// READ: RMSNorm    d=4096 n=8   50.00 (0.50)   25.00 (1.00)   20.00 (1.25)     0.25           1.25x             1.20x
// READ: geometric mean of Prism to best, 1 rows: 1.25x
// READ: L2 not flushed
// READ: RMSNorm    d=4096 n=8   40.00 (0.30)   12.00 (1.00)   16.00 (0.75)     0.50           0.75x             1.20x
// READ: stopped  rms_norm_d4096_n8: Triton slow: a run takes 400.0 us, over 10 times the best, 25.0 us
//
// RUN: not prism bench --read %s 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: bench.mlir:1:1: error: the file is not JSON

func.func @scaled(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%start : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
