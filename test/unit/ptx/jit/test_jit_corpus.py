"""Whole kernels on both engines: every byte of every buffer and every count is the same.

The corpus is upstream MLIR's GEMM, what Triton wrote for sm_80 (see ``test_skinny_gemm`` and ``test_triton``), and a GEMM that
this project's code generator emitted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ptx_harness import same_bits

from prism_mlir.runtime.ptx import Checks, Module
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

DATA = Path(__file__).parents[1] / "data"
RNG = np.random.default_rng(7)


def halves(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / 4).astype(np.float16)


@cache
def weights() -> np.ndarray:
    """A large matrix that nothing writes."""
    w = RNG.integers(-64, 64, (4096, 4096), np.int8).astype(np.float16)
    w.flags.writeable = False
    return w


def gemm(rows: int, shared: int) -> tuple[list[Any], tuple[int, ...], int]:
    """Four blocks of 64."""
    return [halves(rows, 4096), weights(), np.full((rows, 4096), np.nan, np.float16)], (4,), shared


def softmax() -> tuple[list[Any], tuple[int, ...], int]:
    x = (RNG.standard_normal((9, 1000)) * 3).astype(np.float32)
    return [x, np.full((9, 1000), np.nan, np.float32), 1000], (9,), 16


def matmul() -> tuple[list[Any], tuple[int, ...], int]:
    m, n, k = 100, 77, 83
    return [halves(m, k), halves(k, n), np.full((m, n), np.nan, np.float16), m, n, k], (2, 2), 8192


def attention() -> tuple[list[Any], tuple[int, ...], int]:
    s = 256
    q, k, v = (halves(s, 64) for _ in range(3))
    return [q, k, v, np.full((s, 64), np.nan, np.float16), s, 0.18], (s // 64,), 16384


CASES: dict[str, Callable[[], tuple[list[Any], tuple[int, ...], int]]] = {
    "skinny_gemm": lambda: gemm(8, 0),
    "emitted_gemm_16": lambda: gemm(16, 40960),
    "triton_softmax": softmax,
    "triton_matmul": matmul,
    "triton_attention": attention,
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("checks", [Checks.none(), FAST_CHECKS], ids=["plain", "checked"])
def test_both_engines_agree(name: str, checks: Checks) -> None:
    args, grid, shared = CASES[name]()
    (kernel,) = Module.load((DATA / f"{name}.ptx").read_text(), name).kernels.values()
    args += [np.zeros(1, np.uint8)] * (len(kernel.params) - len(args))  # pointers of Triton's own, unused here
    copies = [a.copy() if isinstance(a, np.ndarray) and a.flags.writeable else a for a in args]
    shape: dict[str, Any] = {"grid": grid, "block": (128,), "shared_bytes": shared, "checks": checks}
    slow = kernel.run(**shape, args=args)
    fast = kernel.run(**shape, args=copies, engine="fast")
    assert (slow.engine, fast.engine) == ("reference", "fast"), fast.fallback_reason
    for a, b in zip(args, copies, strict=True):
        if b is not a:
            same_bits(b, a)
    assert fast.counters == slow.counters


def test_what_is_compiled_once_is_kept() -> None:
    args, grid, shared = softmax()
    kernel = Module.load((DATA / "triton_softmax.ptx").read_text()).kernel("softmax")
    args += [np.zeros(1, np.uint8)] * (len(kernel.params) - len(args))
    for _ in range(2):
        kernel.run(grid=grid, block=(128,), args=args, shared_bytes=shared, engine="fast")
    assert len(kernel._compiled) == 1
