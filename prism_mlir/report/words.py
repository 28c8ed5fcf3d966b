"""Numbers as people read them."""

from __future__ import annotations

import re
from math import isfinite

KIB = 1024


def size(count: float) -> str:
    """Bytes.

    >>> size(512), size(49152), size(2162688), size(40_000)
    ('512 B', '48 KiB', '2.06 MiB', '39.1 KiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < KIB or unit == "GiB":
            break
        count /= KIB
    return f"{_three(count)} {unit}"


def time(us: float) -> str:
    """Microseconds.

    >>> time(8.496), time(0.5), time(1234.5), time(2_500_000)
    ('8.5 µs', '0.5 µs', '1.23 ms', '2.5 s')
    """
    for unit, scale in (("µs", 1.0), ("ms", 1e3), ("s", 1e6)):
        if abs(us) < 1000 * scale or unit == "s":
            break
    return f"{_three(us / scale)} {unit}"


def number(value: float) -> str:
    """A count with separators, or a number in three digits.

    >>> number(32400), number(0.0321), number(1.5), number(float("nan"))
    ('32,400', '0.0321', '1.5', 'nan')
    """
    if isfinite(value) and value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """A share.

    >>> percent(0.534), percent(0.034), percent(0.0004), percent(0.0)
    ('53%', '3.4%', '0.04%', '0%')
    """
    scaled = 100 * share
    if not isfinite(scaled):
        return f"{scaled}"
    return f"{scaled:.0f}%" if scaled >= 9.95 or not scaled else f"{scaled:.2g}%"


def times(ratio: float) -> str:
    """A ratio.

    >>> times(3.94), times(12.3)
    ('3.9×', '12×')
    """
    return f"{ratio:.1f}×" if ratio < 10 else f"{ratio:.0f}×"


def rate(flops: float) -> str:
    """Operations a second.

    >>> rate(3.12e14), rate(5e9)
    ('312 Tflop/s', '5 Gflop/s')
    """
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if flops >= scale or unit == "M":
            break
    return f"{_three(flops / scale)} {unit}flop/s"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """
    >>> plural(1, "kernel"), plural(2000, "schedule"), plural(2, "axis", "axes")
    ('1 kernel', '2,000 schedules', '2 axes')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


_LONG = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")


def operator(text: str) -> str:
    """An operator's name as a label: what it computes, numbers in four digits.

    >>> operator("unary[1/sqrt(x/1024 + 1.0132789611816406e-06)]"), operator("sum[1]"), operator("matmul")
    ('1/sqrt(x/1024 + 1.013e-06)', 'sum[1]', 'matmul')
    """
    inner = text.removeprefix("unary[").removesuffix("]") if text.startswith("unary[") else text
    return _LONG.sub(lambda found: f"{float(found[0]):.4g}", inner)


def shortened(text: str, most: int) -> str:
    """
    >>> shortened("abcdef", 4), shortened("abc", 4)
    ('abc…', 'abc')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def _three(value: float) -> str:
    """Three digits, no trailing zeros."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
