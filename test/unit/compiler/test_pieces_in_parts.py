"""A result that several kernels write, each its own rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import Compilation, compile_text
from prism_mlir.graph.errors import ExecutionError
from prism_mlir.search.limits import SearchLimits

SOURCE = """
func.func @main(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>, %c: tensor<32x16xf16>) -> tensor<32x16xf16> {
  %z = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<16x16xf16>
  %f = linalg.fill ins(%z : f16) outs(%e : tensor<16x16xf16>) -> tensor<16x16xf16>
  %p = linalg.matmul ins(%a, %b : tensor<16x32xf16>, tensor<32x16xf16>) outs(%f : tensor<16x16xf16>) -> tensor<16x16xf16>
  %q = linalg.matmul ins(%a, %c : tensor<16x32xf16>, tensor<32x16xf16>) outs(%f : tensor<16x16xf16>) -> tensor<16x16xf16>
  %t = math.tanh %q : tensor<16x16xf16>
  %r = tensor.concat dim(0) %p, %t : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<32x16xf16>
  return %r : tensor<32x16xf16>
}
"""


@pytest.fixture(scope="module")
def done() -> Compilation:
    return compile_text(SOURCE, "pieces.mlir", CompileOptions(limits=SearchLimits(operators=1), alternatives=False))


def arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=s).astype(np.float16) for s in ((16, 32), (32, 16), (32, 16))]


def test_each_kernel_writes_its_rows(done: Compilation) -> None:
    assert len(done.launch.kernels) == 3
    a, b, c = arguments()
    (got,) = Emulator(done.launch, done.built.ptx)([a, b, c])
    wide = [x.astype(np.float64) for x in (a, b, c)]
    wanted = np.concatenate([wide[0] @ wide[1], np.tanh(wide[0] @ wide[2])])
    np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=4e-3, atol=4e-3)


def test_rows_that_nobody_writes_are_found(done: Compilation) -> None:
    without = replace(done.launch, kernels=done.launch.kernels[:-1])
    with pytest.raises(ExecutionError, match="512 bytes of 'out' are not written"):
        Emulator(without, done.built.ptx)(arguments())
