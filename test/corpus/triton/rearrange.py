"""Moves within a row: reversing, the largest elements, a gather, transposing, pairs, and reductions that Triton has names for."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rearrange(x, moved, largest, totals, BLOCK: tl.constexpr, TOP: tl.constexpr):
    """``moved`` (5, BLOCK): reversed, element 7 i mod BLOCK, transposed from rows of 4, halves interleaved, running product.

    ``largest`` (TOP): in descending order; ``totals`` (4): maximum, its position, exclusive or and or of the positions.
    """
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(moved + i, tl.flip(v))
    tl.store(moved + BLOCK + i, tl.gather(v, i * 7 % BLOCK, 0))
    tl.store(moved + 2 * BLOCK + i, tl.ravel(tl.trans(tl.reshape(v, (BLOCK // 4, 4)))))
    even, odd = tl.split(tl.reshape(v, (BLOCK // 2, 2)))
    tl.store(moved + 3 * BLOCK + i, tl.interleave(odd, even))
    tl.store(moved + 4 * BLOCK + i, tl.cumprod(v, 0))
    tl.store(largest + tl.arange(0, TOP), tl.topk(v, TOP))
    top, where = tl.max(v, 0, return_indices=True)
    tl.store(totals, top)
    tl.store(totals + 1, where.to(tl.float32))
    tl.store(totals + 2, tl.xor_sum(i, 0).to(tl.float32))
    tl.store(totals + 3, tl.reduce_or(i, 0).to(tl.float32))
