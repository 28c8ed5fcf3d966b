"""Attention of one new query to a long cache (Flash-Decoding): parts of the cache in parallel, then one combination.

Several query heads share a head of keys and values; they form the rows of a tensor-core product.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def decode_part(
    q, k, v, part_out, part_lse, length, chunk, scale,
    SHARE: tl.constexpr, HEAD: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """``q``: (kv heads, SHARE, HEAD); ``k``, ``v``: (kv heads, length, HEAD); ``part_out``: (parts, kv heads, SHARE, HEAD)."""
    part, head = tl.program_id(0), tl.program_id(1)
    heads = tl.num_programs(1)
    g = tl.arange(0, SHARE)
    d = tl.arange(0, HEAD)
    x = tl.load(q + (head * SHARE + g[:, None]) * HEAD + d[None, :])
    top = tl.full((SHARE,), -1.0e30, tl.float32)
    total = tl.zeros((SHARE,), tl.float32)
    acc = tl.zeros((SHARE, HEAD), tl.float32)
    end = min(length, (part + 1) * chunk)
    for start in range(part * chunk, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        y = tl.load(k + (head * length + keys[None, :]) * HEAD + d[:, None], mask=keys[None, :] < end, other=0.0)
        s = tl.where(keys[None, :] < end, tl.dot(x, y) * scale, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        shrink = tl.exp(top - new)
        p = tl.exp(s - new[:, None])
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + (head * length + keys[:, None]) * HEAD + d[None, :], mask=keys[:, None] < end, other=0.0)
        acc = tl.dot(p.to(z.dtype), z, acc * shrink[:, None])
        top = new
    row = (part * heads + head) * SHARE + g
    tl.store(part_out + row[:, None] * HEAD + d[None, :], acc / total[:, None])
    tl.store(part_lse + row, top + tl.log(total))


@triton.jit
def decode_combine(part_out, part_lse, out, parts, rows, HEAD: tl.constexpr, PARTS: tl.constexpr):
    """One program a query head; ``PARTS`` >= ``parts``; ``rows`` is the number of query heads."""
    row = tl.program_id(0)
    p = tl.arange(0, PARTS)
    d = tl.arange(0, HEAD)
    lse = tl.load(part_lse + p * rows + row, mask=p < parts, other=-float("inf"))
    weight = tl.exp(lse - tl.max(lse, 0))
    x = tl.load(part_out + (p[:, None] * rows + row) * HEAD + d[None, :], mask=p[:, None] < parts, other=0.0)
    y = tl.sum(x * weight[:, None], 0) / tl.sum(weight, 0)
    tl.store(out + row * HEAD + d, y.to(out.dtype.element_ty))
