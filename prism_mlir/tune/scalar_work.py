"""How many f32 instructions the body of a unary operator takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy

from prism_mlir.graph.scalar_fn import ScalarFn

DIVISION = 8  # a reciprocal's estimate and what makes a quotient of it (CUDA math API: div.full)
SPECIAL = 4  # one of the special functions: those units have a quarter of the f32 lanes
LIBRARY = 16  # functions that are polynomials with range reduction


@lru_cache(maxsize=1024)
def scalar_work(fn: ScalarFn) -> int:
    """Instructions of one evaluation; a product and a sum count as two. A function without arithmetic counts as one.

    Example: ``x**2`` is 1, ``exp(x)`` a product and a special function, 5.
    """
    return max(1, sum(_own_work(e) for e in sympy.preorder_traversal(fn.expr)))


def _own_work(expr: Any) -> int:
    """What an operation adds to its operands' work."""
    if expr.is_number or expr.is_Symbol:
        return 0
    if expr.is_Add or (expr.is_Mul and not any(a.is_Pow and a.exp.is_number and a.exp.is_negative for a in expr.args)):
        return len(expr.args) - 1
    if expr.is_Mul:
        return max(0, len(expr.args) - 2)  # one of the products is the division
    if expr.is_Pow and expr.exp.is_number:
        return _power_work(expr.exp)
    return 1 + SPECIAL if isinstance(expr, sympy.exp) else LIBRARY if expr.is_Function else 1


def _power_work(exponent: Any) -> int:
    if exponent in (sympy.Rational(1, 2), sympy.Rational(-1, 2)):
        return SPECIAL
    if exponent.is_Integer:
        squarings = int(abs(exponent)).bit_length() - 1 + int(abs(exponent)).bit_count() - 1
        return squarings + (DIVISION if exponent.is_negative else 0)
    return LIBRARY
