"""LLVM instructions for NumPy's element-wise functions, with NumPy's meaning where LLVM's is undefined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

Kind = np.dtype[Any]


class Builder(ir.IRBuilder):  # type: ignore[misc]
    """``in_loop``: it writes the body of a loop over the lanes of a warp."""

    def __init__(self, block: ir.Block | None = None, in_loop: bool = False) -> None:
        super().__init__(block)
        self.in_loop = in_loop


Emit = Callable[[ir.IRBuilder, Kind, list[ir.Value]], ir.Value]


def type_name(t: ir.Type) -> str:
    """As intrinsics spell it: ``v32f32``, ``i64``."""
    if isinstance(t, ir.VectorType):
        return f"v{t.count}{type_name(t.element)}"
    if isinstance(t, ir.PointerType):
        return "p0"
    names = {ir.HalfType: "f16", ir.FloatType: "f32", ir.DoubleType: "f64"}
    return names.get(type(t)) or f"i{t.width}"


def intrinsic(b: ir.IRBuilder, name: str, xs: list[ir.Value], result: ir.Type | None = None) -> ir.Value:
    """Call ``name``, overloaded on the type of the first operand."""
    return declared(b, f"{name}.{type_name(xs[0].type)}", xs, result or xs[0].type)


def declared(b: ir.IRBuilder, name: str, xs: list[ir.Value], result: ir.Type) -> ir.Value:
    """Call a function by its whole name, declaring it on first use."""
    have = b.module.globals.get(name)
    if have is None:
        have = ir.Function(b.module, ir.FunctionType(result, [x.type for x in xs]), name)
    return b.call(have, xs)


class ConstantVector(ir.Constant):  # type: ignore[misc]
    """One constant in every lane, written short."""

    def __init__(self, one: ir.Constant, lanes: int) -> None:
        self.type, self.constant, self.one = ir.VectorType(one.type, lanes), ir.Undefined, one

    def _to_string(self) -> str:
        return f"{self.type} {self._get_reference()}"

    def _get_reference(self) -> str:
        return f"splat ({self.one.type} {self.one.get_reference()})"


def constant_vector(one: ir.Constant, lanes: int) -> ir.Constant:
    return ConstantVector(one, lanes)


def number(x: ir.Value, value: float) -> ir.Constant:
    """``value`` with the type of ``x``."""
    if isinstance(x.type, ir.VectorType):
        return constant_vector(ir.Constant(x.type.element, value), x.type.count)
    return ir.Constant(x.type, value)


def integer_like(t: ir.Type) -> ir.Type:
    """The integer type of the bits of a floating one, vectors included."""
    if isinstance(t, ir.VectorType):
        return ir.VectorType(integer_like(t.element), t.count)
    return ir.IntType({ir.HalfType: 16, ir.FloatType: 32, ir.DoubleType: 64}[type(t)])


def cast(b: ir.IRBuilder, x: ir.Value, have: Kind, to: Kind, target: ir.Type) -> ir.Value:
    """``astype`` between numbers; float to integer is undefined outside of the range, as in C."""
    if to.kind == "b":
        test = b.fcmp_unordered if have.kind == "f" else b.icmp_unsigned
        return x if have.kind == "b" else test("!=", x, number(x, 0))
    if have.kind == "f":
        if to.kind != "f":
            x = b.fpext(x, _as(x, ir.FloatType())) if have.itemsize == 2 else x
            return b.fptosi(x, target) if to.kind == "i" else b.fptoui(x, target)
        return b.fpext(x, target) if to.itemsize > have.itemsize else b.fptrunc(x, target)
    if to.kind == "f":
        return b.sitofp(x, target) if have.kind == "i" else b.uitofp(x, target)
    if have.kind == "b" or to.itemsize > have.itemsize:
        return b.sext(x, target) if have.kind == "i" else b.zext(x, target)
    return b.trunc(x, target) if to.itemsize < have.itemsize else x


def _as(x: ir.Value, element: ir.Type) -> ir.Type:
    return ir.VectorType(element, x.type.count) if isinstance(x.type, ir.VectorType) else element


def _binary(integer: str, floating: str | None) -> Emit:
    def emit(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
        name = floating if kind.kind == "f" else integer
        assert name is not None and kind.kind != "b"  # the table of entries below names no such use
        return getattr(b, name)(*xs)

    return emit


def _divide(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
    return b.sdiv(*xs) if kind.kind == "i" else b.udiv(*xs)


def _compare(op: str) -> Emit:
    def emit(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
        if kind.kind == "f":
            return b.fcmp_unordered(op, *xs) if op == "!=" else b.fcmp_ordered(op, *xs)
        return b.icmp_signed(op, *xs) if kind.kind == "i" else b.icmp_unsigned(op, *xs)

    return emit


def _extreme(op: str) -> Emit:
    """minimum and maximum; NaN wins."""
    less = _compare(op)

    def emit(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
        first = less(b, kind, xs)
        if kind.kind == "f":
            first = b.or_(first, b.fcmp_unordered("uno", xs[0], xs[0]))
        return b.select(first, *xs)

    return emit


def _amount(x: ir.Value) -> int | None:
    """A shift amount that is a constant."""
    one = x.one if isinstance(x, ConstantVector) else x
    return one.constant if isinstance(one, ir.Constant) and isinstance(one.constant, int) else None


def _left(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
    bits = kind.itemsize * 8
    amount = _amount(xs[1])
    if amount is not None and 0 <= amount < bits:
        return b.shl(*xs)
    return b.select(b.icmp_unsigned("<", xs[1], number(xs[1], bits)), b.shl(*xs), number(xs[0], 0))


def _right(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
    bits = kind.itemsize * 8
    amount = _amount(xs[1])
    shift = b.ashr if kind.kind == "i" else b.lshr
    if amount is not None and 0 <= amount < bits:
        return shift(*xs)
    inside = b.icmp_unsigned("<", xs[1], number(xs[1], bits))
    if kind.kind == "i":
        return b.ashr(xs[0], b.select(inside, xs[1], number(xs[1], bits - 1)))
    return b.select(inside, b.lshr(*xs), number(xs[0], 0))


def _logical(name: str) -> Emit:
    def emit(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
        one = np.dtype(np.bool_)
        return getattr(b, name)(*[cast(b, x, kind, one, _as(x, ir.IntType(1))) for x in xs])

    return emit


def _logical_not(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
    return b.not_(cast(b, xs[0], kind, np.dtype(np.bool_), _as(xs[0], ir.IntType(1))))


def _absolute(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
    if kind.kind == "f":
        return intrinsic(b, "llvm.fabs", xs)
    if kind.kind == "u":
        return xs[0]
    return b.select(b.icmp_signed("<", xs[0], number(xs[0], 0)), b.neg(xs[0]), xs[0])


def _sign_bit(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
    bits = b.bitcast(xs[0], integer_like(xs[0].type))
    return b.icmp_signed("<", bits, number(bits, 0))


def _magnitude_test(op: str) -> Emit:
    """|x| against infinity: ``<`` finite, ``==`` infinite."""

    def emit(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
        size = intrinsic(b, "llvm.fabs", xs)
        return b.fcmp_ordered(op, size, number(size, float("inf")))

    return emit


def _sign(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
    x = xs[0]
    if kind.kind != "f":
        minus = number(x, -1 if kind.kind == "i" else 1)
        other = b.select(_compare("<")(b, kind, [x, number(x, 0)]), minus, number(x, 0))
        return b.select(_compare(">")(b, kind, [x, number(x, 0)]), number(x, 1), other)
    positive = b.fcmp_ordered(">", x, number(x, 0.0))
    negative = b.fcmp_ordered("<", x, number(x, 0.0))
    return b.select(positive, number(x, 1.0), b.select(negative, number(x, -1.0), x))


def _next_after(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
    x, to = xs
    whole = integer_like(x.type)
    bits = b.bitcast(x, whole)
    up = b.fcmp_ordered("<", x, to)
    positive = b.fcmp_ordered(">", x, number(x, 0.0))
    away = b.icmp_unsigned("==", up, positive)
    step = b.select(away, number(bits, 1), number(bits, -1))
    moved = b.bitcast(b.add(bits, step), x.type)
    tiny = intrinsic(b, "llvm.copysign", [b.bitcast(number(bits, 1), x.type), to])
    moved = b.select(b.fcmp_ordered("==", x, number(x, 0.0)), tiny, moved)
    moved = b.select(b.fcmp_ordered("==", x, to), to, moved)
    return b.select(b.fcmp_unordered("uno", x, to), b.fadd(x, to), moved)


def _named(name: str) -> Emit:
    return lambda b, kind, xs: intrinsic(b, name, xs)


def _count(b: ir.IRBuilder, kind: Kind, xs: list[ir.Value]) -> ir.Value:
    total = intrinsic(b, "llvm.ctpop", xs)
    return total if kind.itemsize == 1 else b.trunc(total, _as(total, ir.IntType(8)))


EMIT: dict[str, Emit] = {
    "add": _binary("add", "fadd"),
    "subtract": _binary("sub", "fsub"),
    "multiply": _binary("mul", "fmul"),
    "divide": _binary("none", "fdiv"),
    "floor_divide": _divide,
    "negative": lambda b, kind, xs: b.fneg(xs[0]) if kind.kind == "f" else b.neg(xs[0]),
    "absolute": _absolute,
    "minimum": _extreme("<"),
    "maximum": _extreme(">"),
    "bitwise_and": lambda b, kind, xs: b.and_(*xs),
    "bitwise_or": lambda b, kind, xs: b.or_(*xs),
    "bitwise_xor": lambda b, kind, xs: b.xor(*xs),
    "invert": lambda b, kind, xs: b.not_(xs[0]),
    "left_shift": _left,
    "right_shift": _right,
    "equal": _compare("=="),
    "not_equal": _compare("!="),
    "less": _compare("<"),
    "less_equal": _compare("<="),
    "greater": _compare(">"),
    "greater_equal": _compare(">="),
    "logical_and": _logical("and_"),
    "logical_or": _logical("or_"),
    "logical_xor": _logical("xor"),
    "logical_not": _logical_not,
    "isnan": lambda b, kind, xs: b.fcmp_unordered("uno", xs[0], xs[0]),
    "isfinite": _magnitude_test("<"),
    "isinf": _magnitude_test("=="),
    "signbit": _sign_bit,
    "copysign": _named("llvm.copysign"),
    "rint": _named("llvm.rint"),
    "trunc": _named("llvm.trunc"),
    "floor": _named("llvm.floor"),
    "ceil": _named("llvm.ceil"),
    "sqrt": _named("llvm.sqrt"),
    "reciprocal": lambda b, kind, xs: b.fdiv(number(xs[0], 1.0), xs[0]),
    "sign": _sign,
    "nextafter": _next_after,
    "bitwise_count": _count,
}
