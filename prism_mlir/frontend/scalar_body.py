"""The scalar operations inside ``linalg.generic`` bodies, as operations on whole tensors.

A body is evaluated once, with tensors seen from the iteration space in place of scalars: ``arith.mulf`` of two of them
becomes one binary node, ``math.exp`` one unary node. What cannot be expressed becomes :class:`Unknown`, which only
turns into an error if the program's result depends on it; so the index that an argmax carries along costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

from prism_mlir.frontend.tables import COMPARE_FLOATS, TO_FLOAT, NoTable, Table, apply, integer, wrapped
from prism_mlir.frontend.tensor_graph import Kind, SourceTensor, TensorGraph, TensorNode, View
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.errors import Location, UnsupportedError
from prism_mlir.graph.program import row_major
from prism_mlir.graph.scalar_fn import Ceil, Floor, Positive, Round, ScalarFn, Trunc, X


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
    """``left predicate right``, kept for the ``arith.select`` that may follow; a mask where anything else does."""

    predicate: str
    left: Const | View
    right: Const | View
    dtype: DType

    @property
    def axes(self) -> tuple[int, ...]:
        """The viewer's axes that it depends on."""
        sides = (side.axes for side in (self.left, self.right) if isinstance(side, View))
        return tuple(dict.fromkeys(axis for axes in sides for axis in axes))

    def through(self, place: Sequence[int] | Mapping[int, int]) -> Comparison:
        """The same comparison seen by somebody whose axis for the viewer's axis ``k`` is ``place[k]``."""
        left, right = (s.through(place) if isinstance(s, View) else s for s in (self.left, self.right))
        return replace(self, left=left, right=right)

    @property
    def negated(self) -> Comparison:
        return replace(self, predicate=_OPPOSITE[self.predicate])


Value = Const | View | Unknown | Comparison | Table


def _half_away(value: Any) -> Any:
    """Rounded to the nearest integer, away from zero where two are as near. Every step is exact in any type of floats."""
    fraction = sympy.Abs(value - Trunc(value))
    return Trunc(value) + (1 - Positive(sympy.Rational(1, 2) - fraction)) * (Positive(value) - Positive(-value))


UNARY: dict[str, Callable[[Any], Any]] = {
    "arith.negf": lambda v: -v,
    "math.absf": sympy.Abs,
    "math.ceil": Ceil,
    "math.exp": sympy.exp,
    "math.exp2": lambda v: 2**v,
    "math.expm1": lambda v: sympy.exp(v) - 1,
    "math.floor": Floor,
    "math.log": sympy.log,
    "math.log1p": lambda v: sympy.log(1 + v),
    "math.log2": lambda v: sympy.log(v) / sympy.log(2),
    "math.log10": lambda v: sympy.log(v) / sympy.log(10),
    "math.cosh": lambda v: (sympy.exp(v) + sympy.exp(-v)) / 2,
    "math.sqrt": sympy.sqrt,
    "math.round": _half_away,
    "math.roundeven": Round,
    "math.rsqrt": lambda v: 1 / sympy.sqrt(v),
    "math.tan": lambda v: sympy.sin(v) / sympy.cos(v),
    "math.tanh": sympy.tanh,
    "math.trunc": Trunc,
    "math.erf": sympy.erf,
    "math.erfc": lambda v: 1 - sympy.erf(v),
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

_NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
}

CASTS = frozenset({"arith.extf", "arith.truncf"})

# predicate numbers of arith.cmpf, ordered and unordered forms alike
_CMPF = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 6: "ne", 8: "eq", 9: "gt", 10: "ge", 11: "lt", 12: "le", 13: "ne"}
_ORDERED, _UNORDERED = 7, 14  # whether one side is NaN
_OPPOSITE = {"eq": "ne", "ne": "eq", "gt": "le", "le": "gt", "ge": "lt", "lt": "ge"}
_MIRRORED = {"eq": "eq", "ne": "ne", "gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}
_AT_INFINITY = {"eq": "gt", "ge": "gt", "ne": "le", "lt": "lt"}
HALF_INFINITY = 2.0**127
"""Half of what the least f32 beyond the finite ones would be: the half of every finite f32 is below it."""

_SCALARS = frozenset({"i1", "i8", "i16", "i32", "i64", "index"})


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


NO_OPERATOR = {
    "tensor.extract": "elements at positions that are computed (a gather)",
    "tensor.insert": "elements written to positions that are computed (a scatter)",
    "scf.for": "a loop that carries values",
    "scf.while": "a loop whose end is computed",
    "scf.if": "a branch taken at run time",
}
"""What operations are that a tensor program has no operator for; others are named as they are."""


def unsupported(op: Any, location: Location) -> Unknown:
    """The value of an operation that cannot be raised."""
    if op.name == "func.call":  # what has a body was inlined
        return Unknown("a call of a function that has no body or calls itself", location, "define it in the module")
    return Unknown(NO_OPERATOR.get(op.name, f"operation {op.name}"), location)


class BodyEvaluator:
    """Evaluates scalar operations on views into a :class:`TensorGraph`."""

    def __init__(self, graph: TensorGraph, locate: Callable[[Any], Location]) -> None:
        self.graph = graph
        self.locate = locate

    def evaluate(self, op: Any, operands: list[Value]) -> Value:
        """The result of one scalar operation (an ``mlir.ir.Operation`` with one result)."""
        location = self.locate(op)
        if op.name == "arith.select" and isinstance(
            operands[0], Const
        ):  # what is not chosen may be anything, such as NaN
            return operands[1] if operands[0].value else operands[2]
        unknown = next((value for value in operands if isinstance(value, Unknown)), None)
        if unknown is not None:
            return unknown
        dtype = dtype_of(op.results[0].type)
        if op.name == "arith.cmpf":
            return self._comparison(op, operands, location)
        if op.name in ("math.isfinite", "math.isnan") and isinstance(operands[0], View):
            value = operands[0]
            return self._finite(value, location) if op.name == "math.isfinite" else self._is_nan(value, value, location)
        if str(op.results[0].type) in _SCALARS or op.name in TO_FLOAT:
            return self._integer(op, operands, location)
        if dtype is None or not dtype.is_float:
            return Unknown(f"{op.name} on {op.results[0].type}", location)
        if op.name == "arith.select":
            return self._select(op, operands, dtype, location)
        if all(isinstance(value, Const | Table) for value in operands) and any(isinstance(v, Table) for v in operands):
            return self._known(op, operands, dtype, location)
        plain = [self.view(value, dtype, location) for value in operands]
        unknown = next((value for value in plain if isinstance(value, Unknown)), None)
        if unknown is not None:
            return unknown
        if op.name in CASTS:
            return self.cast(plain[0], dtype)
        if op.name in UNARY:
            return self.unary(UNARY[op.name], plain[0], dtype, location)
        if op.name in BINARY:
            return self.binary(BINARY[op.name], plain[0], plain[1], dtype, location)
        return self._special(op, plain, dtype, location)

    def view(self, value: Value, dtype: DType, location: Location) -> Any:
        """A table as a constant of the program and a comparison as a mask, of type ``dtype``; others as they are."""
        if isinstance(value, Table):
            order = sorted(range(len(value.axes)), key=lambda k: value.axes[k])
            array = np.transpose(value.array, order).astype(np.float64)
            return self.constant(from_float64(array, dtype), tuple(sorted(value.axes)), dtype, location)
        return self.mask(value, location) if isinstance(value, Comparison) else value

    def constant(
        self,
        array: Any,
        axes: tuple[int, ...],
        dtype: DType,
        location: Location,
        groups: tuple[tuple[int, ...], ...] | None = None,
    ) -> View:
        """Constant data (held as ``dtype.storage``) as an input of the program; its array axes are the viewer's ``axes``."""
        known = [n.source for n in self.graph.nodes if n.source is not None and n.source.arg is None]
        data = np.ascontiguousarray(array).tobytes()
        name = next((s.name for s in known if s.data == data and s.shape == array.shape), f"const{len(known)}")
        each = tuple((k,) for k in range(array.ndim))
        source = SourceTensor(name, array.shape, None, row_major(array.shape), groups or each, 0, data)
        return View(
            self.graph.add(TensorNode(Kind.INPUT, (), array.shape, source=source), dtype, location), axes, dtype
        )

    def mask(self, comparison: Comparison, location: Location) -> Value:
        """A comparison as 1 where it holds and 0 elsewhere: ``a > b`` where ``a - b`` is positive."""
        comparison = self._with_finite_sides(comparison, location)
        left, right = comparison.left, comparison.right
        if comparison.predicate in ("lt", "ge"):
            left, right = right, left
        body = {
            "gt": Positive(X),
            "lt": Positive(X),
            "ge": 1 - Positive(X),
            "le": 1 - Positive(X),
            "eq": 1 - Positive(sympy.Abs(X)),
            "ne": Positive(sympy.Abs(X)),
        }[comparison.predicate]
        difference = self.binary("sub", left, right, comparison.dtype, location)
        if not isinstance(difference, View):  # a difference from infinity
            return Unknown("a comparison with a constant that is not finite, as a mask", location)
        return self.graph.unary(body, difference, comparison.dtype, location)

    def _finite(self, value: View, location: Location) -> Value:
        """Where a value is neither infinite nor NaN."""
        half = self.graph.unary(sympy.Abs(X) / 2, value, DType.F32, location)
        return Comparison("lt", half, Const(HALF_INFINITY), DType.F32)

    def _is_nan(self, left: View, right: View, location: Location) -> Value:
        """Where one of two values is NaN: nowhere else is ``1 + |a| + |b|`` not above 0."""
        terms = [self.graph.unary(sympy.Abs(X), v, DType.F32, location) for v in dict.fromkeys((left, right))]
        total = terms[0]
        for term in terms[1:]:
            total = self.graph.binary("add", total, term, DType.F32, location)
        return Comparison("le", self.graph.unary(1 + X, total, DType.F32, location), Const(0.0), DType.F32)

    def _with_finite_sides(self, comparison: Comparison, location: Location) -> Comparison:
        """A comparison with infinity as one of halves with a finite number: what equals infinity is above all finite numbers."""
        left, right, predicate = comparison.left, comparison.right, comparison.predicate
        if isinstance(left, Const):
            left, right, predicate = right, left, _MIRRORED[predicate]
        if not isinstance(left, View) or not isinstance(right, Const) or not math.isinf(right.value):
            return comparison
        above = right.value > 0  # else of what is negated on both sides
        beyond = _AT_INFINITY.get(predicate if above else _MIRRORED[predicate])
        if beyond is None:  # true or false whatever the value is, NaN apart
            return comparison
        half = self.graph.unary(X / 2, left, DType.F32, location)
        limit = Const(math.copysign(HALF_INFINITY, right.value))
        return Comparison(beyond if above else _MIRRORED[beyond], half, limit, DType.F32)

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
        if op.name == "math.clampf":
            low = self.binary("max", values[0], values[1], dtype, location)
            return self.binary("min", low, values[2], dtype, location) if isinstance(low, Const | View) else low
        return Unknown(f"operation {op.name}", location)

    def _known(self, op: Any, operands: list[Any], dtype: DType, location: Location) -> Value:
        """Arithmetic on constants alone, rounded to the type of the result."""
        tables = [_table(v) for v in operands]
        if op.name in CASTS:
            return self._rounded(tables[0], dtype)
        try:
            if op.name in UNARY:
                return self._rounded(apply(ScalarFn.of(UNARY[op.name](X)), tables[0]), dtype)
            if op.name in BINARY:
                return self._rounded(apply(_NUMPY[BINARY[op.name]], *tables), dtype)
            if op.name == "math.powf":
                return self._rounded(apply(np.power, *tables), dtype)
        except NoTable as error:
            return Unknown(str(error), location)
        return Unknown(f"operation {op.name} on a constant tensor", location)

    @staticmethod
    def _rounded(table: Table, dtype: DType) -> Table:
        return Table(to_float64(from_float64(table.array, dtype), dtype), table.axes)

    def _integer(self, op: Any, operands: list[Value], location: Location) -> Value:
        """Integers and booleans: computed now where they are known; masks as numbers 0 and 1 where they are not."""
        kinds = [str(v.type) for v in op.operands]
        if any(isinstance(v, View | Comparison) for v in operands):
            return self._masks(op, operands, kinds, location)
        result = op.results[0].type
        try:
            known = [(v, kind) for v, kind in zip(operands, kinds, strict=True) if isinstance(v, Const | Table)]
            tables = [_integers(v, kind) for v, kind in known]
            made = integer(op.name, kinds, str(result), tables, _predicate(op))
        except NoTable as error:
            return Unknown(str(error), location)
        dtype = dtype_of(result)
        if op.name in TO_FLOAT and dtype is not None:
            made = self._rounded(made, dtype)
        return Const(float(made.array)) if made.array.ndim == 0 else made

    def _masks(self, op: Any, operands: list[Value], kinds: list[str], location: Location) -> Value:
        """Operations on masks that are computed when the program runs."""
        first = operands[0]
        if op.name == "arith.xori" and any(isinstance(v, Const) and v.value for v in operands):
            other = next(v for v in operands if not isinstance(v, Const))
            return self._opposite(other, location)
        plain = [self.view(v, _mask_type(v), location) for v in operands]
        unknown = next((value for value in plain if isinstance(value, Unknown)), None)
        if unknown is not None:
            return unknown
        if (op.name in ("arith.extui", *TO_FLOAT) and kinds[0] != "i1") or op.name == "arith.extui":
            return plain[0] if isinstance(plain[0], View) else Unknown(f"{op.name} of a comparison", location)
        if op.name in TO_FLOAT:
            dtype = dtype_of(op.results[0].type)
            assert dtype is not None
            number = View(plain[0].node, plain[0].axes, dtype)
            return number if op.name == "arith.uitofp" else self.unary(lambda v: -v, number, dtype, location)
        if op.name in ("arith.andi", "arith.ori") and kinds[0] == "i1":
            name = "mul" if op.name == "arith.andi" else "max"
            return self.binary(name, plain[0], plain[1], _mask_type(first), location)
        return Unknown(f"{op.name} on a tensor of {kinds[0]}", location)

    def _opposite(self, value: Value, location: Location) -> Value:
        """The mask that is 1 where ``value`` is 0."""
        if isinstance(value, Comparison):
            return value.negated
        if isinstance(value, Table):
            return Table(value.array == 0, value.axes)
        if isinstance(value, Const):
            return Const(float(not value.value))
        return self.unary(lambda v: 1 - v, value, _mask_type(value), location) if isinstance(value, View) else value

    def _comparison(self, op: Any, operands: list[Value], location: Location) -> Value:
        from mlir import ir

        number = ir.IntegerAttr(op.attributes["predicate"]).value
        predicate = _CMPF.get(number)
        sides = [v for v in operands if isinstance(v, View)]
        same = len(sides) == 2 and sides[0] == sides[1]
        if sides and (number in (_ORDERED, _UNORDERED) or (same and predicate in ("eq", "ne"))):
            nan = self._is_nan(sides[0], sides[-1], location)
            assert isinstance(nan, Comparison)
            return nan if number == _UNORDERED or predicate == "ne" else nan.negated
        if predicate is None:
            return Unknown(f"arith.cmpf with predicate {number}", location, "compare by order or equality")
        dtype = dtype_of(op.operands[0].type)
        if dtype is None:
            return Unknown(f"arith.cmpf on {op.operands[0].type}", location)
        if not any(isinstance(v, View | Comparison) for v in operands):
            tables = [_table(v) for v in operands if isinstance(v, Const | Table)]
            made = apply(COMPARE_FLOATS[predicate], *tables)
            return Const(float(made.array)) if made.array.ndim == 0 else made
        left, right = (self.view(v, dtype, location) for v in operands)
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return left if isinstance(left, Unknown) else right
        return Comparison(predicate, left, right, dtype)

    def _select(self, op: Any, operands: list[Value], dtype: DType, location: Location) -> Value:
        """``a > b ? a : b`` is a maximum, and so on; else each side is kept under a mask."""
        condition, yes, no = operands
        if isinstance(condition, Comparison) and condition.predicate not in ("eq", "ne"):
            greater = condition.predicate in ("gt", "ge")
            pair = (condition.left, condition.right)
            if pair in ((yes, no), (no, yes)) and isinstance(yes, Const | View) and isinstance(no, Const | View):
                name = "max" if greater == (pair == (yes, no)) else "min"
                return self.binary(name, yes, no, dtype, location)
        if isinstance(condition, Const):
            return yes if condition.value else no
        if not any(isinstance(v, View | Comparison) for v in operands):
            tables = [_table(v) for v in operands if isinstance(v, Const | Table)]
            try:
                return apply(_where, *tables)
            except NoTable as error:
                return Unknown(str(error), location)
        if isinstance(yes, Const) and not isinstance(no, Const):
            return self._kept(self._opposite(condition, location), no, yes.value, dtype, location)
        if isinstance(no, Const):
            return self._kept(condition, yes, no.value, dtype, location)
        left = self._kept(condition, yes, 0.0, dtype, location)
        right = self._kept(self._opposite(condition, location), no, 0.0, dtype, location)
        if not isinstance(left, View) or not isinstance(right, View):
            return left if isinstance(left, Unknown) else right
        return self.graph.binary("add", left, right, dtype, location)

    def _kept(self, condition: Value, yes: Value, otherwise: float, dtype: DType, location: Location) -> Value:
        """``yes`` where the condition holds, a number elsewhere."""
        if isinstance(yes, Const):
            yes = Table(np.asarray(yes.value), ())
        mask, value = (self.view(v, dtype, location) for v in (condition, yes))
        if not isinstance(mask, View) or not isinstance(value, View):
            return mask if isinstance(mask, Unknown) else value
        return self.graph.binary("keep", mask, value, dtype, location, otherwise)


def _table(value: Const | Table) -> Table:
    return value if isinstance(value, Table) else Table(np.asarray(value.value), ())


def _where(condition: Any, yes: Any, no: Any) -> Any:
    return np.where(condition != 0, yes, no)


def _mask_type(value: Value) -> DType:
    return value.dtype if isinstance(value, View | Comparison) else DType.F32


_EXACT = 2.0**53  # constants are held in f64


def _integers(value: Const | Table, kind: str) -> Table:
    """A known integer or boolean as a table of the type it has in the source. Raises :class:`NoTable` where it was rounded."""
    if isinstance(value, Const) and not abs(value.value) <= _EXACT:
        raise NoTable("an integer of more than 53 bits")
    table = Table(np.asarray(int(value.value), dtype=np.int64), ()) if isinstance(value, Const) else value
    return Table(wrapped(table.array, kind) if kind in _SCALARS else table.array, table.axes)


def _predicate(op: Any) -> int:
    from mlir import ir

    return ir.IntegerAttr(op.attributes["predicate"]).value if op.name == "arith.cmpi" else 0


def narrower(a: DType, b: DType) -> DType:
    """The float type with fewer mantissa bits."""
    return a if a.mantissa_bits <= b.mantissa_bits else b
