"""The order of loops: reductions keep theirs, and results keep every bit."""

from __future__ import annotations

import numpy as np
import pytest

import prism_mlir.runtime.cpu_jit as cpu_jit
from prism_mlir.runtime.loop_order import loop_order


@pytest.mark.parametrize(
    ("kinds", "order"),
    [
        ("ppr", (0, 2, 1)),
        ("bppr", (0, 1, 3, 2)),
        ("prpr", (0, 1, 3, 2)),
        ("rrp", (0, 1, 2)),
        ("pp", (0, 1)),
        ("rr", (0, 1)),
        ("", ()),
    ],
)
def test_loop_order(kinds: str, order: tuple[int, ...]) -> None:
    names = {"p": "parallel", "b": "parallel", "r": "reduction"}
    assert loop_order([names[k] for k in kinds]) == order


MATMUL = """func.func @f(%a: tensor<5x33xf32>, %b: tensor<33x7xf32>) -> tensor<5x7xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %m = linalg.matmul ins(%a, %b : tensor<5x33xf32>, tensor<33x7xf32>) outs(%z : tensor<5x7xf32>) -> tensor<5x7xf32>
  return %m : tensor<5x7xf32>
}"""


def test_results_are_bitwise_those_of_a_sequential_sum() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((5, 33), dtype=np.float32), rng.standard_normal((33, 7), dtype=np.float32)
    expected = np.zeros((5, 7), np.float32)
    for k in range(33):
        expected += a[:, k : k + 1] * b[k : k + 1, :]
    (result,) = cpu_jit.run_module(MATMUL, [a, b])
    np.testing.assert_array_equal(result, expected)


def test_order_does_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((5, 33), dtype=np.float32), rng.standard_normal((33, 7), dtype=np.float32)
    (ordered,) = cpu_jit.run_module(MATMUL, [a, b])
    monkeypatch.setattr(cpu_jit, "contiguous_innermost", lambda module: None)
    (plain,) = cpu_jit.run_module(MATMUL, [a, b])
    np.testing.assert_array_equal(ordered, plain)
