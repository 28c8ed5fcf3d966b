"""Softmax of each row: with the row in registers, and in one pass over blocks of a row (online maximum and sum)."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def softmax_row(x, out, columns, BLOCK: tl.constexpr):
    """One program a row; ``BLOCK`` >= ``columns``."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    v = tl.load(x + row * columns + i, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * columns + i, (e / tl.sum(e, 0)).to(out.dtype.element_ty), mask=inside)


@triton.jit
def softmax_online(x, out, columns, BLOCK: tl.constexpr):
    """One program a row; the maximum and the sum of what was seen so far are kept element by element of a block."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -1.0e30, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        v = tl.load(x + row * columns + start + i, mask=start + i < columns, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, v)
        total = total * tl.exp(top - new) + tl.exp(v - new)
        top = new
    peak = tl.max(top, 0)
    whole = tl.sum(total * tl.exp(top - peak), 0)
    for start in range(0, columns, BLOCK):
        inside = start + i < columns
        v = tl.load(x + row * columns + start + i, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + row * columns + start + i, (tl.exp(v - peak) / whole).to(out.dtype.element_ty), mask=inside)
