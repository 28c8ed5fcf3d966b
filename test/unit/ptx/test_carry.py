"""Extended-precision arithmetic (add.cc, addc, mad.cc, madc …) against Python's unbounded integers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ptx_harness import run_op

from prism_mlir.runtime.ptx import PtxSyntaxError


def edges(kind: str) -> list[int]:
    bits = int(kind[1:])
    low = -(1 << (bits - 1)) if kind[0] == "s" else 0
    high = low + (1 << bits) - 1
    return sorted({low, low + 1, -1 if low else high // 2 + 1, 0, 1, 97, high // 2, high - 1, high})


def column(values: list[int], kind: str) -> np.ndarray:
    return np.array(values, dtype=np.dtype(f"{'i' if kind[0] == 's' else 'u'}{int(kind[1:]) // 8}"))


def wrap(value: int, kind: str) -> int:
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("half", ["lo", "hi"])
@pytest.mark.parametrize("carried", [0, 1])
def test_products_with_carry(kind: str, half: str, carried: int) -> None:
    """Half of a product plus a third value plus the carry: the sum, and the carry out of its bits, signed or not."""
    bits = int(kind[1:])
    full = (1 << bits) - 1
    rows = [(a, b, c) for a, b in product(edges(kind), edges(kind)) for c in edges(kind)[:: 2 if a else 1]]
    cols = [(kind, column([r[i] for r in rows], kind)) for i in range(3)]
    set_carry = f".reg .b{bits} %x; add.cc.u{bits} %x, {-carried}, 1;"  # all ones plus one carries; 0 plus one does not
    sums, carries = [], []
    for a, b, c in rows:
        part = (a * b >> bits if half == "hi" else a * b) & full
        total = part + (c & full) + carried
        sums.append(wrap(total, kind))
        carries.append(total >> bits)
    op = f"{set_carry} madc.{half}.cc.{kind} %d, %a, %b, %c;"
    if not carried:
        assert run_op(op.replace(f"{half}.cc", half), cols, kind).tolist() == sums
        op = f"mad.{half}.cc.{kind} %d, %a, %b, %c;"
    assert run_op(op, cols, kind).tolist() == sums
    assert run_op(f"{op} addc.{kind} %d, 0, 0;", cols, kind).tolist() == carries


def test_a_chain_of_products_makes_a_product_of_128_bits() -> None:
    """The words 2 and 3 of a 64-bit by 64-bit product from 32-bit words, as nvcc writes it."""
    a, b = zip(*product(edges("u64"), edges("u64")), strict=True)
    cols = [("u64", column(list(x), "u64")) for x in (a, b)]
    declare = ".reg .b32 %x<2>, %y<2>, %w<4>;"
    code = """mov.b64 {%x0, %x1}, %a; mov.b64 {%y0, %y1}, %b;
      mul.lo.u32 %w0, %x0, %y0; mul.hi.u32 %w1, %x0, %y0;
      mad.lo.cc.u32 %w1, %x0, %y1, %w1; madc.hi.u32 %w2, %x0, %y1, 0;
      mad.lo.cc.u32 %w1, %x1, %y0, %w1; madc.hi.cc.u32 %w2, %x1, %y0, %w2; addc.u32 %w3, 0, 0;
      mad.lo.cc.u32 %w2, %x1, %y1, %w2; madc.hi.u32 %w3, %x1, %y1, %w3; mov.b64 %d, {%w2, %w3};"""
    assert run_op(code, cols, "u64", declare).tolist() == [x * y >> 64 for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize(
    "name", ["add.sat.cc.s32", "addc.sat.s32", "mad.wide.cc.u32", "madc.cc.u32", "mad.lo.cc.u16", "add.cc.b32"]
)
def test_carry_forms_that_do_not_exist(name: str) -> None:
    operands = "%d, %a, %a, %a" if name.startswith("mad") else "%d, %a, %a"
    with pytest.raises(PtxSyntaxError, match="unknown instruction"):
        run_op(f"{name} {operands};", [("u32", column([1], "u32"))], "u32")
