"""One product a group of rows, each group with its own matrix (a mixture of experts), by a few programs that walk all tiles."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def grouped_matmul(
    x, weights, out, first_row, groups, n, k, PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """``out[r] = x[r] @ weights[g]`` for rows ``first_row[g] <= r < first_row[g + 1]``; all arrays are row-major."""
    tiles_n = tl.cdiv(n, BLOCK_N)
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        begin = tl.load(first_row + g)
        end = tl.load(first_row + g + 1)
        tiles = tl.cdiv(end - begin, BLOCK_M) * tiles_n
        while tile < done + tiles:
            i = begin + (tile - done) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
            j = (tile - done) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
            total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
            for start in range(0, k, BLOCK_K):
                p = start + tl.arange(0, BLOCK_K)
                a = tl.load(x + i * k + p[None, :], mask=(i < end) & (p[None, :] < k), other=0.0)
                w = tl.load(weights + (g * k + p[:, None]) * n + j, mask=(p[:, None] < k) & (j < n), other=0.0)
                total = tl.dot(a, w, total)
            tl.store(out + i * n + j, total.to(out.dtype.element_ty), mask=(i < end) & (j < n))
            tile += PROGRAMS
        done += tiles
