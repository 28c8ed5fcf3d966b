"""Element by element: functions of libdevice, conversions, integers, arithmetic in half precision, hints to caches."""

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


@triton.jit
def integers(x, out, n, BLOCK: tl.constexpr):
    """Row f of ``out`` (8, n) for 64-bit ``x``: quotient by 7 and remainder by 13 toward 0, upper half of the unsigned square,
    shifts right by 3 and left by 2, magnitude, and of the lower 32 bits: set bits, leading zeros."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    v = tl.load(x + i, mask=inside)
    low = v.to(tl.int32)
    tl.store(out + i, v // 7, mask=inside)
    tl.store(out + n + i, v % 13, mask=inside)
    tl.store(out + 2 * n + i, tl.umulhi(v.to(tl.uint64), v.to(tl.uint64)).to(tl.int64), mask=inside)
    tl.store(out + 3 * n + i, v >> 3, mask=inside)
    tl.store(out + 4 * n + i, v << 2, mask=inside)
    tl.store(out + 5 * n + i, tl.abs(v), mask=inside)
    tl.store(out + 6 * n + i, libdevice.popc(low).to(tl.int64), mask=inside)
    tl.store(out + 7 * n + i, libdevice.clz(low).to(tl.int64), mask=inside)


@triton.jit
def half_arithmetic(x, y, out, n, BLOCK: tl.constexpr):
    """Row f of ``out`` (7, n): sum, difference, product, maximum, minimum, the larger one negated, the magnitude."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    v = tl.load(x + i, mask=inside)
    w = tl.load(y + i, mask=inside)
    tl.store(out + i, v + w, mask=inside)
    tl.store(out + n + i, v - w, mask=inside)
    tl.store(out + 2 * n + i, v * w, mask=inside)
    tl.store(out + 3 * n + i, tl.maximum(v, w), mask=inside)
    tl.store(out + 4 * n + i, tl.minimum(v, w), mask=inside)
    tl.store(out + 5 * n + i, tl.where(v > w, -v, -w), mask=inside)
    tl.store(out + 6 * n + i, tl.abs(v), mask=inside)


@triton.jit
def cached_copy(x, out, n, BLOCK: tl.constexpr):
    """``2 x`` from two loads and to two rows of ``out``, each with another hint to the caches."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    a = tl.load(x + i, mask=inside, eviction_policy="evict_first", cache_modifier=".cg")
    b = tl.load(x + i, mask=inside, eviction_policy="evict_last")
    tl.store(out + i, a + b, mask=inside, eviction_policy="evict_first")
    tl.store(out + n + i, a + b, mask=inside, cache_modifier=".cs")
