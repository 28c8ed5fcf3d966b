"""Attention without scores in memory: online softmax over blocks of keys, for any number of query rows.

Few rows leave most of the chip idle, so keys may be shared out to PARTS of programs, whose results a second kernel combines
(Flash-Decoding); or programs take SLICE columns of the values each, and each computes all scores for itself.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def step(
    x, k, v, mask, top, total, acc, keys, at, rows, column, scale,
    ROWS: tl.constexpr, KEYS: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    """One block of keys: ``keys`` are their rows in ``k`` and ``v``, ``at`` their positions."""
    d = tl.arange(0, HEAD)
    s = tl.dot(x, tl.load(k + keys[None, :] * HEAD + d[:, None])) * scale
    if CAUSAL:
        s = tl.where(at[None, :] <= rows[:, None], s, -1.0e30)
    if MASK:
        given = tl.load(mask + rows[:, None] * KEYS + at[None, :], mask=rows[:, None] < ROWS, other=0.0)
        s += given.to(tl.float32) * 1.4426950408889634
    new = tl.maximum(top, tl.max(s, 1))
    shrink = tl.exp2(top - new)
    p = tl.exp2(s - new[:, None])
    total = total * shrink + tl.sum(p, 1)
    z = tl.load(v + keys[:, None] * HEAD + column[None, :])
    return new, total, tl.dot(p.to(z.dtype), z, acc * shrink[:, None])


@triton.jit
def attention(
    q, k, v, more_k, more_v, mask, out, part_top, part_sum, scale, eps,
    ROWS: tl.constexpr, KEYS: tl.constexpr, MORE: tl.constexpr, HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PARTS: tl.constexpr, SLICE: tl.constexpr,
    NORM: tl.constexpr, CAUSAL: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    """``q``: (heads, ROWS, HEAD); ``k``, ``v``: (heads, KEYS, HEAD), then ``more_k``, ``more_v``: (heads, MORE, HEAD); ``mask``:
    (ROWS, KEYS). ``out``: as ``q``, or with PARTS f32 (PARTS, heads, ROWS, HEAD), ``part_top``, ``part_sum``: without HEAD.
    Programs: blocks of rows, heads, parts or slices. PARTS times a multiple of BLOCK_N are all keys, and end where ``k`` ends.
    """
    head, heads, third = tl.program_id(1), tl.num_programs(1), tl.program_id(2)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    here = rows < ROWS
    part = third if PARTS > 1 else 0
    column = tl.arange(0, SLICE) if PARTS > 1 else third * SLICE + tl.arange(0, SLICE)
    x = tl.load(q + (head * ROWS + rows[:, None]) * HEAD + d[None, :], mask=here[:, None], other=0.0)
    if NORM:
        wide = x.to(tl.float32)
        x = (wide / tl.sqrt(tl.sum(wide * wide, 1) / HEAD + eps)[:, None]).to(x.dtype)
    scale *= 1.4426950408889634  # powers of two from here on
    top = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, SLICE), tl.float32)
    share: tl.constexpr = (KEYS + MORE) // PARTS
    last = tl.minimum((part + 1) * share, KEYS)
    if CAUSAL:
        last = tl.minimum(last, (tl.program_id(0) + 1) * BLOCK_M)
    for start in range(part * share, last, BLOCK_N):
        at = start + tl.arange(0, BLOCK_N)
        top, total, acc = step(
            x, k, v, mask, top, total, acc, head * KEYS + at, at, rows, column, scale, ROWS, KEYS, HEAD, CAUSAL, MASK
        )
    if MORE:
        for start in range(tl.maximum(part * share - KEYS, 0), (part + 1) * share - KEYS, BLOCK_N):
            at = start + tl.arange(0, BLOCK_N)
            keys = head * MORE + at
            top, total, acc = step(
                x, more_k, more_v, mask, top, total, acc, keys, at, rows, column, scale, ROWS, KEYS, HEAD, False, False
            )
    if PARTS == 1:
        acc /= total[:, None]
    row = (part * heads + head) * ROWS + rows
    tl.store(out + row[:, None] * HEAD + column[None, :], acc.to(out.dtype.element_ty), mask=here[:, None])
    if PARTS > 1:
        tl.store(part_top + row, top, mask=here)
        tl.store(part_sum + row, total, mask=here)


@triton.jit
def row_step(x, k, v, top, total, acc, keys, column, scale, HEAD: tl.constexpr):
    """One block of keys for one row: ``keys`` are their rows in ``k`` and ``v``."""
    d = tl.arange(0, HEAD)
    y = tl.load(k + keys[:, None] * HEAD + d[None, :]).to(tl.float32)
    z = tl.load(v + keys[:, None] * HEAD + column[None, :]).to(tl.float32)
    s = tl.sum(y * x[None, :], 1) * scale
    new = tl.maximum(top, tl.max(s, 0))
    shrink = tl.exp2(top - new)
    p = tl.exp2(s - new)
    return new, total * shrink + tl.sum(p, 0), acc * shrink + tl.sum(z * p[:, None], 0)


@triton.jit
def row_attention(
    q, k, v, more_k, more_v, out, part_top, part_sum, scale, eps,
    KEYS: tl.constexpr, MORE: tl.constexpr, HEAD: tl.constexpr, BLOCK_N: tl.constexpr, PARTS: tl.constexpr,
    SLICE: tl.constexpr, NORM: tl.constexpr,
):  # fmt: skip
    """The same for one row a head, which tensor cores would pad to 16. Programs: parts or slices, heads."""
    first, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    d = tl.arange(0, HEAD)
    part = first if PARTS > 1 else 0
    column = tl.arange(0, SLICE) if PARTS > 1 else first * SLICE + tl.arange(0, SLICE)
    x = tl.load(q + head * HEAD + d).to(tl.float32)
    if NORM:
        x = x / tl.sqrt(tl.sum(x * x, 0) / HEAD + eps)
    scale *= 1.4426950408889634
    top = -1.0e30
    total = 0.0
    acc = tl.zeros((SLICE,), tl.float32)
    share: tl.constexpr = (KEYS + MORE) // PARTS
    for start in range(part * share, tl.minimum((part + 1) * share, KEYS), BLOCK_N):
        keys = head * KEYS + start + tl.arange(0, BLOCK_N)
        top, total, acc = row_step(x, k, v, top, total, acc, keys, column, scale, HEAD)
    if MORE:
        for start in range(tl.maximum(part * share - KEYS, 0), (part + 1) * share - KEYS, BLOCK_N):
            keys = head * MORE + start + tl.arange(0, BLOCK_N)
            top, total, acc = row_step(x, more_k, more_v, top, total, acc, keys, column, scale, HEAD)
    row = part * heads + head
    if PARTS == 1:
        acc /= total
    tl.store(out + row * HEAD + column, acc.to(out.dtype.element_ty))
    if PARTS > 1:
        tl.store(part_top + row, top)
        tl.store(part_sum + row, total)


@triton.jit
def combine(
    part_out, part_top, part_sum, out,
    PARTS: tl.constexpr, PADDED: tl.constexpr, ALL: tl.constexpr, HEAD: tl.constexpr,
):  # fmt: skip
    """One program a query row; ``ALL`` is the number of query rows of all heads; PADDED, a power of two, at least PARTS."""
    row, p, d = tl.program_id(0), tl.arange(0, PADDED), tl.arange(0, HEAD)
    here = p < PARTS
    top = tl.load(part_top + p * ALL + row, mask=here, other=-1.0e30)
    weight = tl.exp2(top - tl.max(top, 0))
    x = tl.load(part_out + (p[:, None] * ALL + row) * HEAD + d[None, :], mask=here[:, None], other=0.0)
    total = tl.sum(tl.load(part_sum + p * ALL + row, mask=here, other=0.0) * weight, 0)
    tl.store(out + row * HEAD + d, (tl.sum(x * weight[:, None], 0) / total).to(out.dtype.element_ty))
