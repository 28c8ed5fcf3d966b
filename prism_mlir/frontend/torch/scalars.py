"""Elementwise operators: what each computes, in ``arith`` and ``math``, on scalars of the type that PyTorch computes in."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, empty, generic, index, number
from prism_mlir.frontend.stablehlo.scalars import converted, is_float, is_truth
from prism_mlir.frontend.torch.call import (
    Call,
    broadcast_places,
    element_of,
    is_value,
    pointwise,
    shape_of_kind,
    sizes_of,
)

Rule = Callable[[Call], list[Value]]

_ORDERED = {"eq": 1, "ne": 13, "lt": 4, "le": 5, "gt": 2, "ge": 3}  # of arith.cmpf: oeq, une, olt, ole, ogt, oge
_SIGNED = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}  # of arith.cmpi


def _op(floats: str, integers: str | None = None, truths: str | None = None) -> Callable[..., Value]:
    """An operation of upstream by kind of element."""

    def made(*operands: Value) -> Value:
        from mlir.dialects import arith, math

        kind = operands[0].type
        name = floats if is_float(kind) else truths if is_truth(kind) else integers
        if not name:
            raise Refused(f"on elements of type {kind}")
        dialect, _, operation = name.partition(".")
        return getattr({"arith": arith, "math": math}[dialect], operation)(*operands).result

    return made


add = _op("arith.AddFOp", "arith.AddIOp", "arith.OrIOp")
subtract = _op("arith.SubFOp", "arith.SubIOp")
multiply = _op("arith.MulFOp", "arith.MulIOp", "arith.AndIOp")
divide = _op("arith.DivFOp")
maximum = _op("arith.MaximumFOp", "arith.MaxSIOp", "arith.OrIOp")
minimum = _op("arith.MinimumFOp", "arith.MinSIOp", "arith.AndIOp")
negate = _op("arith.NegFOp")
exp, log, sqrt, rsqrt = (_op(f"math.{name}Op") for name in ("Exp", "Log", "Sqrt", "Rsqrt"))
tanh, erf = _op("math.TanhOp"), _op("math.ErfOp")


def constant(like: Value, value: float) -> Value:
    """A number in the type of a scalar."""
    return number(value, like.type)


def times(value: Value, factor: float) -> Value:
    return multiply(value, constant(value, factor))


def plus(value: Value, summand: float) -> Value:
    return add(value, constant(value, summand))


def sigmoid(x: Value) -> Value:
    return divide(constant(x, 1), plus(exp(negate(x)), 1))


def silu(x: Value) -> Value:
    return divide(x, plus(exp(negate(x)), 1))


def gelu(x: Value) -> Value:
    """``x/2 (1 + erf(x/sqrt 2))``."""
    return multiply(times(x, 0.5), plus(erf(times(x, numbers.sqrt(0.5))), 1))


def gelu_tanh(x: Value) -> Value:
    """``x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))``."""
    inner = add(x, times(multiply(multiply(x, x), x), 0.044715))
    return multiply(times(x, 0.5), plus(tanh(times(inner, numbers.sqrt(2 / numbers.pi))), 1))


def power(x: Value, exponent: float) -> Value:
    """``x`` to a power that is a number: products and roots where it is a small one."""
    from mlir.dialects import math

    if exponent == 0.5:
        return sqrt(x)
    if exponent == -0.5:
        return rsqrt(x)
    if exponent in (1, 2, 3):
        made = x
        for _ in range(int(exponent) - 1):
            made = multiply(made, x)
        return made
    if exponent == -1:
        return divide(constant(x, 1), x)
    if not is_float(x.type):
        raise Refused(f"with exponent {exponent} on integers")
    return math.PowFOp(x, constant(x, exponent)).result


def compare(predicate: str) -> Callable[[Value, Value], Value]:
    """A truth value."""
    from mlir.dialects import arith

    def body(a: Value, b: Value) -> Value:
        if is_float(a.type):
            return arith.CmpFOp(_ORDERED[predicate], a, b).result
        if is_truth(a.type) and predicate not in ("eq", "ne"):
            raise Refused("on truth values")
        return arith.CmpIOp(_SIGNED[predicate], a, b).result

    return body


def select(condition: Value, yes: Value, no: Value) -> Value:
    from mlir.dialects import arith

    return arith.SelectOp(condition, yes, no).result


def invert(x: Value) -> Value:
    """The other truth value, or all bits of an integer."""
    from mlir.dialects import arith

    return arith.XOrIOp(x, number(1 if is_truth(x.type) else -1, x.type)).result


def _unary(body: Callable[[Value], Value]) -> Rule:
    def rule(call: Call) -> list[Value]:
        if not is_float(call.result.element_type):
            raise Refused(f"on elements of type {call.result.element_type}")
        return [pointwise(call.result, [call["self"]], body)]

    return rule


def _binary(body: Callable[[Value, Value], Value]) -> Rule:
    return lambda call: [pointwise(call.result, [call["self"], call["other"]], body)]


def _sum(sign: int) -> Rule:
    """``self + alpha other``, and ``self - alpha other``."""

    def rule(call: Call) -> list[Value]:
        alpha = call.get("alpha", 1)
        combine = add if sign > 0 else subtract

        def body(a: Value, b: Value) -> Value:
            return combine(a, b if alpha == 1 else times(b, alpha))

        return [pointwise(call.result, [call["self"], call["other"]], body)]

    return rule


def _rsub(call: Call) -> list[Value]:
    alpha = call.get("alpha", 1)
    return [
        pointwise(
            call.result,
            [call["self"], call["other"]],
            lambda a, b: subtract(b, a if alpha == 1 else times(a, alpha)),
        )
    ]


def _divide(call: Call) -> list[Value]:
    if call.get("rounding_mode") is not None:
        raise Refused("that rounds")
    return [pointwise(call.result, [call["self"], call["other"]], divide)]


def _comparison(predicate: str) -> Rule:
    def rule(call: Call) -> list[Value]:
        operands = [call["self"], call["other"]]
        return [pointwise(call.result, operands, compare(predicate), common_type(operands))]

    return rule


def common_type(operands: list[Any]) -> Any:
    """The type in which operands are compared: a float that holds all of them, else i64, or i1 where all are truth values."""
    from mlir import ir

    kinds = [element_of(v) for v in operands if is_value(v)]
    if any(is_float(k) for k in kinds) or any(isinstance(v, float) for v in operands):
        return ir.F64Type.get() if any(str(k) == "f64" for k in kinds) else ir.F32Type.get()
    truths = all(is_truth(k) for k in kinds) and all(is_value(v) or isinstance(v, bool) for v in operands)
    return ir.IntegerType.get_signless(1 if truths else 64)


def _truth(body: Callable[..., Value]) -> Rule:
    """Of truth values; numbers are true where they are not 0."""

    def rule(call: Call) -> list[Value]:
        operands = [call.arguments[name] for name in ("self", "other") if name in call.arguments]
        return [pointwise(call.result, operands, body, _truth_type())]

    return rule


def _bits(body: Callable[..., Value]) -> Rule:
    def rule(call: Call) -> list[Value]:
        operands = [call.arguments[name] for name in ("self", "other") if name in call.arguments]
        return [pointwise(call.result, operands, body)]

    return rule


def _gelu(call: Call) -> list[Value]:
    body = gelu_tanh if call.get("approximate", "none") == "tanh" else gelu
    return [pointwise(call.result, [call["self"]], body)]


def _power(call: Call) -> list[Value]:
    base, exponent = call["self"], call["exponent"]
    if is_value(exponent):
        raise Refused("with an exponent that is a tensor", "use a number")
    return [pointwise(call.result, [base], lambda x: power(x, float(exponent)))]


def _clamp(call: Call) -> list[Value]:
    low, high = call.get("min"), call.get("max")

    def body(x: Value, *bounds: Value) -> Value:
        rest = list(bounds)
        made = x if low is None else maximum(x, rest.pop(0))
        return made if high is None else minimum(made, rest.pop(0))

    return [pointwise(call.result, [call["self"], *(v for v in (low, high) if v is not None)], body)]


def _relu(x: Value) -> Value:
    return maximum(x, constant(x, 0))


def where(condition: Any, yes: Any, no: Any, kind: Any) -> Value:
    """``yes`` where the condition holds, ``no`` elsewhere; both tensors or numbers."""
    given = [condition, yes, no]
    tensors = [v for v in given if is_value(v)]
    inputs = [(v, broadcast_places(sizes_of(v), shape_of_kind(kind))) for v in tensors]

    def body(scalars: list[Value]) -> list[Value]:
        left = iter(scalars)
        ready = [next(left) if is_value(v) else number(v, kind.element_type) for v in given]
        sides = [converted(v, kind.element_type) for v in ready[1:]]
        return [select(converted(ready[0], _truth_type()), *sides)]

    return generic(kind.rank, inputs, [(empty(kind, index), range(kind.rank))], body)[0]


def _truth_type() -> Any:
    from mlir import ir

    return ir.IntegerType.get_signless(1)


def _where(call: Call) -> list[Value]:
    return [where(call["condition"], call["self"], call["other"], call.result)]


def _masked_fill(call: Call) -> list[Value]:
    return [where(call["mask"], call["value"], call["self"], call.result)]


def _negate(call: Call) -> list[Value]:
    def body(x: Value) -> Value:
        return negate(x) if is_float(x.type) else subtract(constant(x, 0), x)

    return [pointwise(call.result, [call["self"]], body)]


def _to_copy(call: Call) -> list[Value]:
    """The elements in another type, in the memory format that the caller has chosen."""
    return [pointwise(call.result, [call["self"]], lambda x: x, element_of(call["self"]))]


RULES: dict[str, Rule] = {
    "aten._to_copy": _to_copy,
    "aten.abs": lambda call: [pointwise(call.result, [call["self"]], _op("math.AbsFOp", "math.AbsIOp"))],
    "aten.add": _sum(1),
    "aten.bitwise_and": _bits(_op("", "arith.AndIOp", "arith.AndIOp")),
    "aten.bitwise_not": _bits(invert),
    "aten.bitwise_or": _bits(_op("", "arith.OrIOp", "arith.OrIOp")),
    "aten.bitwise_xor": _bits(_op("", "arith.XOrIOp", "arith.XOrIOp")),
    "aten.clamp": _clamp,
    "aten.clamp_max": _clamp,
    "aten.clamp_min": _clamp,
    "aten.cos": _unary(_op("math.CosOp")),
    "aten.div": _divide,
    "aten.eq": _comparison("eq"),
    "aten.erf": _unary(erf),
    "aten.exp": _unary(exp),
    "aten.exp2": _unary(_op("math.Exp2Op")),
    "aten.expm1": _unary(_op("math.ExpM1Op")),
    "aten.ge": _comparison("ge"),
    "aten.gelu": _gelu,
    "aten.gt": _comparison("gt"),
    "aten.le": _comparison("le"),
    "aten.log": _unary(log),
    "aten.log1p": _unary(_op("math.Log1pOp")),
    "aten.log2": _unary(_op("math.Log2Op")),
    "aten.logical_and": _truth(_op("", "", "arith.AndIOp")),
    "aten.logical_not": _truth(invert),
    "aten.logical_or": _truth(_op("", "", "arith.OrIOp")),
    "aten.lt": _comparison("lt"),
    "aten.masked_fill": _masked_fill,
    "aten.maximum": _binary(maximum),
    "aten.minimum": _binary(minimum),
    "aten.mul": _binary(multiply),
    "aten.ne": _comparison("ne"),
    "aten.neg": _negate,
    "aten.pow.Tensor_Scalar": _power,
    "aten.reciprocal": _unary(lambda x: divide(constant(x, 1), x)),
    "aten.relu": lambda call: [pointwise(call.result, [call["self"]], _relu)],
    "aten.rsqrt": _unary(rsqrt),
    "aten.rsub": _rsub,
    "aten.sigmoid": _unary(sigmoid),
    "aten.silu": _unary(silu),
    "aten.sin": _unary(_op("math.SinOp")),
    "aten.sqrt": _unary(sqrt),
    "aten.sub": _sum(-1),
    "aten.tanh": _unary(tanh),
    "aten.where.self": _where,
}
"""Operator, with or without its overload -> its rule."""
