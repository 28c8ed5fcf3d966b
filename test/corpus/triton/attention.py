"""Flash attention, forward: one program a block of queries, one pass over the keys with a running maximum and sum."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def attention(
    q, k, v, out, lse, length, scale,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """``q``, ``k``, ``v``, ``out``: (heads, length, HEAD); ``lse``: (heads, length), natural logarithm of the sums."""
    block, head = tl.program_id(0), tl.program_id(1)
    base = head * length * HEAD
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    inside = rows[:, None] < length
    x = tl.load(q + base + rows[:, None] * HEAD + d[None, :], mask=inside, other=0.0)
    top = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    end = length
    if CAUSAL:
        end = min(length, (block + 1) * BLOCK_M)
    log2e = 1.4426950408889634
    for start in range(0, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        y = tl.load(k + base + keys[None, :] * HEAD + d[:, None], mask=keys[None, :] < length, other=0.0)
        s = tl.dot(x, y) * (scale * log2e)
        seen = keys[None, :] < length
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        shrink = tl.exp2(top - new)
        p = tl.exp2(s - new[:, None])
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + base + keys[:, None] * HEAD + d[None, :], mask=keys[:, None] < length, other=0.0)
        acc = tl.dot(p.to(z.dtype), z, acc * shrink[:, None])
        top = new
    tl.store(
        out + base + rows[:, None] * HEAD + d[None, :], (acc / total[:, None]).to(out.dtype.element_ty), mask=inside
    )
    tl.store(lse + head * length + rows, top / log2e + tl.log(total), mask=rows < length)
