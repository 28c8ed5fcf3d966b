"""Counter-based random numbers (Philox): dropout that is the same for the same seed, and normal numbers."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def dropout(x, out, n, rate, seed, BLOCK: tl.constexpr):
    """``x / (1 - rate)`` where the random number of an element exceeds ``rate``, else 0."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    keep = tl.rand(seed, i) > rate
    v = tl.load(x + i, mask=inside)
    tl.store(out + i, tl.where(keep, v / (1.0 - rate), 0.0), mask=inside)


@triton.jit
def random_integers(out, n, seed, BLOCK: tl.constexpr):
    """All four words of Philox for each element: ``out`` is (n, 4)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, i)
    inside = i < n
    tl.store(out + 4 * i, a.to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + 4 * i + 1, b.to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + 4 * i + 2, c.to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + 4 * i + 3, d.to(tl.int32, bitcast=True), mask=inside)


@triton.jit
def random_normal(out, n, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.randn(seed, i), mask=i < n)
