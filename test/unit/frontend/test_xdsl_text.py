"""xDSL reads what upstream prints as upstream means it."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from prism_mlir.frontend.upstream import read_module
from prism_mlir.frontend.xdsl_text import for_xdsl

INF = np.inf


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("dense<0xFF800000> : tensor<f32>", [-INF]),
        ("dense<0x7F800000> : tensor<2xf32>", [INF, INF]),
        ("dense<[0xFF800000, 1.5]> : tensor<2xf32>", [-INF, 1.5]),
        ("dense<[[1.0, 0x7FF0000000000000], [-2.5, 1.0e300]]> : tensor<2x2xf64>", [1.0, INF, -2.5, 1e300]),
        ("dense<[0xFC00, -1.0]> : tensor<2xf16>", [-INF, -1.0]),
        ("dense<[1.0, 2.0]> : tensor<2xf32>", [1.0, 2.0]),
        ("dense<[16, 255]> : tensor<2xi32>", [16, 255]),
    ],
)
def test_constants_that_are_not_finite(literal: str, expected: list[float]) -> None:
    kind = literal.split(" : ")[1]
    handed = read_module(f"func.func @f() -> {kind} {{\n %0 = arith.constant {literal}\n return %0 : {kind}\n}}").text
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Arith):
        context.load_dialect(dialect)
    constants = [op for op in Parser(context, handed).parse_module().walk() if op.name == "arith.constant"]
    (values,) = [op.properties["value"].get_values() for op in constants]
    got = list(values) * (len(expected) if len(values) == 1 else 1)
    assert got == expected


def test_bits_of_bf16() -> None:
    """-inf is 0xFF80 and 1.5 is 0x3FC0: sign, 8 bits of exponent, 7 of fraction; bytes are little-endian."""
    assert for_xdsl("dense<[0xFF80, 1.500000e+00]> : tensor<2xbf16>") == 'dense<"0x80FFC03F"> : tensor<2xbf16>'


def test_strings_stay() -> None:
    for text in ('"a" = ":1:2 to :9"', 'note = "from 1:2 to 3:4"', 'dense<"0x0000"> : tensor<1xf16>'):
        assert for_xdsl(text) == text


def test_ranges_end_where_they_start() -> None:
    text = 'loc(callsite("f"("a.py":11:22 to :57) at "b.py":20:6 to 21:54))'
    assert for_xdsl(text) == 'loc(callsite("f"("a.py":11:22) at "b.py":20:6))'


def test_characters_that_upstream_escapes() -> None:
    assert for_xdsl(r'"\C3\A9 \F0\9F\98\80"') == '"é 😀"'
    assert for_xdsl(r'"\\C3\A9 \00 \22 \0A"') == r'"\\C3\A9 \00 \22 \0A"'
    assert for_xdsl(r'"\C3 \FF"') == r'"\C3 \FF"'
