"""Logic, shifts, bit fields and byte permutation against Python's integers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ptx_harness import run_op

WORDS = [0, 1, 2, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 0x12345678, 0xDEADBEEF, 0x00FF00FF]
LONGS = [0, 1, 1 << 63, (1 << 64) - 1, 0x123456789ABCDEF0, 0xFEDCBA9876543210, 1 << 32]
SHIFTS = [0, 1, 7, 15, 16, 31, 32, 33, 63, 64, 65, 255, 256, 0xFFFFFFFF]


def cross(*lists: list[int]) -> list[list[int]]:
    return [list(column) for column in zip(*product(*lists), strict=True)]


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


@pytest.mark.parametrize("bits", [32, 64])
def test_logic(bits: int) -> None:
    words = WORDS if bits == 32 else LONGS
    a, b = cross(words, words)
    kind = f"b{bits}"
    sources = [(kind, np.array(a, f"u{bits // 8}")), (kind, np.array(b, f"u{bits // 8}"))]
    every = (1 << bits) - 1
    assert run_op(f"and.{kind} %d, %a, %b;", sources, kind).tolist() == [x & y for x, y in zip(a, b, strict=True)]
    assert run_op(f"or.{kind} %d, %a, %b;", sources, kind).tolist() == [x | y for x, y in zip(a, b, strict=True)]
    assert run_op(f"xor.{kind} %d, %a, %b;", sources, kind).tolist() == [x ^ y for x, y in zip(a, b, strict=True)]
    assert run_op(f"not.{kind} %d, %a;", sources[:1], kind).tolist() == [x ^ every for x in a]
    assert run_op(f"cnot.{kind} %d, %a;", sources[:1], kind).tolist() == [int(x == 0) for x in a]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_clamp_the_amount(bits: int) -> None:
    words = [w & ((1 << bits) - 1) for w in (LONGS if bits == 64 else WORDS)]
    a, n = cross(words, SHIFTS)
    kind, every = f"b{bits}", (1 << bits) - 1
    sources = [(kind, np.array(a, f"u{bits // 8}")), ("u32", np.array(n, "u4"))]
    shl = run_op(f"shl.{kind} %d, %a, %b;", sources, kind)
    assert shl.tolist() == [x << min(s, bits) & every for x, s in zip(a, n, strict=True)]
    shr = run_op(f"shr.u{bits} %d, %a, %b;", sources, kind)
    assert shr.tolist() == [x >> min(s, bits) for x, s in zip(a, n, strict=True)]
    sar = run_op(f"shr.s{bits} %d, %a, %b;", sources, kind)
    assert sar.tolist() == [signed(x, bits) >> min(s, bits) & every for x, s in zip(a, n, strict=True)]


@pytest.mark.parametrize(("way", "mode"), list(product("lr", ["wrap", "clamp"])))
def test_funnel_shift(way: str, mode: str) -> None:
    a, b, n = cross(WORDS[:6], WORDS[3:], [0, 1, 16, 31, 32, 33, 1000])
    sources = [("b32", np.array(x, "u4")) for x in (a, b, n)]
    got = run_op(f"shf.{way}.{mode}.b32 %d, %a, %b, %c;", sources, "b32")
    expected = []
    for lo, hi, c in zip(a, b, n, strict=True):
        s = c & 31 if mode == "wrap" else min(c, 32)
        both = hi << 32 | lo
        expected.append((both << s >> 32 if way == "l" else both >> s) & 0xFFFFFFFF)
    assert got.tolist() == expected


@pytest.mark.parametrize("table", [0, 0x80, 0xFE, 0x96, 0xCA, 0x6C, 0x3F, 0xFF])
def test_lop3(table: int) -> None:
    a, b, c = cross(WORDS, WORDS, WORDS[4:])
    got = run_op(f"lop3.b32 %d, %a, %b, %c, {table};", [("b32", np.array(x, "u4")) for x in (a, b, c)], "b32")
    expected = [
        sum((table >> ((x >> i & 1) * 4 + (y >> i & 1) * 2 + (z >> i & 1)) & 1) << i for i in range(32))
        for x, y, z in zip(a, b, c, strict=True)
    ]
    assert got.tolist() == expected


@pytest.mark.parametrize("bits", [32, 64])
def test_counting(bits: int) -> None:
    words = WORDS if bits == 32 else LONGS
    source = [(f"b{bits}", np.array(words, f"u{bits // 8}"))]
    assert run_op(f"popc.b{bits} %d, %a;", source, "u32").tolist() == [x.bit_count() for x in words]
    assert run_op(f"clz.b{bits} %d, %a;", source, "u32").tolist() == [bits - x.bit_length() for x in words]
    flipped = [int(f"{x:0{bits}b}"[::-1], 2) for x in words]
    assert run_op(f"brev.b{bits} %d, %a;", source, f"b{bits}").tolist() == flipped
    assert run_op(f"bfind.u{bits} %d, %a;", source, "u32").tolist() == [
        (x.bit_length() - 1) & 0xFFFFFFFF for x in words
    ]
    magnitude = [~x & ((1 << bits) - 1) if x >> (bits - 1) else x for x in words]
    top = [m.bit_length() - 1 for m in magnitude]
    assert run_op(f"bfind.s{bits} %d, %a;", source, "s32").tolist() == top
    shift = [bits - 1 - t if t >= 0 else -1 for t in top]
    assert run_op(f"bfind.shiftamt.s{bits} %d, %a;", source, "s32").tolist() == shift


def field(a: int, pos: int, length: int, bits: int, is_signed: bool) -> int:
    """The pseudocode of bfe in the PTX ISA, bit by bit."""
    pos, length, msb = pos & 255, length & 255, bits - 1
    sign = 0 if not is_signed or length == 0 else a >> min(pos + length - 1, msb) & 1
    return sum((a >> (pos + i) & 1 if i < length and pos + i <= msb else sign) << i for i in range(bits))


@pytest.mark.parametrize(("bits", "sign"), list(product([32, 64], "us")))
def test_bit_field_extract(bits: int, sign: str) -> None:
    words = WORDS if bits == 32 else LONGS
    places = [0, 1, 8, 16, 31, 32, 63, 64, 255, 256]
    a, pos, length = cross(words, places, places)
    sources = [
        (f"b{bits}", np.array(a, f"u{bits // 8}")),
        ("u32", np.array(pos, "u4")),
        ("u32", np.array(length, "u4")),
    ]
    got = run_op(f"bfe.{sign}{bits} %d, %a, %b, %c;", sources, f"b{bits}")
    assert got.tolist() == [field(x, p, n, bits, sign == "s") for x, p, n in zip(a, pos, length, strict=True)]


@pytest.mark.parametrize("bits", [32, 64])
def test_bit_field_insert(bits: int) -> None:
    words = WORDS if bits == 32 else LONGS
    for pos, length in product([0, 5, 31, 32, 63, 64, 255], [0, 1, 8, 32, 64, 255]):
        a, b = cross(words, words)
        sources = [(f"b{bits}", np.array(x, f"u{bits // 8}")) for x in (a, b)]
        got = run_op(f"bfi.b{bits} %d, %a, %b, {pos}, {length};", sources, f"b{bits}")
        p, n = pos & 255, length & 255
        where = sum(1 << (p + i) for i in range(n) if p + i < bits)
        expected = [(y & ~where) | (x << p & where) for x, y in zip(a, b, strict=True)]
        assert got.tolist() == expected


def test_byte_permute() -> None:
    selectors = [0x3210, 0x7654, 0x0123, 0x5410, 0xBA98, 0xFFFF, 0x80C1, 0x12345678]
    a, b, c = cross(WORDS, WORDS, selectors)
    got = run_op("prmt.b32 %d, %a, %b, %c;", [("b32", np.array(x, "u4")) for x in (a, b, c)], "b32")
    expected = []
    for x, y, s in zip(a, b, c, strict=True):
        data = (y << 32 | x).to_bytes(8, "little")
        out = []
        for i in range(4):
            nibble = s >> 4 * i & 15
            byte = data[nibble & 7]
            out.append((255 if byte >> 7 else 0) if nibble & 8 else byte)
        expected.append(int.from_bytes(bytes(out), "little"))
    assert got.tolist() == expected


@pytest.mark.parametrize(
    ("mode", "rows"),
    [
        ("f4e", [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        ("b4e", [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        ("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecl", [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        ("rc16", [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ],
)
def test_byte_permute_modes(mode: str, rows: list[list[int]]) -> None:
    """The table of the PTX ISA, most significant byte first."""
    a, b = 0x33221100, 0x77665544
    sources = [("b32", np.full(4, a, "u4")), ("b32", np.full(4, b, "u4")), ("b32", np.arange(4, dtype="u4"))]
    got = run_op(f"prmt.b32.{mode} %d, %a, %b, %c;", sources, "b32")
    assert [f"{x:08x}" for x in got.tolist()] == ["".join(f"{n}{n}" for n in row) for row in rows]


def test_predicate_logic() -> None:
    a, b = cross([0, 1], [0, 1])
    sources = [("pred", np.array(a)), ("pred", np.array(b))]
    assert run_op("and.pred %d, %a, %b;", sources, "pred").tolist() == [x & y for x, y in zip(a, b, strict=True)]
    assert run_op("xor.pred %d, %a, %b;", sources, "pred").tolist() == [x ^ y for x, y in zip(a, b, strict=True)]
    assert run_op("not.pred %d, %a;", sources[:1], "pred").tolist() == [1 - x for x in a]
