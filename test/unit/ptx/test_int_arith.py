"""Integer arithmetic against Python's unbounded integers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from ptx_harness import kernel, launch, run_op, run_ops

from prism_mlir.runtime.ptx import PtxSyntaxError


def edges(kind: str) -> list[int]:
    bits = int(kind[1:])
    if kind[0] == "s":
        top = 1 << (bits - 1)
        return [-top, -top + 1, -7, -2, -1, 0, 1, 2, 5, 97, top - 2, top - 1]
    return [0, 1, 2, 3, 97, (1 << (bits - 1)) - 1, 1 << (bits - 1), (1 << bits) - 2, (1 << bits) - 1]


def wrap(value: int, kind: str) -> int:
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


Binary = Callable[[int, int], int]
KINDS = ["u16", "s16", "u32", "s32", "u64", "s64"]
BINARY: dict[str, Binary] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
}


def pairs(kind: str, nonzero: bool = False) -> tuple[list[int], list[int]]:
    both = [(a, b) for a, b in product(edges(kind), edges(kind)) if b or not nonzero]
    return [a for a, _ in both], [b for _, b in both]


def column(values: list[int], kind: str) -> np.ndarray:
    return np.array(values, dtype=np.dtype(f"{'i' if kind[0] == 's' else 'u'}{int(kind[1:]) // 8}"))


@pytest.mark.parametrize("kind", KINDS)
def test_binary(kind: str) -> None:
    a, b = pairs(kind)
    bits = int(kind[1:])
    more: dict[str, Binary] = {
        "mul.hi": lambda x, y: (x * y) >> bits,
        "mad.lo": lambda x, y: x * y + x,
        "mad.hi": lambda x, y: ((x * y) >> bits) + x,
    }
    ops = {**BINARY, **more}
    code = [(f"{name}.{kind} %d, %a, %b{', %a' if name[:3] == 'mad' else ''};", kind) for name in ops]
    got = run_ops(code, [(kind, column(a, kind)), (kind, column(b, kind))])
    for (name, fn), result in zip(ops.items(), got, strict=True):
        assert result.tolist() == [wrap(fn(x, y), kind) for x, y in zip(a, b, strict=True)], name


@pytest.mark.parametrize("kind", KINDS)
def test_division(kind: str) -> None:
    a, b = pairs(kind, nonzero=True)
    code = [(f"{name}.{kind} %d, %a, %b;", kind) for name in ("div", "rem")]
    div, rem = run_ops(code, [(kind, column(a, kind)), (kind, column(b, kind))])
    assert div.tolist() == [wrap(quotient(x, y), kind) for x, y in zip(a, b, strict=True)]
    assert rem.tolist() == [wrap(x - y * quotient(x, y), kind) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32"])
def test_wide(kind: str) -> None:
    wide = f"{kind[0]}{2 * int(kind[1:])}"
    a, b = pairs(kind)
    got = run_op(f"mul.wide.{kind} %d, %a, %b;", [(kind, column(a, kind)), (kind, column(b, kind))], wide)
    assert got.tolist() == [x * y for x, y in zip(a, b, strict=True)]
    c = [x + y for x, y in zip(a, b, strict=True)]
    sources = [(kind, column(a, kind)), (kind, column(b, kind)), (wide, column([wrap(x, wide) for x in c], wide))]
    got = run_op(f"mad.wide.{kind} %d, %a, %b, %c;", sources, wide)
    assert got.tolist() == [wrap(x * y + z, wide) for x, y, z in zip(a, b, c, strict=True)]


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_abs_and_neg(kind: str) -> None:
    a = edges(kind)
    absolute, negative = run_ops(
        [(f"abs.{kind} %d, %a;", kind), (f"neg.{kind} %d, %a;", kind)], [(kind, column(a, kind))]
    )
    assert absolute.tolist() == [wrap(abs(x), kind) for x in a]
    assert negative.tolist() == [wrap(-x, kind) for x in a]


def test_division_by_zero_gives_what_gpus_give() -> None:
    a = column([0, 5, 2**32 - 1], "u32")
    zero = np.zeros(3, np.uint32)
    assert run_op("div.u32 %d, %a, %b;", [("u32", a), ("u32", zero)], "u32").tolist() == [2**32 - 1] * 3
    assert run_op("rem.u32 %d, %a, %b;", [("u32", a), ("u32", zero)], "u32").tolist() == a.tolist()


def test_saturating_add_and_sub() -> None:
    a, b = pairs("s32")
    cols = [("s32", column(a, "s32")), ("s32", column(b, "s32"))]
    top = 2**31 - 1
    added, taken = run_ops([("add.sat.s32 %d, %a, %b;", "s32"), ("sub.sat.s32 %d, %a, %b;", "s32")], cols)
    assert added.tolist() == [max(-top - 1, min(top, x + y)) for x, y in zip(a, b, strict=True)]
    assert taken.tolist() == [max(-top - 1, min(top, x - y)) for x, y in zip(a, b, strict=True)]


def test_carry_chains_make_wide_sums() -> None:
    a, b = pairs("u64")
    cols = [("u64", column(a, "u64")), ("u64", column(b, "u64"))]
    split = "mov.b64 {%x0, %x1}, %a; mov.b64 {%y0, %y1}, %b;"
    declare = ".reg .b32 %x0, %x1, %y0, %y1, %z0, %z1;"
    add, sub = run_ops([
        (f"{split} add.cc.u32 %z0, %x0, %y0; addc.u32 %z1, %x1, %y1; mov.b64 %d, {{%z0, %z1}};", "u64"),
        (f"{split} sub.cc.u32 %z0, %x0, %y0; subc.u32 %z1, %x1, %y1; mov.b64 %d, {{%z0, %z1}};", "u64"),
    ], cols, declare)  # fmt: skip
    assert add.tolist() == [wrap(x + y, "u64") for x, y in zip(a, b, strict=True)]
    assert sub.tolist() == [wrap(x - y, "u64") for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_sad_and_mul24(kind: str) -> None:
    a, b = pairs(kind)
    cols = [(kind, column(a, kind)), (kind, column(b, kind))]
    code = [(f"sad.{kind} %d, %a, %b, %b;", kind), (f"mul24.lo.{kind} %d, %a, %b;", kind),
            (f"mul24.hi.{kind} %d, %a, %b;", kind), (f"mad24.lo.{kind} %d, %a, %b, %a;", kind),
            (f"mad24.hi.{kind} %d, %a, %b, %a;", kind)]  # fmt: skip
    sad, *products = run_ops(code, cols)
    assert sad.tolist() == [wrap(y + abs(x - y), kind) for x, y in zip(a, b, strict=True)]
    short = [wrap(x, f"{kind[0]}24") * wrap(y, f"{kind[0]}24") for x, y in zip(a, b, strict=True)]
    assert [r.tolist() for r in products] == [
        [wrap(p, kind) for p in short],
        [wrap(p >> 16, kind) for p in short],
        [wrap(p + x, kind) for p, x in zip(short, a, strict=True)],
        [wrap((p >> 16) + x, kind) for p, x in zip(short, a, strict=True)],
    ]


def test_relu_minimum() -> None:
    a, b = pairs("s32")
    cols = [("s32", column(a, "s32")), ("s32", column(b, "s32"))]
    assert run_op("min.relu.s32 %d, %a, %b;", cols, "s32").tolist() == [
        max(0, min(x, y)) for x, y in zip(a, b, strict=True)
    ]


@pytest.mark.parametrize("kind", ["u16", "s16"])
def test_packed_integers(kind: str) -> None:
    """add, min and max of two halves; no carry goes from one to the other."""
    a, b = pairs(kind)
    packed = [(f"b{32}", np.repeat(column(v, kind), 2).view(np.uint32)) for v in (a, b)]
    ops: dict[str, Binary] = {"add": lambda x, y: x + y, "min": min, "max": max}
    if kind == "s16":
        ops |= {"min.relu": lambda x, y: max(0, min(x, y)), "max.relu": lambda x, y: max(0, x, y)}
    for (name, fn), got in zip(
        ops.items(), run_ops([(f"{n}.{kind}x2 %d, %a, %b;", "b32") for n in ops], packed), strict=True
    ):
        halves = got.view(column([0], kind).dtype)
        assert (
            halves[::2].tolist() == halves[1::2].tolist() == [wrap(fn(x, y), kind) for x, y in zip(a, b, strict=True)]
        ), name


def test_saturating_products() -> None:
    """mad.hi.sat and mad24.hi.sat clamp the sum."""
    a, b = pairs("s32")
    top = 2**31 - 1
    cols = [("s32", column(a, "s32")), ("s32", column(b, "s32")), ("s32", column([top] * len(a), "s32"))]
    high, short = run_ops(
        [("mad.hi.sat.s32 %d, %a, %b, %c;", "s32"), ("mad24.hi.sat.s32 %d, %a, %b, %c;", "s32")], cols
    )
    assert high.tolist() == [min(top, (x * y >> 32) + top) for x, y in zip(a, b, strict=True)]
    products = [wrap(wrap(x, "s24") * wrap(y, "s24") >> 16, "s32") for x, y in zip(a, b, strict=True)]
    assert short.tolist() == [min(top, p + top) for p in products]


def elements(word: int, bits: int, is_signed: bool) -> list[int]:
    return [wrap(word >> i, f"{'s' if is_signed else 'u'}{bits}") for i in range(0, 32, bits)]


def test_dot_products() -> None:
    words = [0, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0x01020304, 0x80FF7F01, 0x8000FFFF, 0x7FFF8000]
    a, b = ([x for x, _ in product(words, words)], [y for _, y in product(words, words)])
    c = [(x * 2654435761 + 7) & 0xFFFFFFFF for x in range(len(a))]
    sources = [("b32", np.array(v, np.uint32)) for v in (a, b, c)]
    code = [f"{name}.{s}32.{t}32" for name in ("dp4a", "dp2a.lo", "dp2a.hi") for s, t in product("us", "us")]
    for form, got in zip(code, run_ops([(f"{f} %d, %a, %b, %c;", "u32") for f in code], sources), strict=True):
        first, second = (part[0] == "s" for part in form.split(".")[-2:])
        for x, y, z, result in zip(a, b, c, got.tolist(), strict=True):
            left = elements(x, 8 if "dp4a" in form else 16, first)
            right = elements(y, 8, second)[2 if "hi" in form else 0 :]
            assert result == (z + sum(p * q for p, q in zip(left, right, strict=False))) & 0xFFFFFFFF


@pytest.mark.parametrize(
    "form",
    ["add.sat.u32", "add.b32", "mul.lo.b32", "mul.lo.s8", "div.b32", "rem.b32", "sad.b32", "sad.f32", "mul24.lo.b32",
     "mad.rn.f16", "mad.lo.sat.s32", "min.relu.u32", "min.b32", "abs.u32", "dp4a.u32", "dp2a.u32.u32", "sub.u16x2",
     "add.sat.relu.s32"],
)  # fmt: skip
def test_forms_that_do_not_exist(form: str) -> None:
    register = "%h1" if form.endswith((".f16", ".s8")) else "%f1" if form.endswith("f32") else "%r1"
    count = {"sad": 4, "mad": 4, "abs": 2, "dp4": 4, "dp2": 4}.get(form[:3], 3)
    with pytest.raises(PtxSyntaxError, match="unknown instruction"):
        launch(kernel(f"{form} {', '.join([register] * count)}; ret;"), [np.zeros(1)])
