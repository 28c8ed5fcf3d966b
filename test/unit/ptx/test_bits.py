"""Logic, shifts, bit fields and byte permutation against Python's integers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ptx_harness import run_op, run_ops

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
    binary = {"and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y}
    unary = {"not": lambda x: x ^ every, "cnot": lambda x: int(x == 0)}
    code = [f"{n}.{kind} %d, %a, %b;" for n in binary] + [f"{n}.{kind} %d, %a;" for n in unary]
    got = [r.tolist() for r in run_ops([(c, kind) for c in code], sources)]
    assert got[:3] == [[fn(x, y) for x, y in zip(a, b, strict=True)] for fn in binary.values()]
    assert got[3:] == [[fn(x) for x in a] for fn in unary.values()]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_clamp_the_amount(bits: int) -> None:
    words = [w & ((1 << bits) - 1) for w in (LONGS if bits == 64 else WORDS)]
    a, n = cross(words, SHIFTS)
    kind, every = f"b{bits}", (1 << bits) - 1
    sources = [(kind, np.array(a, f"u{bits // 8}")), ("u32", np.array(n, "u4"))]
    code = [(f"shl.{kind} %d, %a, %b;", kind), (f"shr.u{bits} %d, %a, %b;", kind), (f"shr.s{bits} %d, %a, %b;", kind)]
    shl, shr, sar = run_ops(code, sources)
    assert shl.tolist() == [x << min(s, bits) & every for x, s in zip(a, n, strict=True)]
    assert shr.tolist() == [x >> min(s, bits) for x, s in zip(a, n, strict=True)]
    assert sar.tolist() == [signed(x, bits) >> min(s, bits) & every for x, s in zip(a, n, strict=True)]


def test_funnel_shift() -> None:
    a, b, n = cross(WORDS[:6], WORDS[3:], [0, 1, 16, 31, 32, 33, 1000])
    sources = [("b32", np.array(x, "u4")) for x in (a, b, n)]
    forms = list(product("lr", ["wrap", "clamp"]))
    got = run_ops([(f"shf.{way}.{mode}.b32 %d, %a, %b, %c;", "b32") for way, mode in forms], sources)
    for (way, mode), result in zip(forms, got, strict=True):
        expected = []
        for lo, hi, c in zip(a, b, n, strict=True):
            s = c & 31 if mode == "wrap" else min(c, 32)
            both = hi << 32 | lo
            expected.append((both << s >> 32 if way == "l" else both >> s) & 0xFFFFFFFF)
        assert result.tolist() == expected


def test_lop3() -> None:
    tables = [0, 0x80, 0xFE, 0x96, 0xCA, 0x6C, 0x3F, 0xFF]
    a, b, c = cross(WORDS, WORDS[2:], WORDS[4:])
    sources = [("b32", np.array(x, "u4")) for x in (a, b, c)]
    for table, got in zip(
        tables, run_ops([(f"lop3.b32 %d, %a, %b, %c, {t};", "b32") for t in tables], sources), strict=True
    ):
        expected = [
            sum((table >> ((x >> i & 1) * 4 + (y >> i & 1) * 2 + (z >> i & 1)) & 1) << i for i in range(32))
            for x, y, z in zip(a, b, c, strict=True)
        ]
        assert got.tolist() == expected


@pytest.mark.parametrize("bits", [32, 64])
def test_counting(bits: int) -> None:
    words = WORDS if bits == 32 else LONGS
    source = [(f"b{bits}", np.array(words, f"u{bits // 8}"))]
    forms = {f"popc.b{bits}": "u32", f"clz.b{bits}": "u32", f"brev.b{bits}": f"b{bits}", f"bfind.u{bits}": "u32",
             f"bfind.s{bits}": "s32", f"bfind.shiftamt.s{bits}": "s32"}  # fmt: skip
    got = [r.tolist() for r in run_ops([(f"{name} %d, %a;", out) for name, out in forms.items()], source)]
    magnitude = [~x & ((1 << bits) - 1) if x >> (bits - 1) else x for x in words]
    top = [m.bit_length() - 1 for m in magnitude]
    assert got == [
        [x.bit_count() for x in words],
        [bits - x.bit_length() for x in words],
        [int(f"{x:0{bits}b}"[::-1], 2) for x in words],
        [(x.bit_length() - 1) & 0xFFFFFFFF for x in words],
        top,
        [bits - 1 - t if t >= 0 else -1 for t in top],
    ]


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
    kind = f"b{bits}"
    declare = ".reg .b32 %pos, %len; .reg .b64 %wide;"
    # the field's place comes in one more source, start + 256 length, of the operands' type
    pos, length = cross([0, 5, 31, 32, 63, 64, 255], [0, 1, 8, 32, 64, 255])
    a, b, place = cross(words[:5], words, [p + 256 * n for p, n in zip(pos, length, strict=True)])
    cast = "cvt.u64.u32 %wide, %c;" if bits == 32 else "mov.b64 %wide, %c;"
    code = f"{cast} cvt.u32.u64 %pos, %wide; shr.u32 %len, %pos, 8; and.b32 %pos, %pos, 255; bfi.{kind} %d, %a, %b, %pos, %len;"
    got = run_op(code, [(kind, np.array(x, f"u{bits // 8}")) for x in (a, b, place)], kind, declare)
    expected = []
    for x, y, at in zip(a, b, place, strict=True):
        p, n = at & 255, at >> 8
        where = sum(1 << (p + i) for i in range(n) if p + i < bits)
        expected.append((y & ~where) | (x << p & where))
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
    got = run_ops(
        [(f"{n}.pred %d, %a, %b;", "pred") for n in ("and", "or", "xor")] + [("not.pred %d, %a;", "pred")], sources
    )
    pairs = list(zip(a, b, strict=True))
    assert [r.tolist() for r in got] == [
        [x & y for x, y in pairs], [x | y for x, y in pairs], [x ^ y for x, y in pairs], [1 - x for x in a]
    ]  # fmt: skip


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_inversion(bits: int) -> None:
    """not, bit by bit; cnot, as C's operator ! has it."""
    words = [x & ((1 << bits) - 1) for x in LONGS]
    cases = [(f"{name}.b{bits} %d, %a;", f"b{bits}") for name in ("not", "cnot")]
    got = run_ops(cases, [(f"b{bits}", np.array(words, f"u{bits // 8}"))])
    assert [r.tolist() for r in got] == [[(1 << bits) - 1 - x for x in words], [int(x == 0) for x in words]]


def test_masks_and_extension() -> None:
    """bmsk and szext: ones from a bit on, and the sign of a field."""
    places = [0, 1, 5, 31, 32, 33, 63, 64, 255, 0xFFFFFFFF]
    word, start, length = cross([0, 0xFFFFFFFF, 0x80000001, 0x12345678], places, places)
    sources = [("b32", np.array(x, "u4")) for x in (word, start, length)]
    forms = ["bmsk.clamp.b32 %d, %b, %c;", "bmsk.wrap.b32 %d, %b, %c;"]
    forms += [f"szext.{mode}.{kind} %d, %a, %c;" for mode in ("clamp", "wrap") for kind in ("u32", "s32")]
    got = [r.tolist() for r in run_ops([(f, "b32") for f in forms], sources)]
    assert got[0] == [ones(s, n) if s < 32 else 0 for s, n in zip(start, length, strict=True)]
    assert got[1] == [ones(s & 31, n & 31) for s, n in zip(start, length, strict=True)]
    sizes = [[min(n, 32) for n in length], [n & 31 for n in length]]
    for (mode, is_signed), result in zip(product((0, 1), (False, True)), got[2:], strict=True):
        assert result == [extend(w, n, is_signed) for w, n in zip(word, sizes[mode], strict=True)]


def ones(start: int, length: int) -> int:
    return ((1 << min(length, 32)) - 1 << start) & 0xFFFFFFFF


def extend(word: int, size: int, is_signed: bool) -> int:
    low = word & ((1 << size) - 1)
    return (signed(low, size) if is_signed and size else low) & 0xFFFFFFFF


def nth_set(word: int, base: int, n: int) -> int:
    if n == 0:
        return base if word >> base & 1 else 0xFFFFFFFF
    order = range(base, 32) if n > 0 else range(base, -1, -1)
    found = [i for i in order if word >> i & 1]
    return found[abs(n) - 1] if abs(n) <= len(found) else 0xFFFFFFFF


def test_find_nth_set() -> None:
    counts = [0, 1, -1, 2, -2, 4, 17, -17, 32, -33, -(2**31)]
    word, base, n = cross([0, 0xAAAAAAAA, 0xFFFFFFFF, 1, 0x80000000, 0x00F0], [0, 2, 3, 7, 31], counts)
    sources = [("b32", np.array(word, "u4")), ("b32", np.array(base, "u4")), ("s32", np.array(n, "i4"))]
    got = run_op("fns.b32 %d, %a, %b, %c;", sources, "b32", compiled=False)
    assert got.tolist() == [nth_set(w, b, k) for w, b, k in zip(word, base, n, strict=True)]
    assert [nth_set(0xAAAAAAAA, *c) for c in ((3, 1), (3, -1), (2, 1), (2, -1))] == [
        3,
        3,
        3,
        1,
    ]  # the examples of the PTX ISA
