"""Instructions of scalar functions, counted on paper."""

from __future__ import annotations

import pytest

from prism_mlir.graph.scalar_fn import ScalarFn
from prism_mlir.tune.scalar_work import scalar_work


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("-x", 1),
        ("x**2", 1),
        ("x**3", 2),
        ("x**8", 3),
        ("x/4 + 1", 2),
        ("exp(x)", 1 + 4),
        ("1/x", 8),
        ("1/sqrt(x/64 + 1)", 2 + 4),
        ("x/(exp(-x) + 1)", 1 + 5 + 1 + 8),  # a minus, an exponential, a sum, a division
        ("tanh(x)", 16),
    ],
)
def test_work(text: str, work: int) -> None:
    assert scalar_work(ScalarFn.parse(text)) == work
