"""Floating point by integers: every format and rounding mode from its definition, with no help from NumPy or the machine.

A finite number is ``(-1)**sign * m * 2**e`` with Python integers; results are exact before they are rounded once. Bits go in and
bits come out; every NaN that comes out is the canonical one of its format.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import NamedTuple


@dataclass(frozen=True)
class Format:
    """An IEEE 754 layout: widths of the exponent and of the stored significand."""

    exponent: int
    stored: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.stored

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.stored

    @property
    def nan(self) -> int:
        return (1 << (self.bits - 1)) - 1

    @property
    def top(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @property
    def one(self) -> int:
        return self.bias << self.stored


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)
TF32 = Format(8, 10)


class Number(NamedTuple):
    """``kind`` is ``finite`` (zero included), ``inf`` or ``nan``. ``sticky``: a little more than ``m`` (a cut-off quotient)."""

    kind: str
    sign: int
    m: int = 0
    e: int = 0
    sticky: bool = False


NAN = Number("nan", 0)


def decode(bits: int, form: Format) -> Number:
    sign, rest = bits >> (form.bits - 1), bits & (form.top - 1)
    if rest >= form.infinity:
        return Number("inf", sign) if rest == form.infinity else NAN
    biased, m = rest >> form.stored, rest & ((1 << form.stored) - 1)
    if biased:
        m |= 1 << form.stored
    return Number("finite", sign, m, max(biased, 1) - form.bias - form.stored)


def _away(mode: str, sign: int, odd: int, tail: int) -> bool:
    """Whether to round away from zero; ``tail``: the lost part in quarters of a unit (1: less than half, 2: half, 3: more)."""
    return {
        "rn": tail > 2 or (tail == 2 and bool(odd)),
        "rna": tail >= 2,
        "rz": False,
        "rm": bool(sign) and tail > 0,
        "rp": not sign and tail > 0,
    }[mode]


def _tail(m: int, shift: int, sticky: bool) -> int:
    """What a right shift of ``m`` loses, in quarters of a unit, 1 and 3 standing for every value in between."""
    if shift <= 0:
        return int(sticky)
    rest, half = m & ((1 << shift) - 1), 1 << (shift - 1)
    exact = rest in (0, half) and not sticky
    return (2 if rest == half else 0) if exact else (1 if rest < half else 3)


def encode(x: Number, form: Format, mode: str = "rn") -> int:
    """Round to a format."""
    if x.kind == "nan":
        return form.nan
    top = form.top if x.sign else 0
    if x.kind == "inf":
        return top | form.infinity
    if x.m == 0:
        return top
    unit = max(x.e + x.m.bit_length() - form.stored - 1, 1 - form.bias - form.stored)
    shift = unit - x.e
    kept = x.m >> shift if shift > 0 else x.m << -shift
    kept += _away(mode, x.sign, kept & 1, _tail(x.m, shift, x.sticky))
    if kept < 1 << form.stored:
        return top | kept
    bits = ((unit + form.stored + form.bias) << form.stored) + kept - (1 << form.stored)
    if bits < form.infinity:
        return top | bits
    largest = mode == "rz" or (mode == "rp" and x.sign) or (mode == "rm" and not x.sign)
    return top | (form.infinity - largest)


def integral(x: Number, mode: str) -> int:
    """A finite number rounded to an integer."""
    kept = x.m >> -x.e if x.e < 0 else x.m << x.e
    kept += _away(mode, x.sign, kept & 1, _tail(x.m, -x.e, x.sticky))
    return -kept if x.sign else kept


def from_int(value: int) -> Number:
    return Number("finite", int(value < 0), abs(value), 0)


def negate(x: Number) -> Number:
    return x._replace(sign=1 - x.sign) if x.kind != "nan" else x


def add(x: Number, y: Number, mode: str = "rn") -> Number:
    """The sum; ``mode`` decides the sign of an exact zero only."""
    if "nan" in (x.kind, y.kind):
        return NAN
    if x.kind == "inf" or y.kind == "inf":
        if x.kind == y.kind and x.sign != y.sign:
            return NAN
        return x if x.kind == "inf" else y
    e = min(x.e, y.e)
    total = sum((-n.m if n.sign else n.m) << (n.e - e) for n in (x, y))
    if total == 0:
        return Number("finite", x.sign if x.sign == y.sign else int(mode == "rm"))
    return Number("finite", int(total < 0), abs(total), e)


def multiply(x: Number, y: Number) -> Number:
    if "nan" in (x.kind, y.kind):
        return NAN
    sign = x.sign ^ y.sign
    if "inf" in (x.kind, y.kind):
        return NAN if any(n.kind == "finite" and n.m == 0 for n in (x, y)) else Number("inf", sign)
    return Number("finite", sign, x.m * y.m, x.e + y.e)


def divide(x: Number, y: Number, bits: int = 70) -> Number:
    """The quotient, cut off after enough bits for any format, with what is lost as ``sticky``."""
    if "nan" in (x.kind, y.kind):
        return NAN
    sign = x.sign ^ y.sign
    if x.kind == "inf" or y.kind == "inf":
        if x.kind == y.kind:
            return NAN
        return Number("inf", sign) if x.kind == "inf" else Number("finite", sign)
    if y.m == 0:
        return NAN if x.m == 0 else Number("inf", sign)
    if x.m == 0:
        return Number("finite", sign)
    shift = bits + y.m.bit_length()
    quotient, rest = divmod(x.m << shift, y.m)
    return Number("finite", sign, quotient, x.e - y.e - shift, rest != 0)


def root(x: Number, bits: int = 140) -> Number:
    if x.kind == "nan" or (x.sign and (x.kind == "inf" or x.m)):
        return NAN
    if x.kind == "inf" or x.m == 0:
        return x
    shift = bits + (x.e + bits) % 2
    m = x.m << shift
    r = isqrt(m)
    return Number("finite", 0, r, (x.e - shift) // 2, r * r != m)


def flush(bits: int, form: Format) -> int:
    """``.ftz``: subnormal numbers become zeros of their sign."""
    return bits & form.top if bits & form.infinity == 0 else bits


def is_nan(bits: int, form: Format) -> bool:
    return bits & (form.top - 1) > form.infinity


def order(bits: int, form: Format) -> int:
    """An integer that orders numbers (not NaN) as values, with -0 just below +0."""
    size = bits & (form.top - 1)
    return -1 - size if bits & form.top else size


def saturate(bits: int, form: Format) -> int:
    """``.sat``: clamped to [0, 1]; NaN becomes +0."""
    if is_nan(bits, form) or bits & form.top:
        return 0
    return min(bits, form.one)


def relu(bits: int, form: Format) -> int:
    """Numbers below zero become +0."""
    return 0 if form.top < bits and not is_nan(bits, form) else bits


def finite(bits: int, form: Format) -> int:
    """``.satfinite``: infinities become the largest number."""
    return bits - 1 if bits & (form.top - 1) == form.infinity else bits


def extreme(name: str, a: int, b: int, form: Format, nan: bool) -> int:
    """min and max: -0 is below +0; a NaN loses, or wins if ``nan``."""
    if is_nan(a, form) or is_nan(b, form):
        if nan or (is_nan(a, form) and is_nan(b, form)):
            return form.nan
        return b if is_nan(a, form) else a
    return (min if name == "min" else max)((a, b), key=lambda x: order(x, form))


def compare(name: str, a: int, b: int, form: Format) -> bool:
    """A comparison of setp: ``lt`` …, false where an operand is NaN; ``ltu`` …, true there; ``num``, ``nan``."""
    unordered = is_nan(a, form) or is_nan(b, form)
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    if unordered:
        return len(name) == 3
    x, y = (order(v, form) + (v >= form.top) for v in (a, b))  # here -0 equals +0
    return holds(name[:2], x, y)


def holds(name: str, x: int, y: int) -> bool:
    """A comparison of integers."""
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[name]
