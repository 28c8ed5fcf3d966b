"""``c = a @ b``: any strides, ragged edges, a pipelined loop over k, tiles in groups of rows for the cache."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def tile_of(index, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Row and column of a tile, so that ``GROUP`` rows of tiles are walked column by column."""
    group = index // (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    return group * GROUP + index % height, index % (GROUP * tiles_n) // height


@triton.jit
def matmul(
    a, b, c, m, n, k, row_a, col_a, row_b, col_b,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    SUM: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """``row_*`` and ``col_*`` are strides in elements; ``c`` is row-major; ``SUM`` is the type of the accumulators."""
    at_m, at_n = tile_of(tl.program_id(0), tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N), GROUP)
    i = at_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    j = at_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    p = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), SUM)
    for start in range(0, k, BLOCK_K):
        pa = start + p[None, :]
        pb = start + p[:, None]
        x = tl.load(a + i * row_a + pa * col_a, mask=(i < m) & (pa < k), other=0.0)
        y = tl.load(b + pb * row_b + j * col_b, mask=(pb < k) & (j < n), other=0.0)
        total = tl.dot(x, y, total, input_precision=PRECISION, out_dtype=SUM)
    tl.store(c + i * n + j, total.to(c.dtype.element_ty), mask=(i < m) & (j < n))
