"""Attention of a few query rows to a long cache (Flash-Decoding): parts of the cache in parallel, then one combination.

Unlike the kernel of the test corpus, query rows are padded to the 16 that a tensor core takes, and may be normalised first.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def decode_part(
    q, k, v, part_out, part_top, part_sum, scale, eps,
    ROWS: tl.constexpr, PADDED: tl.constexpr, HEAD: tl.constexpr, KEYS: tl.constexpr, CHUNK: tl.constexpr,
    BLOCK_N: tl.constexpr, NORM: tl.constexpr,
):  # fmt: skip
    """``q``: (heads, ROWS, HEAD); ``k``, ``v``: (heads, KEYS, HEAD); ``part_out``: (parts, heads, ROWS, HEAD)."""
    part, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    g, d = tl.arange(0, PADDED), tl.arange(0, HEAD)
    here = g < ROWS
    x = tl.load(q + (head * ROWS + g[:, None]) * HEAD + d[None, :], mask=here[:, None], other=0.0)
    if NORM:
        wide = x.to(tl.float32)
        x = (wide / tl.sqrt(tl.sum(wide * wide, 1) / HEAD + eps)[:, None]).to(x.dtype)
    top = tl.full((PADDED,), -1.0e30, tl.float32)
    total = tl.zeros((PADDED,), tl.float32)
    acc = tl.zeros((PADDED, HEAD), tl.float32)
    for start in range(part * CHUNK, (part + 1) * CHUNK, BLOCK_N):
        keys = head * KEYS + start + tl.arange(0, BLOCK_N)
        s = tl.dot(x, tl.load(k + keys[None, :] * HEAD + d[:, None])) * scale
        new = tl.maximum(top, tl.max(s, 1))
        shrink = tl.exp(top - new)
        p = tl.exp(s - new[:, None])
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + keys[:, None] * HEAD + d[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc * shrink[:, None])
        top = new
    row = (part * heads + head) * ROWS + g
    tl.store(part_out + row[:, None] * HEAD + d[None, :], acc, mask=here[:, None])
    tl.store(part_top + row, top, mask=here)
    tl.store(part_sum + row, total, mask=here)


@triton.jit
def decode_combine(
    part_out, part_top, part_sum, out,
    PARTS: tl.constexpr, ALL: tl.constexpr, HEAD: tl.constexpr,
):  # fmt: skip
    """One program a query row; ``ALL`` is the number of query rows of all heads, ``PARTS`` a power of two."""
    row, p, d = tl.program_id(0), tl.arange(0, PARTS), tl.arange(0, HEAD)
    top = tl.load(part_top + p * ALL + row)
    weight = tl.exp(top - tl.max(top, 0))
    x = tl.load(part_out + (p[:, None] * ALL + row) * HEAD + d[None, :])
    total = tl.sum(tl.load(part_sum + p * ALL + row) * weight, 0)
    tl.store(out + row * HEAD + d, (tl.sum(x * weight[:, None], 0) / total).to(out.dtype.element_ty))
