"""A few rows times one or two weight matrices: RMSNorm before, SiLU or a plain product of both results after.

The norm of a row is a factor of the whole row, so that it is taken from the tiles that the product reads anyway, and multiplied
in at the end.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def gated_matmul(
    x, w, v, out, eps,
    ROWS: tl.constexpr, K: tl.constexpr, N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr, NORM: tl.constexpr, GATE: tl.constexpr, SILU: tl.constexpr,
):  # fmt: skip
    """``x``: (ROWS, K); ``w`` and, with GATE, ``v``: (K, N); ``out``: (ROWS, N). ROWS <= BLOCK_M; the blocks divide N and K."""
    m = tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    first = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    second = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    squares = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(x + m[:, None] * K + k[None, :], mask=m[:, None] < ROWS, other=0.0)
        if NORM:
            wide = a.to(tl.float32)
            squares += tl.sum(wide * wide, 1)
        first = tl.dot(a, tl.load(w + k[:, None] * N + n[None, :]), first)
        if GATE:
            second = tl.dot(a, tl.load(v + k[:, None] * N + n[None, :]), second)
    if NORM:
        factor = 1.0 / tl.sqrt(squares / K + eps)
        first *= factor[:, None]
        second *= factor[:, None]
    if SILU:
        first = first / (1.0 + tl.exp(-first))
    if GATE:
        first *= second
    tl.store(out + m[:, None] * N + n[None, :], first.to(out.dtype.element_ty), mask=m[:, None] < ROWS)
