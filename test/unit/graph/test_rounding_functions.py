"""Functions to integral values: at halves, integers, between them, and for what is no number."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import sympy

from prism_mlir.graph.scalar_fn import Ceil, Floor, Round, ScalarFn, Trunc, X

VALUES = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 3.5, 1e20, 0.49999999999999994]
NAMED: list[tuple[type, str, Callable[[Fraction], int]]] = [
    (Floor, "Floor", math.floor),
    (Ceil, "Ceil", math.ceil),
    (Trunc, "Trunc", math.trunc),
    (Round, "Round", round),
]


@pytest.mark.parametrize(("fn", "name", "expected"), NAMED)
def test_values(fn: type, name: str, expected: Callable[[Fraction], int]) -> None:
    """In f64 and on exact numbers, against Python's rational arithmetic."""
    both = [*VALUES, *(-v for v in VALUES)]
    wanted = [expected(Fraction(v)) for v in both]
    assert ScalarFn.of(fn(X))(np.array(both)).tolist() == wanted
    assert [fn(sympy.Rational(v)) for v in both] == wanted
    assert [fn(sympy.Float(v)) for v in both] == wanted
    special = ScalarFn.of(fn(X))(np.array([np.inf, -np.inf, np.nan]))
    assert special[:2].tolist() == [np.inf, -np.inf]
    assert np.isnan(special[2])
    assert ScalarFn.parse(f"{name}(x/2)").text == f"{name}(x/2)"


def test_numbers_that_have_no_fraction_form() -> None:
    assert (Floor(sympy.pi), Ceil(sympy.pi), Trunc(-sympy.pi), Round(sympy.E)) == (3, 4, -3, 3)
    assert Floor(sympy.oo).has(Floor)  # stays as it is
