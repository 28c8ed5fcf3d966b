"""Text of scalar functions: what is read, and what is refused with a typed error."""

from __future__ import annotations

import pytest

from prism_mlir.graph.errors import InputError
from prism_mlir.graph.scalar_fn import ScalarFn


@pytest.mark.parametrize(
    "text", ["x", "exp(-x)", "x/(1 + exp(-x))", "rsqrt(x/1024 + 1e-06)", "Max(x, 0)", "2**0.5*x", "oo"]
)
def test_canonical_text_reads_back_as_itself(text: str) -> None:
    canonical = ScalarFn.parse(text)
    assert ScalarFn.parse(canonical.text) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exp()", "gives exp 0 arguments"),
        ("exp(x, x)", "gives exp 2 arguments"),
        ("2**99999999999", "power above 1024"),
        ("2**(1/0)*", "cannot read"),
        ("y", "something other than arithmetic"),
        ("__import__('os')", "something other than arithmetic"),
        ("x if x else x", "something other than arithmetic"),
        ("x % 2", "an operator other than"),
        ("(" * 500 + "x", "cannot read"),
    ],
)
def test_everything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ScalarFn.parse(text)
