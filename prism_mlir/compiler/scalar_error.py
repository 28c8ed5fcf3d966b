"""Rounding errors inside a scalar function: what ``1 + erf(x)`` loses below zero, where both terms cancel.

A running error analysis (Higham, section 3.3) of the function's body, for an argument that is exact: every arithmetic operation
rounds once to f32, every function call errs by a few units, and errors are carried on to the result. What overflows in f32, as
the exponential does in ``1/(1 + exp(-x))`` below -88.7, is infinite there, so its error is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from prism_mlir.graph.scalar_fn import Keep, ScalarFn, X

F32_LARGEST = float(np.finfo(np.float32).max)
CALL_UNITS = 4  # of f32, by which a call of exp, tanh, rsqrt and the like may err

F64 = NDArray[np.float64]
Approximate = tuple[F64, F64]


def rounding_error(fn: ScalarFn, values: F64, unit: float) -> F64:
    """A bound on the absolute error of each element, for arithmetic with relative rounding errors of ``unit``."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(_run(fn.expr, values, unit)[1], values.shape)


def _run(expr: Any, x: F64, unit: float) -> Approximate:
    if expr == X:
        return x, np.zeros_like(x)
    if expr.is_number:
        number = np.float64(float(expr))
        return np.asarray(number), np.asarray(0.0 if number == np.float32(number) else abs(number) * unit)
    operands = [_run(a, x, unit) for a in expr.args]
    if expr.is_Add:
        return _fold(operands, lambda a, b: (a[0] + b[0], a[1] + b[1]), unit)
    if expr.is_Mul:
        return _fold(operands, _product, unit)
    if isinstance(expr, sympy.Max | sympy.Min):
        pick = np.maximum if isinstance(expr, sympy.Max) else np.minimum
        return _fold(operands, lambda a, b: (pick(a[0], b[0]), np.maximum(a[1], b[1])), 0.0)
    if isinstance(expr, Keep):
        (mask, _), (yes, own), (no, other) = operands
        return np.where(mask != 0, yes, no), np.where(mask != 0, own, other)
    return _called(expr, operands, unit)


def _fold(
    operands: list[Approximate], combine: Callable[[Approximate, Approximate], Approximate], unit: float
) -> Approximate:
    """All operands combined, each step rounded."""
    result = operands[0]
    for operand in operands[1:]:
        value, error = combine(result, operand)
        result = value, _with_overflow(value, error + unit * abs(value))
    return result


def _product(a: Approximate, b: Approximate) -> Approximate:
    return a[0] * b[0], abs(a[0]) * b[1] + abs(b[0]) * a[1] + a[1] * b[1]


def _called(expr: Any, operands: list[Approximate], unit: float) -> Approximate:
    """A function, or a power with a number as its exponent, at both ends of what its argument may be."""
    places = [k for k, a in enumerate(expr.args) if not a.is_number]
    if len(places) != 1:
        return np.asarray(np.nan), np.asarray(np.inf)
    (place,) = places
    fn = ScalarFn.of(expr.func(*(X if k == place else a for k, a in enumerate(expr.args))))
    argument, error = operands[place]
    value = fn(argument)
    moved = np.maximum(abs(fn(argument + error) - value), abs(fn(argument - error) - value))
    return value, _with_overflow(value, np.where(error > 0, moved, 0.0) + CALL_UNITS * unit * abs(value))


def _with_overflow(value: F64, error: F64) -> F64:
    return np.where(np.isfinite(value) & (abs(value) + error > F32_LARGEST), np.inf, error)
