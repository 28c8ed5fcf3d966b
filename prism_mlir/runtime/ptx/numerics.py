"""Rounding that NumPy does not offer: fused multiply-add, directed rounding, bfloat16 and tf32.

Everything narrower than f64 is computed in f64 with *rounding to odd* (an inexact result gets an odd last bit), then
rounded once to the narrow type. With at least two spare bits this equals rounding the exact value once (Boldo and Melquiond,
"Emulation of FMA and correctly rounded sums", 2008).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.types import Array

F64 = npt.NDArray[np.float64]
F32 = npt.NDArray[np.float32]


def _foreign(*operands: Any) -> Any | None:
    """The first operand that is no NumPy array but a value of the compiling engine, which has a fused instruction."""
    return next((x for x in operands if not isinstance(x, np.ndarray | np.generic)), None)


def two_sum_error(a: F64, b: F64, s: F64) -> F64:
    """The exact error of ``s = a + b`` (Knuth)."""
    bb = s - a
    error = (a - (s - bb)) + (b - bb)
    return np.where(np.isfinite(s), error, 0.0)


def to_odd(s: F64, error: F64) -> F64:
    """``s + error`` rounded to odd, for ``s`` the nearest double."""
    bits = s.view(np.int64)
    even = (bits & 1) == 0
    move = (error != 0) & even
    if not move.any():
        return s
    away = (error > 0) == (s > 0)
    nudged = np.where(s == 0, s, (bits + np.where(away, 1, -1)).view(np.float64))
    return np.where(move, nudged, s)


def add_odd(a: F64, b: F64) -> F64:
    """The sum in f64, rounded to odd."""
    s = a + b
    x, y = np.broadcast_arrays(a, b)
    return to_odd(s, two_sum_error(x, y, s))


def fma_odd32(a: F32, b: F32, c: F32) -> F64:
    """``a * b + c`` of f32 or f16 values in f64, rounded to odd; the product is exact."""
    return add_odd(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))


def fma32(a: F32, b: F32, c: F32) -> F32:
    """Fused multiply-add of f32, rounded to nearest even.

    Adding in f64 first goes wrong only where that sum is inexact and lies halfway between two floats, or below the normal range.
    """
    if (other := _foreign(a, b, c)) is not None:
        fused: F32 = other.fused(a, b, c)
        return fused
    s = a.astype(np.float64) * b + c
    result = s.astype(np.float32)
    tail = s.view(np.int64) & 0x1FFFFFFF
    doubt = (tail == 0x10000000) | ((np.abs(s) < 2.0**-125) & (s != 0))
    if doubt.any():
        full = [np.broadcast_to(x, s.shape)[doubt] for x in (a, b, c)]
        result[doubt] = fma_odd32(*full).astype(np.float32)
    return result


def fma64(a: F64, b: F64, c: F64) -> F64:
    """Fused multiply-add of f64, rounded to nearest even (exact rational arithmetic where exponents are extreme)."""
    if (other := _foreign(a, b, c)) is not None:
        fused: F64 = other.fused(a, b, c)
        return fused
    a, b, c = (np.ascontiguousarray(x) for x in np.broadcast_arrays(a, b, c))
    uh = a * b
    ul = product_error(a, b, uh)
    th = c + ul
    tl = two_sum_error(c, ul, th)
    vh = uh + th
    vl = two_sum_error(uh, th, vh)
    z = tl + vl
    z = to_odd(z, two_sum_error(tl, vl, z))
    result = vh + z
    big, small = 2.0**900, 2.0**-900
    extreme = np.zeros(a.shape, dtype=np.bool_)
    for x in (a, b, c, uh):
        m = np.abs(x)
        extreme |= ~(m < big) | ((m < small) & (m != 0))
    extreme |= (uh == 0) & (a != 0) & (b != 0)
    for i in np.flatnonzero(extreme):
        result[i] = _fma_exact(float(a[i]), float(b[i]), float(c[i]))
    return np.where(((a == 0) | (b == 0)) & (c == 0), uh + c, result)


def fma64_error(a: F64, b: F64, c: F64, result: F64) -> F64:
    """The sign of the exact ``a * b + c`` minus ``result``; one rational number a lane, for directed rounding."""
    a, b, c = (np.ascontiguousarray(x) for x in np.broadcast_arrays(a, b, c))
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    signs = np.where(finite & np.isinf(result), -np.sign(result), 0.0)  # an overflow
    for i in np.flatnonzero(finite & np.isfinite(result)):
        exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        signs[i] = (exact > Fraction(float(result[i]))) - (exact < Fraction(float(result[i])))
    return signs


def _fma_exact(a: float, b: float, c: float) -> float:
    if not all(np.isfinite(x) for x in (a, b, c)):
        finite = np.isfinite(a) and np.isfinite(b)  # the product must not overflow
        return c if finite else float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return float(np.float64(a) * np.float64(b) + np.float64(c)) if a * b == 0 or c == 0 else 0.0
    try:
        return float(exact) if exact else 0.0
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def product_error(a: F64, b: F64, p: F64) -> F64:
    """The exact error of ``p = a * b`` (Dekker, with Veltkamp's splitting)."""
    split = 134217729.0

    def halves(x: F64) -> tuple[F64, F64]:
        t = split * x
        high = t - (t - x)
        return high, x - high

    ah, al = halves(a)
    bh, bl = halves(b)
    error = al * bl - (((p - ah * bh) - al * bh) - ah * bl)
    return np.where(np.isfinite(p) & np.isfinite(error), error, 0.0)


def directed(value: F64, kind: np.dtype[Any], mode: str) -> Array:
    """Round f64 ``value`` (exact, or rounded to odd) to ``kind``: ``rn``, ``rz``, ``rm`` or ``rp``."""
    nearest = value.astype(kind)
    if mode == "rn":
        return nearest
    back = nearest.astype(np.float64)
    up, down = kind.type(np.inf), kind.type(-np.inf)
    if mode == "rp":
        return np.where(back < value, np.nextafter(nearest, up), nearest)
    if mode == "rm":
        return np.where(back > value, np.nextafter(nearest, down), nearest)
    toward = np.where(value > 0, back > value, back < value)
    return np.where(toward, np.nextafter(nearest, kind.type(0)), nearest)


def directed64(nearest: F64, error: F64, mode: str) -> F64:
    """The f64 next to the exact ``nearest + error`` in the direction of ``mode``."""
    if mode == "rn":
        return nearest
    if mode == "rp":
        move, to = error > 0, np.full(nearest.shape, np.inf)
    elif mode == "rm":
        move, to = error < 0, np.full(nearest.shape, -np.inf)
    else:
        move, to = np.where(nearest > 0, error < 0, error > 0), np.zeros(nearest.shape)
    return np.where(move, np.nextafter(nearest, to), nearest)


def flush32(x: F32) -> F32:
    """f32 with subnormal numbers replaced by zeros of their sign (``.ftz``)."""
    bits = x.view(np.uint32)
    small = (bits & np.uint32(0x7F800000)) == 0
    if not small.any():
        return x
    return np.where(small, bits & np.uint32(0x80000000), bits).view(np.float32)


def bf16_to_f32(bits: Array) -> F32:
    """bfloat16 bits to f32, exactly."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(x: F32, mode: str = "rn") -> Array:
    """f32 to bfloat16 bits; NaN becomes 0x7fff."""
    return narrow_bits(x, 16, mode).astype(np.uint16)


def narrow_bits(x: F32, drop: int, mode: str) -> Array:
    """f32 bits without their last ``drop`` bits, shifted down, rounded by ``mode`` (rn, rna, rz, rm, rp); NaN is canonical."""
    bits = x.view(np.uint32)
    shift = np.uint32(drop)
    tail = bits & np.uint32((1 << drop) - 1)
    kept = bits >> shift
    negative = (bits >> np.uint32(31)).astype(np.bool_)
    half = np.uint32(1 << (drop - 1))
    if mode == "rn":
        up = (tail > half) | ((tail == half) & ((kept & np.uint32(1)) != 0))
    elif mode == "rna":
        up = tail >= half
    elif mode == "rp":
        up = (tail != 0) & ~negative
    elif mode == "rm":
        up = (tail != 0) & negative
    else:
        up = np.zeros(bits.shape, dtype=np.bool_)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    finite = magnitude < np.uint32(0x7F800000)
    result = kept + (up & finite)
    nan = np.uint32(0x7FFFFFFF >> drop)
    return np.where(magnitude > np.uint32(0x7F800000), nan, result).astype(np.uint32)


def odd64_to_f32(value: F64) -> F32:
    """f64 to f32 rounded to odd, so that a further rounding to fewer bits is right; the largest f32 is odd."""
    near = value.astype(np.float32)
    near = np.where(np.isinf(near) & np.isfinite(value), np.copysign(np.finfo(np.float32).max, near), near)
    error = value - near.astype(np.float64)
    bits = near.view(np.int32)
    move = (error != 0) & np.isfinite(near) & ((bits & 1) == 0)
    away = (error > 0) == (value > 0)
    stepped = (bits + np.where(away, 1, -1)).astype(np.int32)
    stepped = np.where((bits & 0x7FFFFFFF) == 0, bits | 1, stepped).astype(np.int32)
    return np.where(move, stepped, bits).astype(np.int32).view(np.float32)


def minmax(a: Array, b: Array, name: str, nan: bool, xorsign: bool = False) -> Array:
    """min or max of floats by the rules of PTX."""
    sign = np.signbit(a) ^ np.signbit(b)
    if xorsign:
        a, b = np.abs(a), np.abs(b)
    if name == "min":
        result = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
    else:
        result = np.where((a > b) | ((a == b) & ~np.signbit(a)), a, b)
    na, nb = np.isnan(a), np.isnan(b)
    either = na | nb
    if either.any():
        canonical = a.dtype.type(np.nan)
        other = np.where(na & nb, canonical, np.where(na, b, a))
        result = np.where(either, canonical if nan else other, result)
    if xorsign:
        result = np.where(sign, -np.abs(result), np.abs(result))
    return result
