"""Programs that are compiled and checked in seconds."""

from __future__ import annotations

from pathlib import Path

PRODUCT = """
func.func @main(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<16x32xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<16x32xf16>) -> tensor<16x32xf16>
  %p = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%f : tensor<16x32xf16>) -> tensor<16x32xf16>
  %r = linalg.exp ins(%p : tensor<16x32xf16>) outs(%e : tensor<16x32xf16>) -> tensor<16x32xf16>
  return %r : tensor<16x32xf16>
}
"""

NORM = """
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<8x48xf32>) -> tensor<8x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x48xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %a : f32
    %t = arith.addf %o, %q : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  %g = tensor.empty() : tensor<8x48xf32>
  %r = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<8x48xf32>, tensor<8xf32>) outs(%g : tensor<8x48xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %one = arith.constant 1.0 : f32
    %c = arith.addf %b, %one : f32
    %d = math.rsqrt %c : f32
    %t = arith.mulf %a, %d : f32
    linalg.yield %t : f32
  } -> tensor<8x48xf32>
  return %r : tensor<8x48xf32>
}
"""

MASKED = """
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<5x77xf32>, %m: tensor<5x77xi1>) -> tensor<5x77xf32> {
  %e = tensor.empty() : tensor<5x77xf32>
  %r = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<5x77xf32>, tensor<5x77xi1>) outs(%e : tensor<5x77xf32>) {
  ^bb0(%a: f32, %b: i1, %o: f32):
    %z = arith.constant -2.0 : f32
    %s = arith.select %b, %a, %z : f32
    linalg.yield %s : f32
  } -> tensor<5x77xf32>
  return %r : tensor<5x77xf32>
}
"""

PROGRAMS = {"product": PRODUCT, "norm": NORM, "masked": MASKED}


def write(folder: Path, name: str) -> Path:
    """A file of the program."""
    path = folder / f"{name}.mlir"
    path.write_text(PROGRAMS[name])
    return path
