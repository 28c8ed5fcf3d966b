"""Scalar arithmetic: bodies of unary operators and the binary operators, on f32 values.

``math`` operations reach PTX through the device library that upstream embeds; with ``fast`` the exponential is the hardware's
``ex2.approx`` (2 ulp, after one multiplication) and division is ``div.full`` (2 ulp) or ``rcp.approx`` (1 ulp), which is far
below the rounding of a 16-bit result. Kernels with f32 results use the accurate forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy

from prism_mlir.codegen.builder import Builder
from prism_mlir.graph.errors import CodegenError
from prism_mlir.graph.ops import MONOIDS, Op
from prism_mlir.graph.scalar_fn import Ceil, Floor, Keep, Positive, Round, Trunc, X

_FAST = "fastmath<fast>"
_FUNCTIONS = {
    sympy.exp: "exp",
    sympy.log: "log",
    sympy.tanh: "tanh",
    sympy.erf: "erf",
    sympy.sin: "sin",
    sympy.cos: "cos",
    Floor: "floor",
    Ceil: "ceil",
    Trunc: "trunc",
    Round: "roundeven",
}
_CONTRACT = (
    "fastmath<contract>"  # lets a product and a sum become one fused operation, which rounds once instead of twice
)
_LARGEST_POWER = 8  # integer powers up to this one are written as products


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Emits f32 arithmetic into a builder."""

    builder: Builder
    fast: bool

    def unary(self, op: Op, x: str) -> str:
        """The body of a unary operator at ``x``."""
        assert op.fn is not None
        return self._expression(op.fn.expr, x)

    def binary(self, op: Op, a: str, b: str) -> str:
        """A binary operator of the operator table; ``max`` and ``min`` hand on NaN, as the table's meaning does."""
        if op.name == "keep":
            assert op.value is not None
            return self._where(a, b, self.builder.f32(op.value))
        if op.name not in BINARY:
            raise CodegenError(f"no code for operator {op.name}", None, "add it to codegen/elementwise.py")
        return BINARY[op.name](self, a, b)

    def combine(self, monoid: str, a: str, b: str) -> str:
        """Two partial results of a reduction by ``monoid`` as one."""
        return BINARY[MONOIDS[monoid]](self, a, b)

    def neutral(self, monoid: str) -> str:
        return self.builder.f32({"sum": 0.0, "max": float("-inf"), "min": float("inf")}[monoid])

    def divide(self, a: str, b: str) -> str:
        if not self.fast:
            return self.builder.pure(f"arith.divf {a}, {b} : f32")
        # div.approx would be wrong for divisors above 2**126 (PTX ISA, "div"); div.full is as fast nearly, and right for all.
        return self.builder.pure(f'llvm.call_intrinsic "llvm.nvvm.div.full"({a}, {b}) : (f32, f32) -> f32')

    def reciprocal(self, a: str) -> str:
        flags = " fastmath<afn>" if self.fast else ""
        return self.builder.pure(f"arith.divf {self.builder.f32(1.0)}, {a}{flags} : f32")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.builder.pure(f"math.fma {a}, {b}, {c} : f32")

    def two(self, name: str, a: str, b: str) -> str:
        """An operation of upstream's ``arith`` dialect."""
        flags = f" {_CONTRACT}" if name in ("addf", "subf", "mulf") else ""
        return self.builder.pure(f"arith.{name} {a}, {b}{flags} : f32")

    def _where(self, mask: str, yes: str, no: str) -> str:
        """``yes`` where the mask is not zero."""
        holds = self.builder.pure(f"arith.cmpf une, {mask}, {self.builder.f32(0.0)} : f32")
        return self.builder.select(holds, yes, no)

    def _positive(self, value: str) -> str:
        holds = self.builder.pure(f"arith.cmpf ogt, {value}, {self.builder.f32(0.0)} : f32")
        return self.builder.select(holds, self.builder.f32(1.0), self.builder.f32(0.0))

    def _call(self, name: str, x: str, flags: str = "") -> str:
        return self.builder.pure(f"math.{name} {x}{' ' + flags if flags else ''} : f32")

    def _expression(self, expr: Any, x: str) -> str:
        if expr == X:
            return x
        if expr.is_number:
            return self.builder.f32(float(expr))
        if expr.is_Add:
            return self._sum(expr.args, x)
        if expr.is_Mul:
            return self._product(expr.args, x)
        if expr.is_Pow:
            return self._power(expr.base, expr.exp, x)
        if isinstance(expr, sympy.Max | sympy.Min):
            return self._fold("maximumf" if isinstance(expr, sympy.Max) else "minimumf", expr.args, x)
        if isinstance(expr, Positive):
            return self._positive(self._expression(expr.args[0], x))
        if isinstance(expr, Keep):
            mask, yes, no = (self._expression(a, x) for a in expr.args)
            return self._where(mask, yes, no)
        if isinstance(expr, sympy.Abs):
            return self._call("absf", self._expression(expr.args[0], x))
        if expr.func in _FUNCTIONS:
            flags = _FAST if self.fast and expr.func is sympy.exp else ""
            return self._call(_FUNCTIONS[expr.func], self._expression(expr.args[0], x), flags)
        raise CodegenError(f"no code for the scalar function {expr.func} in {expr}")

    def _fold(self, name: str, arguments: Any, x: str) -> str:
        result = self._expression(arguments[0], x)
        for argument in arguments[1:]:
            result = self.two(name, result, self._expression(argument, x))
        return result

    def _sum(self, terms: Any, x: str) -> str:
        """Terms with a negative factor are subtracted; numbers come last, as in ``x*scale + eps``."""
        ordered = sorted(terms, key=lambda t: bool(t.is_number))
        result = self._expression(ordered[0], x)
        for term in ordered[1:]:
            if not term.is_number and term.could_extract_minus_sign():
                result = self.two("subf", result, self._expression(-term, x))
            else:
                result = self.two("addf", result, self._expression(term, x))
        return result

    def _product(self, factors: Any, x: str) -> str:
        below = [f for f in factors if _is_divisor(f)]
        above = [f for f in factors if not _is_divisor(f)]
        if not below:
            return self._fold("mulf", above, x)
        denominator = self._fold("mulf", [f.base**-f.exp for f in below], x)
        if not above:
            return self.reciprocal(denominator)
        return self.divide(self._fold("mulf", above, x), denominator)

    def _power(self, base: Any, exponent: Any, x: str) -> str:
        if exponent == sympy.Rational(-1, 2):
            return self._call("rsqrt", self._expression(base, x))
        if exponent.is_number and exponent.is_negative:
            return self.reciprocal(self._expression(base**-exponent, x))
        if exponent == sympy.Rational(1, 2):
            return self._call("sqrt", self._expression(base, x))
        value = self._expression(base, x)
        if exponent.is_Integer and 0 < exponent <= _LARGEST_POWER:
            return self._integer_power(value, int(exponent))
        power = self._expression(exponent, x)
        return self.builder.pure(f"math.powf {value}, {power} : f32")

    def _integer_power(self, value: str, exponent: int) -> str:
        if exponent == 1:
            return value
        half = self._integer_power(value, exponent // 2)
        square = self.two("mulf", half, half)
        return self.two("mulf", square, value) if exponent % 2 else square


def _is_divisor(factor: Any) -> bool:
    """Whether a factor is better divided by: a negative power, but not ``1/sqrt``, which the hardware has."""
    if factor.is_number or not factor.is_Pow or not factor.exp.is_number:
        return False
    return bool(factor.exp.is_negative) and factor.exp != sympy.Rational(-1, 2)


def _arith(name: str) -> Callable[[Arithmetic, str, str], str]:
    return lambda emit, a, b: emit.two(name, a, b)


BINARY: dict[str, Callable[[Arithmetic, str, str], str]] = {
    "add": _arith("addf"),
    "sub": _arith("subf"),
    "mul": _arith("mulf"),
    "div": Arithmetic.divide,
    "max": _arith("maximumf"),
    "min": _arith("minimumf"),
}
"""Code of the binary operators without attributes: what is emitted for two values, and the name of the result."""
