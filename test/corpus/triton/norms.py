"""Layer norm and RMS norm of each row, reading the row in blocks."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def layer_norm(x, weight, bias, out, mean_out, scale_out, columns, eps, BLOCK: tl.constexpr):
    """Three passes over a row: mean, variance around it, result. Mean and 1/deviation are kept for a backward pass."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        total += tl.load(x + row * columns + start + i, mask=start + i < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    square = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + i < columns
        v = tl.load(x + row * columns + start + i, mask=inside, other=0.0).to(tl.float32)
        d = tl.where(inside, v - mean, 0.0)
        square += d * d
    scale = 1.0 / tl.sqrt(tl.sum(square, 0) / columns + eps)
    tl.store(mean_out + row, mean)
    tl.store(scale_out + row, scale)
    for start in range(0, columns, BLOCK):
        inside = start + i < columns
        v = tl.load(x + row * columns + start + i, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + start + i, mask=inside).to(tl.float32)
        b = tl.load(bias + start + i, mask=inside).to(tl.float32)
        y = (v - mean) * scale * w + b
        tl.store(out + row * columns + start + i, y.to(out.dtype.element_ty), mask=inside)


@triton.jit
def rms_norm(x, weight, out, columns, eps, BLOCK: tl.constexpr):
    """One program a row; ``BLOCK`` >= ``columns``."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    v = tl.load(x + row * columns + i, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + i, mask=inside, other=0.0).to(tl.float32)
    y = v * tl.rsqrt(tl.sum(v * v, 0) / columns + eps) * w
    tl.store(out + row * columns + i, y.to(out.dtype.element_ty), mask=inside)
