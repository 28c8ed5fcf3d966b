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


def test_static_arguments_and_a_program_for_every_set_of_shapes() -> None:
    from prism_mlir.jax import jit

    def f(x: Any, rows: int, *, w: Any, double: bool = False) -> Any:
        y = x[:rows] @ w
        return 2 * y if double else y

    g = jit(f, static_argnums=1, static_argnames="double", **QUICK)
    assert g.__name__ == "f"
    x, w = normal(16, 32), normal(32, 16)
    wanted = np.float64(x) @ np.float64(w)
    close(g(x, 8, w=w), wanted[:8], 24)
    close(g(x, 8, w=w), wanted[:8], 24)
    assert g.programs == 1
    close(g(x, 4, w=w, double=True), 2 * wanted[:4], 24)
    close(g(x[:8], 8, w=w), wanted[:8], 24)
    assert g.programs == 3


def test_rms_norm_and_product_in_bf16() -> None:
    from prism_mlir.jax import jit

    def f(x: Any, w: Any, scale: Any) -> Any:
        wide = x.astype(jnp.float32)
        normed = wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
        return (normed.astype(x.dtype) * scale) @ w

    x, w, scale = (normal(*s, dtype=jnp.bfloat16) for s in ((16, 32), (32, 16), (32,)))
    got = jit(f, **QUICK)(x, w, scale)
    assert got.dtype == jnp.bfloat16
    x64, w64, s64 = (np.asarray(v, np.float64) for v in (x, w, scale))
    wanted = (x64 / np.sqrt((x64 * x64).mean(-1, keepdims=True) + 1e-6) * s64) @ w64
    close(got, wanted, 8)


def test_causal_attention() -> None:
    from prism_mlir.jax import jit

    def f(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("hqd,hkd->hqk", q, k) * 0.25
        scores = jnp.where(jnp.tril(jnp.ones((16, 16), bool)), scores, -jnp.inf)
        return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, -1), v)

    q, k, v = (normal(2, 16, 16, dtype=jnp.float16) for _ in range(3))
    q64, k64, v64 = (np.float64(t) for t in (q, k, v))
    scores = np.where(np.tril(np.ones((16, 16), bool)), q64 @ k64.swapaxes(1, 2) * 0.25, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    close(jit(f, **QUICK)(q, k, v), weights / weights.sum(-1, keepdims=True) @ v64, 11)


def test_numbers_and_results_without_dims() -> None:
    from prism_mlir.jax import jit

    f = jit(lambda x, factor: (jnp.sum(x * factor, axis=-1), jnp.max(x)), **QUICK)
    x = normal(16, 32)
    sums, most = f(x, 0.5)
    close(sums, np.float64(x).sum(-1) * 0.5, 24, 64)
    assert float(most) == float(np.asarray(x).max())


def test_kernels_of_a_function() -> None:
    from prism_mlir.jax import compile, to_mlir

    def f(x: Any, w: Any, power: int) -> Any:
        return (x @ w) ** power

    shapes = jax.ShapeDtypeStruct((16, 32), jnp.float32), jax.ShapeDtypeStruct((32, 16), jnp.float32)
    assert "stablehlo.dot_general" in to_mlir(f, *shapes, 2, static_argnums=2)
    result = compile(f, *shapes, 2, static_argnums=2, **QUICK)
    x, w = (np.asarray(normal(*s.shape)) for s in shapes)
    close(result(x, w), (np.float64(x) @ np.float64(w)) ** 2, 24, 32)


def warned(f: Any, *arguments: Any) -> tuple[Any, str]:
    """The result, and the text of the only warning; a second call gives none."""
    from prism_mlir.jax import PrismWarning

    with pytest.warns(PrismWarning) as caught:
        result = f(*arguments)
        f(*arguments)
    (text,) = [str(w.message) for w in caught if issubclass(w.category, PrismWarning)]
    return result, text


def test_arrays_on_the_cpu_fall_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_mlir.jax import jit

    monkeypatch.delenv("PRISM_EMULATE")

    @jit
    def product(x: Any, w: Any) -> Any:
        return x @ w

    x, w = normal(4, 8), normal(8, 4)
    result, text = warned(product, x, w)
    np.testing.assert_array_equal(result, x @ w)
    assert text == (
        "product() of prism_mlir.jax.jit runs as jax.jit has it, since its arrays are on the CPU; "
        "set PRISM_EMULATE=1 to run kernels on the PTX machine, for tests"
    )


def test_transformations_fall_back() -> None:
    from prism_mlir.jax import jit

    f = jit(lambda x: jnp.sum(x * x))
    x = normal(8)
    result, text = warned(jax.grad(f), x)
    close(result, 2 * np.float64(x), 24)
    assert "inside another transformation of JAX; call it outside of grad, vmap and jit" in text


def test_what_has_no_kernel_falls_back() -> None:
    from prism_mlir.jax import jit

    x = normal(8)
    result, text = warned(jit(lambda t: jnp.sort(t)), x)
    np.testing.assert_array_equal(result, np.sort(x))
    assert text.startswith("<lambda>() of prism_mlir.jax.jit runs as jax.jit has it, since ")


def test_an_unknown_option_is_an_error() -> None:
    from prism_mlir.jax import jit

    with pytest.raises(TypeError, match="no option 'smaples'"):
        jit(lambda x: x @ x, smaples=3)(normal(4, 4))
