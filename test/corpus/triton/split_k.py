"""``c += a @ b`` where several programs share a tile and each adds the product over its part of k atomically."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def split_k(
    a, b, c, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """All arrays are row-major; ``c`` must be zero before."""
    tiles_n = tl.cdiv(n, BLOCK_N)
    i = tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    j = tl.program_id(0) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(tl.program_id(1) * BLOCK_K, k, BLOCK_K * PARTS):
        p = start + tl.arange(0, BLOCK_K)
        x = tl.load(a + i * k + p[None, :], mask=(i < m) & (p[None, :] < k), other=0.0)
        y = tl.load(b + p[:, None] * n + j, mask=(p[:, None] < k) & (j < n), other=0.0)
        total = tl.dot(x, y, total)
    tl.atomic_add(c + i * n + j, total.to(c.dtype.element_ty), mask=(i < m) & (j < n), sem="relaxed")
