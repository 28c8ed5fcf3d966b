"""``prism_mlir.jax.jit`` on the PTX machine, against NumPy in f64."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
pytestmark = pytest.mark.extras

QUICK: dict[str, Any] = {"samples": 20}
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On the PTX machine, with every warning of Prism an error."""
    from prism_mlir.frameworks.fallback import PrismWarning

    monkeypatch.setenv("PRISM_EMULATE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrismWarning)
        yield


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return jnp.asarray(RNG.standard_normal(shape), dtype)


def close(got: Any, wanted: Any, bits: int, roundings: int = 8) -> None:
    """To a few roundings to so many bits, of the largest element."""
    assert got.shape == wanted.shape
    allowed = roundings * 2.0**-bits * max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(np.asarray(got, np.float64), wanted, rtol=0, atol=allowed)


def test_a_function_of_a_tree_that_returns_a_tree() -> None:
    from prism_mlir.jax import jit

    @jit(**QUICK)
    def f(weights: dict[str, Any], x: Any) -> dict[str, Any]:
        y = x @ weights["in"]
        return {"out": (y * jax.nn.sigmoid(y)) @ weights["out"], "none": None}

    x, weights = normal(16, 32), {"in": normal(32, 64), "out": normal(64, 16)}
    got = f(weights, x)
    y = np.float64(x) @ np.float64(weights["in"])
    assert got["none"] is None and isinstance(got["out"], jax.Array)
    close(got["out"], (y / (1 + np.exp(-y))) @ np.float64(weights["out"]), 24)
