"""Every instruction of the random programs, alone, on corner cases and random values: both engines against Python integers."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from operations import Operation, catalogue
from straight_line import mistakes, offset, rows

EXACT = [o for ops in catalogue().values() for o in ops if o.exact]
COMPILED = [o for o in EXACT if o.compiled]


def check(operations: Sequence[Operation], table: np.ndarray, *engines: str) -> None:
    assert not list(mistakes(operations, table, engines))


@pytest.mark.parametrize("first", range(0, len(EXACT), 320))
def test_the_reference_engine_computes_what_integers_do(first: int) -> None:
    check(EXACT[first : first + 320], rows(random.Random(first), 96), "reference")


@pytest.mark.parametrize("first", (0, 9))
def test_compiled_code_computes_what_integers_do(first: int) -> None:
    """Some instructions; ``benchmarks/ptx_fuzz.py`` compiles all of them."""
    check(COMPILED[first::18], rows(random.Random(first), 96), "fast")


INF, MAX = 0x7FF0000000000000, 0x7FEFFFFFFFFFFFFF
TOP = 1 << 63
# Faults that random programs have found: instruction, sources, and the result by hand.
FOUND = [
    ("setp.eq.ftz.f16 {d}, {a}, {b};", (0x03F5, 0x0000), 1),  # a subnormal is taken for zero
    ("slct.ftz.u32.f32 {d}, {a}, {b}, {c};", (5, 6, 0x80000001), 5),  # and so is a negative one
    ("abs.ftz.f16 {d}, {a};", (0x8001,), 0),
    ("neg.ftz.f16x2 {d}, {a};", (0x80013C00,), 0x0000BC00),
    ("div.rz.f32 {d}, {a}, {b};", (0xD8800000, 0x7F800000), 0x80000000),  # a negative number over infinity
    ("rcp.rp.f32 {d}, {a};", (0x00000000,), 0x7F800000),
    ("rcp.rz.f32 {d}, {a};", (0x00000001,), 0x7F7FFFFF),  # 2**149 does not fit
    ("sqrt.rm.f32 {d}, {a};", (0x80000000,), 0x80000000),
    ("sqrt.rm.f32 {d}, {a};", (0x7F800000,), 0x7F800000),
    ("fma.rm.f32 {d}, {a}, {b}, {c};", (0x3F800000, 0x3F800000, 0xBF800000), 0x80000000),  # 1 * 1 - 1, rounded down
    ("fma.rm.f64 {d}, {a}, {b}, {c};", (TOP, 0, 0), TOP),
    ("mul.rp.f64 {d}, {a}, {b};", (0x1E3B25E5E8C7A01D, 1), 1),  # above zero, below every number
    ("mul.rz.f64 {d}, {a}, {b};", (TOP | MAX, MAX), TOP | MAX),
    ("add.rz.f64 {d}, {a}, {b};", (MAX, MAX), MAX),
    ("fma.rz.f64 {d}, {a}, {b}, {c};", (MAX, MAX, 0), MAX),
    ("fma.rn.f64 {d}, {a}, {b}, {c};", (TOP | 1, 1, 0), TOP),  # a tiny negative product
    ("fma.rn.f64 {d}, {a}, {b}, {c};", (MAX, MAX, TOP | INF), TOP | INF),  # only c is infinite
    ("cvt.rz.bf16.f64 {d}, {a};", (TOP | MAX,), 0xFF7F),
]


@pytest.mark.parametrize(("text", "sources", "result"), FOUND, ids=[text.split()[0] for text, _, _ in FOUND])
def test_faults_that_were_found(text: str, sources: tuple[int, ...], result: int) -> None:
    operation = next(o for o in EXACT if o.text == text)
    table = rows(random.Random(0), 32)
    for place, pool, value in zip("abc", operation.sources, sources, strict=False):
        table[0, offset(place, pool) // 8] = value
    assert operation.meaning(*sources) == result
    check([operation], table, "reference", "fast")
