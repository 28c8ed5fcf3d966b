"""One small compilation for all tests of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

SOURCE = """
func.func @gated(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>, %s: tensor<16x1xf16>) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<16x32xf16>
  %z = linalg.fill ins(%zero : f16) outs(%e : tensor<16x32xf16>) -> tensor<16x32xf16>
  %y = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%z : tensor<16x32xf16>) -> tensor<16x32xf16>
  %p = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%y, %s : tensor<16x32xf16>, tensor<16x1xf16>) outs(%e : tensor<16x32xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %m = arith.mulf %a, %b : f16
    %n = math.exp %m : f16
    linalg.yield %n : f16
  } -> tensor<16x32xf16>
  return %p : tensor<16x32xf16>
}
"""


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as ``prism compile`` writes it. Tests copy it before they change it."""
    from prism_mlir.compiler.options import CompileOptions
    from prism_mlir.compiler.pipeline import compile_text
    from prism_mlir.tools.emit import render, write_all

    folder = tmp_path_factory.mktemp("report") / "gated"
    write_all(folder, render(compile_text(SOURCE, "gated.mlir", CompileOptions(samples=100))))
    return folder
