"""Scalar functions of one variable ``x``: the bodies of unary operators.

A chain of scalar arithmetic on one tensor, such as ``rsqrt(x/1024 + 1e-06)``, is one unary operator whose body is a sympy
expression. Its canonical text is what identifies it: two unary operators are the same function when their texts are equal.
Text is parsed by walking Python's syntax tree over a short list of functions; nothing is evaluated.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.printing.str import StrPrinter

from prism_mlir.graph.errors import InputError

X = sympy.Symbol("x", real=True)

MAX_EXPONENT = 1024  # of a number; sympy computes it exactly, however many digits it has
MAX_BITS = 1 << 14  # of a number's numerator or denominator
MAX_TEXT = 10_000  # characters of a function; those of programs have some hundred


class Positive(sympy.Function):  # type: ignore[misc]
    """1 where the argument is above zero, else 0: what a comparison is to arithmetic."""

    nargs = (1,)

    @classmethod
    def eval(cls, value: Any) -> Any:
        """The value for a number; ``None`` leaves the call as it is."""
        return sympy.Integer(1 if value > 0 else 0) if value.is_number and value.is_extended_real else None


class Keep(sympy.Function):  # type: ignore[misc]
    """``Keep(mask, a, b)``: ``a`` where the mask is not zero, else ``b``."""

    nargs = (3,)

    @classmethod
    def eval(cls, mask: Any, a: Any, b: Any) -> Any:
        """The value where the mask is a number; ``None`` leaves the call as it is."""
        return None if not mask.is_number else b if mask == 0 else a


class _Rounding(sympy.Function):  # type: ignore[misc]
    """A function to integral values."""

    nargs = (1,)
    rounded: Callable[[Any], Any]

    @classmethod
    def eval(cls, value: Any) -> Any:
        """The value for a number; ``None`` leaves the call as it is."""
        if not (value.is_number and value.is_extended_real and value.is_finite):
            return None
        return sympy.Integer(cls.rounded(value if value.is_Rational else sympy.Rational(float(value))))


class Floor(_Rounding):
    """The largest integer that is not above the argument."""

    rounded = staticmethod(sympy.floor)


class Ceil(_Rounding):
    """The smallest integer that is not below the argument."""

    rounded = staticmethod(sympy.ceiling)


class Trunc(_Rounding):
    """The argument without its fraction."""

    rounded = staticmethod(int)


class Round(_Rounding):
    """The nearest integer, the even one of two."""

    rounded = staticmethod(lambda value: round(Fraction(int(value.p), int(value.q))))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": sympy.exp,
    "log": sympy.log,
    "sqrt": sympy.sqrt,
    "rsqrt": lambda v: 1 / sympy.sqrt(v),
    "tanh": sympy.tanh,
    "erf": sympy.erf,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "Abs": sympy.Abs,
    "abs": sympy.Abs,
    "Max": sympy.Max,
    "Min": sympy.Min,
    "Positive": Positive,
    "Keep": Keep,
    "Floor": Floor,
    "Ceil": Ceil,
    "Trunc": Trunc,
    "Round": Round,
}

_NUMPY: dict[Any, Callable[..., Any]] = {
    sympy.exp: np.exp,
    sympy.log: np.log,
    sympy.tanh: np.tanh,
    sympy.erf: np.vectorize(math.erf, otypes=[np.float64]),
    sympy.sin: np.sin,
    sympy.cos: np.cos,
    sympy.Abs: np.abs,
    Positive: lambda v: (v > 0).astype(np.float64),
    Keep: lambda mask, a, b: np.where(mask != 0, a, b),
    Floor: np.floor,
    Ceil: np.ceil,
    Trunc: np.trunc,
    Round: np.rint,
}


class _Printer(StrPrinter):  # type: ignore[misc]
    """Prints floats so that they read back bit for bit."""

    def _print_Float(self, expr: Any) -> str:
        return repr(float(expr))


@dataclass(frozen=True, slots=True, order=True)
class ScalarFn:
    """A function of one scalar, named by its canonical text.

    Example: ``ScalarFn.of(1 / sympy.sqrt(X / 1024 + 1e-6))`` and ``ScalarFn.parse("rsqrt(x/1024 + 1e-06)")`` are equal.
    """

    text: str

    @staticmethod
    def of(expr: Any) -> ScalarFn:
        """The function whose body is a sympy expression in :data:`X` (and in nothing else)."""
        expr = sympy.sympify(expr, strict=True)  # of text it would make code
        if expr.free_symbols - {X}:
            raise InputError(f"scalar function may use only x, it uses {sorted(map(str, expr.free_symbols))}")
        return ScalarFn(_Printer().doprint(expr))

    @staticmethod
    def parse(text: str) -> ScalarFn:
        """Read a function from text. Raises :class:`InputError` on anything but arithmetic and known functions."""
        try:
            return ScalarFn.of(_parse(text))
        except (ArithmeticError, RecursionError, ValueError, TypeError) as error:  # of sympy, on numbers that are none
            raise InputError(f"cannot read scalar function '{text[:60]}': {type(error).__name__}") from None

    @property
    def expr(self) -> Any:
        """The body as a sympy expression in :data:`X`."""
        return _parse(self.text)

    def then(self, outer: ScalarFn) -> ScalarFn:
        """The composition: first this function, then ``outer``."""
        return ScalarFn.of(outer.expr.subs(X, self.expr))

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate on f64 values, following IEEE rules for infinities and NaN."""
        with np.errstate(all="ignore"):
            result = _evaluate(self.expr, np.asarray(values, dtype=np.float64))
            return np.broadcast_to(np.asarray(result, dtype=np.float64), np.shape(values)).copy()

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=4096)
def _parse(text: str) -> Any:
    if len(text) > MAX_TEXT:
        raise InputError(f"scalar function '{text[:60]}' has {len(text)} characters, at most {MAX_TEXT} are taken")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise InputError(f"cannot read scalar function '{text[:60]}'") from error
    return _convert(tree.body, text)


def _convert(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return sympy.Integer(value) if isinstance(value, int) else sympy.Float(value)
        case ast.Name(id="x"):
            return X
        case ast.Name(id="pi"):
            return sympy.pi
        case ast.Name(id="E"):
            return sympy.E
        case ast.Name(id="inf" | "oo"):
            return sympy.oo
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_convert(operand, text)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _convert(left, text), _convert(right, text), text)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _call(name, [_convert(a, text) for a in arguments], text)
        case _:
            raise InputError(
                f"scalar function '{text[:60]}' uses something other than arithmetic and {', '.join(_FUNCTIONS)}"
            )


def _call(name: str, arguments: list[Any], text: str) -> Any:
    if name == "exp" and any(a.is_number and not _is_small(a) for a in arguments):
        raise InputError(f"scalar function '{text[:60]}' raises e to a power that is not below {MAX_EXPONENT}")
    try:
        return _FUNCTIONS[name](*arguments)
    except TypeError:
        raise InputError(f"scalar function '{text[:60]}' gives {name} {len(arguments)} arguments") from None


def _binary(op: ast.operator, left: Any, right: Any, text: str) -> Any:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case ast.Pow():
            if left.is_number and right.is_extended_real and right.is_number and abs(right) > MAX_EXPONENT:
                raise InputError(f"scalar function '{text[:60]}' raises a number to a power above {MAX_EXPONENT}")
            if left.is_Rational and right.is_Integer and _bits(left) * abs(int(right)) > MAX_BITS:
                raise InputError(f"scalar function '{text[:60]}' holds a number of more than {MAX_BITS} bits")
            return left**right
        case _:
            raise InputError(f"scalar function '{text[:60]}' uses an operator other than + - * / **")


def _is_small(number: Any) -> bool:
    """Whether a number is known to be below ``MAX_EXPONENT``. Towers of powers have more digits than there is time for."""
    value = complex(number)
    return abs(value) < MAX_EXPONENT


def _bits(number: Any) -> int:
    return max(int(number.p).bit_length(), int(number.q).bit_length())


def _evaluate(expr: Any, x: NDArray[np.float64]) -> Any:
    if expr == X:
        return x
    if expr.is_number:
        return float(expr)
    arguments = [_evaluate(a, x) for a in expr.args]
    if expr.is_Add:
        return sum(arguments[1:], arguments[0])
    if expr.is_Mul:
        return math.prod(arguments[1:], start=arguments[0])
    if expr.is_Pow:
        return _power(expr, arguments)
    if isinstance(expr, sympy.Max):
        return _fold(np.maximum, arguments)
    if isinstance(expr, sympy.Min):
        return _fold(np.minimum, arguments)
    return _NUMPY[expr.func](*arguments)


def _power(expr: Any, arguments: list[Any]) -> Any:
    base, exponent = arguments
    if expr.exp == sympy.Rational(1, 2):
        return np.sqrt(base)
    if expr.exp == sympy.Rational(-1, 2):
        return 1.0 / np.sqrt(base)
    if expr.exp == -1:
        return 1.0 / base
    return np.power(base, exponent)


def _fold(combine: Callable[[Any, Any], Any], arguments: list[Any]) -> Any:
    result = arguments[0]
    for argument in arguments[1:]:
        result = combine(result, argument)
    return result
