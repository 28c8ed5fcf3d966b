"""Functions of libdevice and conversions between floating types, element by element."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def functions(x, out, n, BLOCK: tl.constexpr):
    """Row f of ``out`` (7, n): gelu, tanh, silu, log1p of the square, sine, cosine, power 2.5 of the absolute value."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    v = tl.load(x + i, mask=inside, other=1.0)
    tl.store(out + i, 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476)), mask=inside)
    tl.store(out + n + i, libdevice.tanh(v), mask=inside)
    tl.store(out + 2 * n + i, v * tl.sigmoid(v), mask=inside)
    tl.store(out + 3 * n + i, libdevice.log1p(v * v), mask=inside)
    tl.store(out + 4 * n + i, tl.sin(v), mask=inside)
    tl.store(out + 5 * n + i, tl.cos(v), mask=inside)
    tl.store(out + 6 * n + i, libdevice.pow(tl.abs(v), 2.5), mask=inside)


@triton.jit
def convert(x, out, n, BLOCK: tl.constexpr):
    """From one floating type to another."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n).to(out.dtype.element_ty), mask=i < n)


@triton.jit
def transpose(x, out, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """``out[j, i] = x[i, j]``."""
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    inside = (i < rows) & (j < columns)
    v = tl.trans(tl.load(x + i * columns + j, mask=inside))
    tl.store(out + tl.trans(j) * rows + tl.trans(i), v, mask=tl.trans(inside))
