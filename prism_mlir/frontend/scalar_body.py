"""The scalar operations inside ``linalg.generic`` bodies, as operations on whole tensors.

A body is evaluated once, with tensors seen from the iteration space in place of scalars: ``arith.mulf`` of two of them
becomes one binary node, ``math.exp`` one unary node. What cannot be expressed becomes :class:`Unknown`, which only
turns into an error if the program's result depends on it; so the index that an argmax carries along costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from prism_mlir.frontend.tensor_graph import TensorGraph, View
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.errors import Location, UnsupportedError
from prism_mlir.graph.scalar_fn import X


@dataclass(frozen=True, slots=True)
class Const:
    """A number, the same everywhere."""

    value: float


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something the program model cannot express, and where."""

    what: str
    location: Location
    hint: str = "rewrite it with supported operations"

    def error(self) -> UnsupportedError:
        return UnsupportedError(self.what, self.location, self.hint)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left predicate right``, kept for the ``arith.select`` that may follow."""

    predicate: str
    left: Const | View
    right: Const | View


Value = Const | View | Unknown | Comparison

UNARY: dict[str, Callable[[Any], Any]] = {
    "arith.negf": lambda v: -v,
    "math.absf": sympy.Abs,
    "math.exp": sympy.exp,
    "math.exp2": lambda v: 2**v,
    "math.expm1": lambda v: sympy.exp(v) - 1,
    "math.log": sympy.log,
    "math.log1p": lambda v: sympy.log(1 + v),
    "math.log2": lambda v: sympy.log(v) / sympy.log(2),
    "math.sqrt": sympy.sqrt,
    "math.rsqrt": lambda v: 1 / sympy.sqrt(v),
    "math.tanh": sympy.tanh,
    "math.erf": sympy.erf,
    "math.sin": sympy.sin,
    "math.cos": sympy.cos,
}

BINARY: dict[str, str] = {
    "arith.addf": "add",
    "arith.subf": "sub",
    "arith.mulf": "mul",
    "arith.divf": "div",
    "arith.maximumf": "max",
    "arith.maxnumf": "max",
    "arith.minimumf": "min",
    "arith.minnumf": "min",
}

COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "max": lambda a, b: sympy.Max(a, b),
    "min": lambda a, b: sympy.Min(a, b),
}

CASTS = frozenset({"arith.extf", "arith.truncf"})

# predicate numbers of arith.cmpf, ordered and unordered forms alike
_CMPF = {2: "gt", 3: "ge", 4: "lt", 5: "le", 9: "gt", 10: "ge", 11: "lt", 12: "le"}


def number(value: float) -> Any:
    """A sympy number for a float: an integer where it is one, so that ``x/1024`` prints as such."""
    if math.isinf(value):
        return sympy.oo if value > 0 else -sympy.oo
    if value == int(value) and abs(value) < 2**53:
        return sympy.Integer(int(value))
    return sympy.Float(value)


def dtype_of(kind: Any) -> DType | None:
    """The element type of an MLIR type, or None if the program model has none for it."""
    name = str(kind)
    return DType(name) if name in set(DType) else None


class BodyEvaluator:
    """Evaluates scalar operations on views into a :class:`TensorGraph`."""

    def __init__(self, graph: TensorGraph, locate: Callable[[Any], Location]) -> None:
        self.graph = graph
        self.locate = locate

    def evaluate(self, op: Any, operands: list[Value]) -> Value:
        """The result of one scalar operation (an ``mlir.ir.Operation`` with one result)."""
        location = self.locate(op)
        unknown = next((value for value in operands if isinstance(value, Unknown)), None)
        if unknown is not None:
            return unknown
        dtype = dtype_of(op.results[0].type)
        if op.name == "arith.cmpf":
            return self._comparison(op, operands, location)
        if dtype is None or not dtype.is_float:
            return Unknown(f"{op.name} on {op.results[0].type}", location)
        if op.name == "arith.select":
            return self._select(op, operands, dtype, location)
        plain = [value for value in operands if isinstance(value, Const | View)]
        if len(plain) != len(operands):
            return Unknown(f"{op.name} of a comparison", location)
        if op.name in CASTS:
            return self.cast(plain[0], dtype)
        if op.name in UNARY:
            return self.unary(UNARY[op.name], plain[0], dtype, location)
        if op.name in BINARY:
            return self.binary(BINARY[op.name], plain[0], plain[1], dtype, location)
        return self._special(op, plain, dtype, location)

    def cast(self, value: Const | View, dtype: DType) -> Const | View:
        """A cast between floats is the identity of the algebra; the precision it leaves is recorded."""
        if isinstance(value, Const):
            return Const(float(to_float64(from_float64(np.array([value.value]), dtype), dtype)[0]))
        return View(value.node, value.axes, narrower(value.dtype, dtype))

    def unary(self, fn: Callable[[Any], Any], value: Const | View, dtype: DType, location: Location) -> Value:
        """``fn`` (on sympy expressions) of a value."""
        if isinstance(value, View):
            body = fn(X)
            if body.has(sympy.zoo, sympy.nan):
                return Unknown("arithmetic with a constant that is not a number", location, "use a real number")
            if not body.has(X):
                return self._folded(body, location)
            return value if body == X else self.graph.unary(body, value, dtype, location)
        return self._folded(fn(number(value.value)), location)

    def binary(self, name: str, left: Const | View, right: Const | View, dtype: DType, location: Location) -> Value:
        """One of :data:`COMBINE` of two values; with a constant it is a unary function of the other."""
        combine = COMBINE[name]
        if isinstance(left, View) and isinstance(right, View):
            return self.graph.binary(name, left, right, dtype, location)
        if isinstance(left, View):
            assert isinstance(right, Const)
            constant = number(right.value)
            return self.unary(lambda v: combine(v, constant), left, dtype, location)
        constant = number(left.value)
        if isinstance(right, View):
            return self.unary(lambda v: combine(constant, v), right, dtype, location)
        return self._folded(combine(constant, number(right.value)), location)

    def _folded(self, result: Any, location: Location) -> Value:
        if result.is_extended_real is not True:
            return Unknown(f"a constant that is {result}", location, "use a real number")
        return Const(float(result))

    def _special(self, op: Any, values: list[Const | View], dtype: DType, location: Location) -> Value:
        if op.name in ("math.fpowi", "math.powf"):
            base, exponent = values
            if isinstance(exponent, View):
                return Unknown(f"{op.name} with an exponent that is a tensor", location)
            power = number(exponent.value)
            return self.unary(lambda v: v**power, base, dtype, location)
        if op.name == "math.fma":
            product = self.binary("mul", values[0], values[1], dtype, location)
            if isinstance(product, Const | View):
                return self.binary("add", product, values[2], dtype, location)
            return product
        return Unknown(f"operation {op.name}", location)

    def _comparison(self, op: Any, operands: list[Value], location: Location) -> Value:
        from mlir import ir

        predicate = _CMPF.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        left, right = operands
        if predicate is None or not isinstance(left, Const | View) or not isinstance(right, Const | View):
            return Unknown("this arith.cmpf", location)
        return Comparison(predicate, left, right)

    def _select(self, op: Any, operands: list[Value], dtype: DType, location: Location) -> Value:
        """``a > b ? a : b`` is a maximum, and so on; nothing else is known."""
        condition, yes, no = operands
        if isinstance(condition, Comparison) and isinstance(yes, Const | View) and isinstance(no, Const | View):
            greater = condition.predicate in ("gt", "ge")
            pair = (condition.left, condition.right)
            if pair in ((yes, no), (no, yes)):
                name = "max" if greater == (pair == (yes, no)) else "min"
                return self.binary(name, yes, no, dtype, location)
        return Unknown(f"{op.name} that is neither a maximum nor a minimum", location)


def narrower(a: DType, b: DType) -> DType:
    """The float type with fewer mantissa bits."""
    return a if a.mantissa_bits <= b.mantissa_bits else b
