"""Masks, minima, parts of a result and repeated results, whole: from text to PTX that runs clean and is accurate."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file
from prism_mlir.search.limits import SearchLimits

MASKED_MINIMUM = """func.func @main(%x: tensor<64x128xf16>, %m: tensor<64x128xf16>) -> tensor<64x1xf16> {
  %inf = arith.constant 0x7C00 : f16
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<64x1xf16>
  %i = linalg.fill ins(%inf : f16) outs(%e : tensor<64x1xf16>) -> tensor<64x1xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>],
                       iterator_types = ["parallel", "reduction"]}
       ins(%x, %m : tensor<64x128xf16>, tensor<64x128xf16>) outs(%i : tensor<64x1xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %c = arith.cmpf ogt, %b, %zero : f16
    %s = arith.select %c, %a, %inf : f16
    %y = arith.minimumf %s, %o : f16
    linalg.yield %y : f16
  } -> tensor<64x1xf16>
  return %r : tensor<64x1xf16>
}
"""

CAUSAL = """func.func @main(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%x : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi sle, %j, %i : index
    %t = math.tanh %a : f32
    %y = arith.select %c, %t, %zero : f32
    linalg.yield %y : f32
  } -> tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}
"""

JOINED = """func.func @main(%x: tensor<16x32xf32>, %past: tensor<16x16xf32>) -> tensor<16x32xf32> {
  %a = tensor.extract_slice %x[0, 16] [16, 16] [1, 1] : tensor<16x32xf32> to tensor<16x16xf32>
  %m = arith.mulf %a, %past : tensor<16x16xf32>
  %e = tensor.empty() : tensor<16x32xf32>
  %0 = tensor.insert_slice %past into %e[0, 0] [16, 16] [1, 1] : tensor<16x16xf32> into tensor<16x32xf32>
  %1 = tensor.insert_slice %m into %0[0, 16] [16, 16] [1, 1] : tensor<16x16xf32> into tensor<16x32xf32>
  %t = math.tanh %1 : tensor<16x32xf32>
  return %t : tensor<16x32xf32>
}
"""

REPEATED = """func.func @main(%x: tensor<64xf32>) -> tensor<16x64xf32> {
  %t = math.tanh %x : tensor<64xf32>
  %e = tensor.empty() : tensor<16x64xf32>
  %b = linalg.broadcast ins(%t : tensor<64xf32>) outs(%e : tensor<16x64xf32>) dimensions = [0]
  return %b : tensor<16x64xf32>
}
"""


@pytest.mark.parametrize(
    "source", [MASKED_MINIMUM, CAUSAL, JOINED, REPEATED], ids=["masked minimum", "causal", "joined", "repeated"]
)
def test_kernel_runs_clean_and_is_accurate(source: str, tmp_path: Path) -> None:
    """All machine checks on, unwritten bytes of the result among them; compared with upstream's JIT and with f64."""
    file = tmp_path / "program.mlir"
    file.write_text(source)
    done = compile_file(file, CompileOptions(samples=100, limits=SearchLimits(operators=5, grid_dims=2)))
    assert done.discovery.proved and all(v.proved or v.counterexample for v in done.discovery.verdicts)
    assert done.accuracy and all(a.ok and a.used <= 1 for a in done.accuracy)
