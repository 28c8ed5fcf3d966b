"""PTX that Triton 3.9 wrote for sm_80, kept as data: a softmax, a predicated matmul of ragged shape, a causal attention.

They cover what our own code does not emit: reductions through shared memory with redundant stores, other swizzles, prmt,
branches around predicated copies, exp2 with running maxima. Results are compared with f64.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_mlir.runtime.ptx import CheckError, Module

DATA = Path(__file__).parent / "data"
RNG = np.random.default_rng(31)


def run(
    name: str, grid: tuple[int, ...], args: list[Any], out: int, shared: int, edit: tuple[str, str] | None = None
) -> None:
    text = (DATA / f"triton_{name}.ptx").read_text()
    if edit:
        assert edit[0] in text
        text = text.replace(*edit)
    (kernel,) = Module.load(text, f"{name}.ptx").kernels.values()
    scratch = [np.zeros(1, np.uint8)] * (len(kernel.params) - len(args))  # pointers of Triton's own, unused here
    kernel.run(grid=grid, block=(128,), args=[*args, *scratch], shared_bytes=shared, outputs={out})


def softmax_case() -> tuple[np.ndarray, np.ndarray]:
    return (RNG.standard_normal((9, 1000)) * 3).astype(np.float32), np.full((9, 1000), np.nan, np.float32)


def test_softmax() -> None:
    x, y = softmax_case()
    run("softmax", (9,), [x, y, 1000], 1, 16)
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    assert np.allclose(y, exact, rtol=2e-6, atol=1e-9)


def test_softmax_without_its_barriers_races() -> None:
    x, y = softmax_case()
    with pytest.raises(CheckError) as caught:
        run("softmax", (9,), [x, y, 1000], 1, 16, ("bar.sync", "// bar.sync"))
    assert caught.value.kind in ("race", "uninitialised")


def test_softmax_of_a_shorter_buffer_is_out_of_bounds() -> None:
    x, y = softmax_case()
    with pytest.raises(CheckError) as caught:
        run("softmax", (9,), [x.reshape(-1)[:-1], y, 1000], 1, 16)
    assert caught.value.kind == "bounds" and caught.value.threads[0][0] == (8, 0, 0)


def test_ragged_matmul() -> None:
    m, n, k = 100, 77, 83
    a, b = (RNG.standard_normal((m, k)) / 8).astype(np.float16), RNG.standard_normal((k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    run("matmul", (2, 2), [a, b, c, m, n, k], 2, 8192)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    assert (np.abs(c - exact) <= k * 2.0**-24 * size + np.abs(exact) * 2.0**-11 + 2.0**-25).all()


def test_causal_attention() -> None:
    s, d, scale = 256, 64, 0.125
    q, k, v = (RNG.standard_normal((s, d)).astype(np.float16) for _ in range(3))
    o = np.full((s, d), np.nan, np.float16)
    run("attention", (s // 64,), [q, k, v, o, s, scale * 1.4426950408889634], 3, 16384)
    scores = q.astype(np.float64) @ k.T.astype(np.float64) * scale
    scores[np.triu_indices(s, 1)] = -np.inf
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    exact = p @ v.astype(np.float64)
    bound = 2.0**-10 * (p @ np.abs(v).astype(np.float64)) + 1e-6  # p is rounded to f16 once, the result once
    assert (np.abs(o - exact) <= bound).all()
