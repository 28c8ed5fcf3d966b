"""Integer work on rows: the position of the maximum, sorting, a histogram in shared memory, cross entropy with a gather."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def argmax(x, out, columns, BLOCK: tl.constexpr):
    """The first position of the maximum of each row."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    tl.store(out + row, tl.argmax(v, 0))


@triton.jit
def sort_rows(x, out, columns, largest, BLOCK: tl.constexpr):
    """Each row in ascending order; ``largest`` is at least as large as every element."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=largest)
    tl.store(out + row * columns + i, tl.sort(v), mask=i < columns)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """Add to ``out[b]`` how many of ``x`` equal ``b``."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    counts = tl.histogram(tl.load(x + i, mask=inside, other=0), BINS, mask=inside)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def cross_entropy(logits, label, loss, columns, BLOCK: tl.constexpr):
    """``-log softmax(logits)[label]`` of each row; 0 where the label is negative."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    target = tl.load(label + row)
    v = tl.load(logits + row * columns + i, mask=i < columns, other=-float("inf")).to(tl.float32)
    top = tl.max(v, 0)
    lse = top + tl.log(tl.sum(tl.exp(v - top), 0))
    if target >= 0:
        chosen = tl.load(logits + row * columns + target).to(tl.float32)
        tl.store(loss + row, lse - chosen)
    else:
        tl.store(loss + row, 0.0)
