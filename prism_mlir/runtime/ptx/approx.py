"""2^x, log2, sin, cos and tanh in f64, from additions, multiplications and divisions alone.

Both engines run this text, one on arrays and one on LLVM values, so they agree to the last bit on every machine; a library
function would not (NumPy and libm choose their own polynomials). Arguments are f32, f16 or bf16 numbers in f64; relative
errors stay below 2**-44 (near a zero of sin and cos, below 2**-60 of a turn), so that rounding once to f32 is right but for
about one argument in a million.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from prism_mlir.runtime.ptx.types import Array

_LN2 = math.log(2.0)
_EXP2 = [_LN2**k / math.factorial(k) for k in range(14)]
_LOG2 = [2.0 / _LN2 / (2 * k + 1) for k in range(12)]
_SIN = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(9)]
_COS = [(-1.0) ** k / math.factorial(2 * k) for k in range(9)]
_TANH = [1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835, -1382 / 155925, 21844 / 6081075]
_RADIANS = 2.0 * math.pi * 2.0**-64  # in a unit of the last place of a turn in 64 bits


def _polynomial(x: Array, coefficients: list[float]) -> Array:
    """Horner's rule, lowest coefficient first in the list."""
    total = x * coefficients[-1] + coefficients[-2]
    for c in reversed(coefficients[:-2]):
        total = total * x + c
    return total


def exp2(x: Array) -> Array:
    """2**x; results below 2**-1000 and above 2**1000 are not told apart, since no narrower type holds them."""
    inside = np.where(x > 1000.0, 1000.0, np.where(x < -1000.0, -1000.0, x))
    inside = np.where(np.isnan(x), 0.0, inside)
    whole = np.rint(inside)
    scale = ((whole.astype(np.int64) + 1023) << np.int64(52)).view(np.float64)
    value = _polynomial(inside - whole, _EXP2) * scale
    value = np.where(x == -np.inf, 0.0, np.where(x == np.inf, np.inf, value))
    return np.where(np.isnan(x), np.nan, value)


def log2(x: Array) -> Array:
    """log2 of a number that is 0 or normal in f64."""
    bits = x.view(np.int64)
    # Counting exponents from sqrt(1/2) on puts the mantissa between sqrt(1/2) and sqrt(2).
    exponent = (bits - np.int64(0x3FE6A09E667F3BCD)) >> np.int64(52)
    m = (bits - (exponent << np.int64(52))).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    value = exponent.astype(np.float64) + s * _polynomial(s * s, _LOG2)
    value = np.where(x == np.inf, np.inf, np.where(x == 0, -np.inf, value))
    return np.where(np.isnan(x) | (x < 0), np.nan, value)


@cache
def _turns() -> tuple[Array, Array]:
    """For the exponent e of an f32 number, 2**(e - 150) / (2 pi) modulo 1 in 104 bits: the upper 64 and the lower 40."""
    unit = 1 << 600

    def arctan_inverse(n: int) -> int:
        total, term, k = 0, unit // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))  # Machin, in units of 2**-600
    share = (unit << 599) // pi  # 1 / (2 pi) in units of 2**-600
    words = [((share << e >> 150) & (unit - 1)) >> (600 - 104) for e in range(256)]
    return np.array([w >> 40 for w in words], np.uint64), np.array([w & (2**40 - 1) for w in words], np.uint64)


def _look_up(table: Array, index: Any) -> Array:
    """``table[index]``; a value of the compiling engine does it itself."""
    found: Array = table.take(index) if isinstance(index, np.ndarray) else index.look_up(table)
    return found


def _reduced(x: Array) -> tuple[Array, Array]:
    """Quadrant (0 to 3, as int64) and what is left in radians, for f32 numbers in f64; nonsense for infinities."""
    narrow = np.abs(x).astype(np.float32).view(np.uint32)
    exponent = narrow >> np.uint32(23)
    mantissa = (narrow & np.uint32(0x7FFFFF)) | np.where(exponent == 0, np.uint32(0), np.uint32(0x800000))
    m = mantissa.astype(np.uint64)
    upper, lower = _turns()
    turn = m * _look_up(upper, exponent) + ((m * _look_up(lower, exponent)) >> np.uint64(40))
    quadrant = (turn + np.uint64(1 << 61)) >> np.uint64(62)
    rest = (turn - (quadrant << np.uint64(62))).view(np.int64).astype(np.float64) * _RADIANS
    small = np.abs(x) < 0.75
    rest = np.where(small, np.abs(x), rest)
    return np.where(small, np.int64(0), quadrant.view(np.int64) & np.int64(3)), rest


def _wave(x: Array, shift: int) -> Array:
    quadrant, r = _reduced(x)
    quadrant = (quadrant + np.int64(shift)) & np.int64(3)
    square = r * r
    value = np.where((quadrant & np.int64(1)) == 0, r * _polynomial(square, _SIN), _polynomial(square, _COS))
    value = np.where(quadrant >= 2, -value, value)
    return np.where(np.isfinite(x), value, np.nan)


def sin(x: Array) -> Array:
    """Sine of an f32 number, exact reduction however large it is."""
    value = _wave(x, 0)
    return np.where(np.signbit(x), -value, value)


def cos(x: Array) -> Array:
    """Cosine of an f32 number."""
    return _wave(x, 1)


def tanh(x: Array) -> Array:
    """Hyperbolic tangent: a series near 0, else from exp2."""
    size = np.abs(x)
    far = 1.0 - 2.0 / (exp2(np.where(size > 32.0, 32.0, size) * (2.0 / _LN2)) + 1.0)
    value = np.copysign(np.where(size < 0.0625, size * _polynomial(size * size, _TANH), far), x)
    return np.where(np.isnan(x), np.nan, value)
