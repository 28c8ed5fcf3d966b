"""f64 rounded to 16 bits, once: against exact rational arithmetic, and in code of upstream's JIT."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_mlir.frontend.upstream import read_module
from prism_mlir.runtime.cpu_jit import compile_module
from prism_mlir.runtime.narrow import bf16_bits, f16_bits

FORMATS = {
    "f16": (10, -14, 15, f16_bits),
    "bf16": (7, -126, 127, bf16_bits),
}  # mantissa bits, least and greatest exponent


def nearest(x: float, element: str) -> int:
    """Bits of the nearest number of a format, ties to even, by exact arithmetic. Positive finite numbers only."""
    mantissa, least, greatest, _ = FORMATS[element]
    exponent = max(least, math.frexp(x)[1] - 1) if x else least
    steps = round(Fraction(x) / Fraction(2) ** (exponent - mantissa))  # Python rounds ties to even
    bits = steps if exponent == least and steps < 2**mantissa else steps + ((exponent - least) << mantissa)
    return min(bits, (greatest - least + 2) << mantissa)


@pytest.mark.parametrize("element", FORMATS)
@given(st.floats(min_value=0, allow_infinity=False, allow_nan=False), st.booleans())
def test_any_number(element: str, x: float, negative: bool) -> None:
    sign = 0x8000 if negative else 0
    assert FORMATS[element][3](-x if negative else x) == nearest(x, element) | sign


@pytest.mark.parametrize("element", FORMATS)
@given(st.integers(1, 0x7BFF), st.integers(-2, 2))
def test_next_to_a_tie(element: str, bits: int, steps: int) -> None:
    """Halfway between two neighbours, and up to two numbers of f64 beside it: an f32 on the way would round to the tie."""
    mantissa, least, _, function = FORMATS[element]
    exponent = max(least, least + (bits >> mantissa) - 1)
    fraction = bits - ((exponent - least) << mantissa)
    x = math.ldexp(2 * fraction + 1, exponent - mantissa - 1)
    for _ in range(abs(steps)):
        x = math.nextafter(x, math.copysign(math.inf, steps))
    assert function(x) == nearest(x, element)


@pytest.mark.parametrize(("element", "infinity"), [("f16", 0x7C00), ("bf16", 0x7F80)])
def test_infinities_and_nan(element: str, infinity: int) -> None:
    function = FORMATS[element][3]
    assert [function(math.inf), function(-math.inf), function(1e300)] == [infinity, infinity | 0x8000, infinity]
    assert function(math.nan) & 0x7FFF > infinity


@pytest.mark.parametrize("element", FORMATS)
def test_the_jit_rounds_f64_to_16_bits(element: str) -> None:
    source = f"""
    func.func @f(%a: tensor<64xf64>) -> tensor<64x{element}> {{
      %e = tensor.empty() : tensor<64x{element}>
      %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
          ins(%a : tensor<64xf64>) outs(%e : tensor<64x{element}>) {{
      ^bb0(%x: f64, %y: {element}):
        %c = arith.truncf %x : f64 to {element}
        linalg.yield %c : {element}
      }} -> tensor<64x{element}>
      return %r : tensor<64x{element}>
    }}
    """
    values = np.abs(np.random.default_rng(0).standard_normal(64)) * 10.0 ** np.linspace(-9, 6, 64)
    (got,) = compile_module(read_module(source).text, None)(values)
    assert got.view(np.uint16).tolist() == [nearest(float(x), element) for x in values]
