"""The elementwise operations of StableHLO on scalars: what each is in ``arith`` and ``math``, by kind of element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, enumerator, integer, number

Scalar = Callable[[Any, list[Value], Any], Value]
"""Operation, operands, element type of the result -> the result."""

Names = tuple[str | None, str | None, str | None]

# operations of upstream on floats, signed integers and truth values
_BINARY: dict[str, Names] = {
    "add": ("arith.AddFOp", "arith.AddIOp", "arith.OrIOp"),
    "subtract": ("arith.SubFOp", "arith.SubIOp", None),
    "multiply": ("arith.MulFOp", "arith.MulIOp", "arith.AndIOp"),
    "divide": ("arith.DivFOp", "arith.DivSIOp", None),
    "remainder": ("arith.RemFOp", "arith.RemSIOp", None),
    "maximum": ("arith.MaximumFOp", "arith.MaxSIOp", "arith.OrIOp"),
    "minimum": ("arith.MinimumFOp", "arith.MinSIOp", "arith.AndIOp"),
    "power": ("math.PowFOp", "math.IPowIOp", None),
    "atan2": ("math.Atan2Op", None, None),
    "and": (None, "arith.AndIOp", "arith.AndIOp"),
    "or": (None, "arith.OrIOp", "arith.OrIOp"),
    "xor": (None, "arith.XOrIOp", "arith.XOrIOp"),
    "shift_left": (None, "arith.ShLIOp", None),
    "shift_right_arithmetic": (None, "arith.ShRSIOp", None),
    "shift_right_logical": (None, "arith.ShRUIOp", None),
}
_UNARY: dict[str, Names] = {
    "abs": ("math.AbsFOp", "math.AbsIOp", None),
    "cbrt": ("math.CbrtOp", None, None),
    "ceil": ("math.CeilOp", None, None),
    "count_leading_zeros": (None, "math.CountLeadingZerosOp", None),
    "popcnt": (None, "math.CtPopOp", None),
    "cosine": ("math.CosOp", None, None),
    "exponential": ("math.ExpOp", None, None),
    "exponential_minus_one": ("math.ExpM1Op", None, None),
    "floor": ("math.FloorOp", None, None),
    "log": ("math.LogOp", None, None),
    "log_plus_one": ("math.Log1pOp", None, None),
    "round_nearest_afz": ("math.RoundOp", None, None),
    "round_nearest_even": ("math.RoundEvenOp", None, None),
    "rsqrt": ("math.RsqrtOp", None, None),
    "sine": ("math.SinOp", None, None),
    "sqrt": ("math.SqrtOp", None, None),
    "tan": ("math.TanOp", None, None),
    "tanh": ("math.TanhOp", None, None),
    "chlo.erf": ("math.ErfOp", None, None),
    "chlo.erfc": ("math.ErfcOp", None, None),
    "chlo.tan": ("math.TanOp", None, None),
    "chlo.acos": ("math.AcosOp", None, None),
    "chlo.acosh": ("math.AcoshOp", None, None),
    "chlo.asin": ("math.AsinOp", None, None),
    "chlo.asinh": ("math.AsinhOp", None, None),
    "chlo.atan": ("math.AtanOp", None, None),
    "chlo.atanh": ("math.AtanhOp", None, None),
    "chlo.cosh": ("math.CoshOp", None, None),
    "chlo.sinh": ("math.SinhOp", None, None),
}
_PREDICATES = ("EQ", "NE", "LT", "LE", "GT", "GE")
_ORDERED = (1, 13, 4, 5, 2, 3)  # of arith.cmpf: oeq, une, olt, ole, ogt, oge
_SIGNED = (0, 1, 2, 3, 4, 5)  # of arith.cmpi: eq, ne, slt, sle, sgt, sge
_UNSIGNED = (0, 1, 6, 7, 8, 9)


def is_float(kind: Any) -> bool:
    from mlir import ir

    return isinstance(kind, ir.FloatType)


def is_truth(kind: Any) -> bool:
    return str(kind) == "i1"


def _made(names: Names, operands: Sequence[Value]) -> Value:
    """The operation for the kind of the operands."""
    from mlir.dialects import arith, math

    kind = operands[0].type
    name = names[0] if is_float(kind) else names[2] if is_truth(kind) else names[1]
    if name is None:
        raise Refused(f"on elements of type {kind}")
    dialect, _, operation = name.partition(".")
    return getattr({"arith": arith, "math": math}[dialect], operation)(*operands).result


def converted(value: Value, element: Any) -> Value:
    """A scalar as another type: floats round to nearest, floats become integers towards zero, i1 is 0 or 1."""
    from mlir.dialects import arith

    kind = value.type
    if kind == element:
        return value
    if is_truth(element):
        return _nonzero(value)
    if is_float(kind) and is_float(element):
        return _rounded(value, element)
    if is_float(kind):
        return arith.FPToSIOp(element, value).result
    if is_float(element):
        return (arith.UIToFPOp if is_truth(kind) else arith.SIToFPOp)(element, value).result
    if element.width < kind.width:
        return arith.TruncIOp(element, value).result
    return (arith.ExtUIOp if is_truth(kind) else arith.ExtSIOp)(element, value).result


def _nonzero(value: Value) -> Value:
    from mlir.dialects import arith

    zero = number(0, value.type)
    if is_float(value.type):
        return arith.CmpFOp(_ORDERED[1], value, zero).result
    return arith.CmpIOp(_SIGNED[1], value, zero).result


def _rounded(value: Value, element: Any) -> Value:
    from mlir import ir
    from mlir.dialects import arith

    if element.width == value.type.width:  # f16 and bf16: neither holds the other
        value = arith.ExtFOp(ir.F32Type.get(), value).result
    return (arith.TruncFOp if element.width < value.type.width else arith.ExtFOp)(element, value).result


def _compare(op: Any, operands: list[Value], _element: Any) -> Value:
    from mlir.dialects import arith

    direction, kind = enumerator(op, "comparison_direction"), operands[0].type
    if direction not in _PREDICATES:
        raise Refused(f"with direction '{direction}'", "use EQ, NE, LT, LE, GT or GE")
    which = _PREDICATES.index(direction)
    if is_float(kind) and enumerator(op, "compare_type") == "TOTALORDER":
        return arith.CmpIOp(_SIGNED[which], *map(total_order, operands)).result
    if is_float(kind):
        return arith.CmpFOp(_ORDERED[which], *operands).result
    return arith.CmpIOp((_UNSIGNED if is_truth(kind) else _SIGNED)[which], *operands).result


def total_order(value: Value) -> Value:
    """A float as an integer that orders all of them: -NaN, -inf, ..., -0, +0, ..., inf, NaN."""
    from mlir import ir
    from mlir.dialects import arith

    width = value.type.width
    kind = ir.IntegerType.get_signless(width)
    bits = arith.BitcastOp(kind, value).result
    sign = arith.ShRSIOp(bits, number(width - 1, kind)).result
    return arith.XOrIOp(bits, arith.AndIOp(sign, number((1 << (width - 1)) - 1, kind)).result).result


def _bits(_op: Any, operands: list[Value], element: Any) -> Value:
    from mlir.dialects import arith

    (value,) = operands
    if value.type == element:
        return value
    if value.type.width != element.width:
        raise Refused(f"from {value.type} to {element}", "keep the number of bits")
    return arith.BitcastOp(element, value).result


def _less_precise(op: Any, operands: list[Value], element: Any) -> Value:
    from mlir import ir

    bits = (integer(op, "exponent_bits"), integer(op, "mantissa_bits"))
    known = {(5, 10): ir.F16Type, (8, 7): ir.BF16Type, (8, 23): ir.F32Type, (11, 52): ir.F64Type}
    if bits not in known:
        raise Refused(f"to {bits[0]} bits of exponent and {bits[1]} of mantissa", "round to f16, bf16 or f32")
    kind = known[bits].get()
    if kind.width > element.width or kind == element:
        return operands[0]
    return converted(converted(operands[0], kind), element)


def _select(_op: Any, operands: list[Value], _element: Any) -> Value:
    from mlir.dialects import arith

    return arith.SelectOp(*operands).result


def _clamp(_op: Any, operands: list[Value], _element: Any) -> Value:
    low, value, high = operands
    return _made(_BINARY["minimum"], [_made(_BINARY["maximum"], [low, value]), high])


def _negate(_op: Any, operands: list[Value], element: Any) -> Value:
    from mlir.dialects import arith

    if is_float(element):
        return arith.NegFOp(*operands).result
    return arith.SubIOp(number(0, element), *operands).result


def _not(_op: Any, operands: list[Value], element: Any) -> Value:
    from mlir.dialects import arith

    if is_float(element):
        raise Refused(f"on elements of type {element}")
    return arith.XOrIOp(operands[0], number(1 if is_truth(element) else -1, element)).result


def _logistic(_op: Any, operands: list[Value], element: Any) -> Value:
    """``1 / (1 + exp(-x))``, as exporters write it."""
    from mlir.dialects import arith, math

    if not is_float(element):
        raise Refused(f"on elements of type {element}")
    one = number(1, element)
    bottom = arith.AddFOp(math.ExpOp(arith.NegFOp(operands[0]).result).result, one).result
    return arith.DivFOp(one, bottom).result


def _sign(_op: Any, operands: list[Value], element: Any) -> Value:
    """-1, 0 or 1; zeros and NaN stay as they are."""
    from mlir.dialects import arith

    (value,) = operands
    if is_truth(element):
        raise Refused(f"on elements of type {element}")
    if not is_float(element):
        below, above = (number(n, element) for n in (-1, 1))
        return arith.MinSIOp(arith.MaxSIOp(value, below).result, above).result
    zero, below, above = (number(n, element) for n in (0, -1, 1))
    rest = arith.SelectOp(arith.CmpFOp(_ORDERED[2], value, zero).result, below, value).result
    return arith.SelectOp(arith.CmpFOp(_ORDERED[4], value, zero).result, above, rest).result


def _is_finite(_op: Any, operands: list[Value], _element: Any) -> Value:
    from mlir.dialects import math

    return math.IsFiniteOp(*operands).result


def _is_infinite(_op: Any, operands: list[Value], _element: Any) -> Value:
    from mlir.dialects import arith, math

    infinity = number(float("inf"), operands[0].type)
    return arith.CmpFOp(_ORDERED[0], math.AbsFOp(*operands).result, infinity).result


def _square(_op: Any, operands: list[Value], _element: Any) -> Value:
    return _made(_BINARY["multiply"], operands * 2)


def _same(_op: Any, operands: list[Value], element: Any) -> Value:
    return converted(operands[0], element)


def _named(names: Names) -> Scalar:
    return lambda _op, operands, _element: _made(names, operands)


def _full(name: str) -> str:
    return name if "." in name else f"stablehlo.{name}"


ELEMENTWISE: dict[str, tuple[int, Scalar]] = {
    **{_full(name): (2, _named(names)) for name, names in _BINARY.items()},
    **{_full(name): (1, _named(names)) for name, names in _UNARY.items()},
    "stablehlo.compare": (2, _compare),
    "stablehlo.select": (3, _select),
    "stablehlo.clamp": (3, _clamp),
    "stablehlo.convert": (1, _same),
    "stablehlo.negate": (1, _negate),
    "stablehlo.not": (1, _not),
    "stablehlo.is_finite": (1, _is_finite),
    "stablehlo.sign": (1, _sign),
    "stablehlo.logistic": (1, _logistic),
    "stablehlo.bitcast_convert": (1, _bits),
    "stablehlo.reduce_precision": (1, _less_precise),
    "chlo.is_inf": (1, _is_infinite),
    "chlo.square": (1, _square),
}
"""Name -> number of operands, and the operation on scalars."""


def apply(op: Any, operands: list[Value], element: Any) -> Value:
    """One elementwise operation on scalars. Raises :class:`Refused` for element types that it does not take."""
    check_arity(op, len(operands))
    return ELEMENTWISE[op.name][1](op, operands, element)


def check_arity(op: Any, count: int) -> None:
    arity = ELEMENTWISE[op.name][0]
    if count != arity:
        raise ValueError(f"it has {count} operands, not {arity}")
