"""Prefix sums, and a prefix "product" of affine maps (a linear recurrence), each row in blocks with a carry."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def running_sum(x, out, columns, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
    """One program a row; ``BLOCK`` >= ``columns``."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=0)
    tl.store(out + row * columns + i, tl.cumsum(v, 0, reverse=REVERSE), mask=i < columns)


@triton.jit
def then(a, b, c, d):
    """``h -> a h + b``, then ``h -> c h + d``."""
    return a * c, b * c + d


@triton.jit
def recurrence(decay, x, out, columns, BLOCK: tl.constexpr):
    """``out[t] = decay[t] * out[t - 1] + x[t]`` from 0, one program a row."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    carry = 0.0
    for start in range(0, columns, BLOCK):
        inside = start + i < columns
        a = tl.load(decay + row * columns + start + i, mask=inside, other=1.0)
        b = tl.load(x + row * columns + start + i, mask=inside, other=0.0)
        a, b = tl.associative_scan((a, b), 0, then)
        h = b + a * carry
        tl.store(out + row * columns + start + i, h, mask=inside)
        carry = tl.sum(tl.where(i == BLOCK - 1, h, 0.0), 0)
