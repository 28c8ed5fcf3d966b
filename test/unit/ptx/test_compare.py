"""setp, set, selp, slct."""

from __future__ import annotations

import operator
from itertools import product

import numpy as np
import pytest
from ptx_harness import run_op, run_ops
from test_float import F32_EDGES
from test_int_arith import column, pairs

COMPARE = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_integers(kind: str) -> None:
    a, b = pairs(kind)
    names = dict(COMPARE)
    if kind[0] == "u":
        names |= {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}
    sources = [(kind, column(a, kind)), (kind, column(b, kind))]
    got = run_ops([(f"setp.{name}.{kind} %d, %a, %b;", "pred") for name in names], sources)
    for fn, result in zip(names.values(), got, strict=True):
        assert result.astype(bool).tolist() == [fn(x, y) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
def test_floats(kind: str) -> None:
    with np.errstate(all="ignore"):
        base = F32_EDGES.astype({"f32": np.float32, "f64": np.float64, "f16": np.float16}[kind])
    a, b = np.array(list(product(base, base)), dtype=base.dtype).T
    nan = np.isnan(a) | np.isnan(b)
    expected = {"nan": nan, "num": ~nan}
    for name, fn in COMPARE.items():
        expected |= {name: fn(a, b) & ~nan, name + "u": fn(a, b) | nan}
    got = run_ops([(f"setp.{name}.{kind} %d, %a, %b;", "pred") for name in expected], [(kind, a), (kind, b)])
    for name, result in zip(expected, got, strict=True):
        assert (result.astype(bool) == expected[name]).all(), name


@pytest.mark.parametrize("join", ["and", "or", "xor"])
def test_combination_with_a_predicate(join: str) -> None:
    a, b, c = np.array(list(product([1, 2], [1, 2], [0, 1])), dtype=np.uint32).T
    code = f"setp.lt.{join}.u32 %d|%q, %a, %b, %c;"
    fn = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[join]
    sources = [("u32", a), ("u32", b), ("pred", c)]
    forms = (code, code.replace("%d|%q", "%q|%d"), code.replace("%c;", "!%c;"))
    got = run_ops([(form, "pred") for form in forms], sources, ".reg .pred %q;")
    for result, expected in zip(got, (fn(a < b, c), fn(a >= b, c), fn(a < b, c == 0)), strict=True):
        assert (result.astype(bool) == expected).all()


def test_bf16_and_ftz() -> None:
    one, tiny = np.array([0x3F80], np.uint16), np.float32([1e-40])
    assert run_op("setp.gt.bf16 %d, %a, %b;", [("bf16", one), ("bf16", one - 1)], "pred")[0] == 1
    assert run_op("setp.eq.f32 %d, %a, %b;", [("f32", tiny), ("f32", 0 * tiny)], "pred")[0] == 0
    assert run_op("setp.eq.ftz.f32 %d, %a, %b;", [("f32", tiny), ("f32", 0 * tiny)], "pred")[0] == 1


def test_packed_comparison() -> None:
    a = np.array([1, 5, 2, 2], np.float16).view(np.uint32)
    b = np.array([2, 4, 2, 3], np.float16).view(np.uint32)
    code = "setp.lt.f16x2 %d|%q, %a, %b;"
    assert run_op(code, [("b32", a), ("b32", b)], "pred", ".reg .pred %q;").tolist() == [1, 0]
    code = "setp.lt.f16x2 %q|%d, %a, %b;"
    assert run_op(code, [("b32", a), ("b32", b)], "pred", ".reg .pred %q;").tolist() == [0, 1]


def test_set_gives_ones_or_one() -> None:
    a, b = np.float32([1, 2, np.nan]), np.float32([2, 1, 1])
    sources = [("f32", a), ("f32", b)]
    assert run_op("set.lt.u32.f32 %d, %a, %b;", sources, "u32").tolist() == [0xFFFFFFFF, 0, 0]
    assert run_op("set.ltu.f32.f32 %d, %a, %b;", sources, "f32").tolist() == [1.0, 0.0, 1.0]


def test_selection() -> None:
    a, b, p = np.arange(8, dtype=np.uint64), np.arange(8, dtype=np.uint64) + 100, np.arange(8) % 2
    got = run_op("selp.b64 %d, %a, %b, %c;", [("b64", a), ("b64", b), ("pred", p)], "u64")
    assert got.tolist() == np.where(p, a, b).tolist()
    c = np.array([-1, 0, 1, -(2**31)], dtype=np.int32)
    got = run_op("slct.u32.s32 %d, %a, %b, %c;", [("u32", a[:4]), ("u32", b[:4]), ("s32", c)], "u32")
    assert got.tolist() == [100, 1, 2, 103]
    f = np.float32([-0.0, np.nan, -1.0, 1.0])
    got = run_op("slct.f32.f32 %d, %a, %b, %c;", [("f32", a[:4]), ("f32", b[:4]), ("f32", f)], "f32")
    assert got.tolist() == [0, 101, 102, 3]
