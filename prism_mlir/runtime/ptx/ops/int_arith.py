"""Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision"); typed dispatch of the
shared names.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prism_mlir.runtime.ptx.ops.float_arith import float_binary, float_fma, float_minmax, float_negabs
from prism_mlir.runtime.ptx.ops.half_arith import half_op
from prism_mlir.runtime.ptx.ops.special_math import float_div
from prism_mlir.runtime.ptx.state import Mask, State
from prism_mlir.runtime.ptx.table import Context, Made, assign, op, pure
from prism_mlir.runtime.ptx.types import SCALARS, SIGNED, UNSIGNED, Array, Scalar

Bits = Callable[..., Array]
U32 = SCALARS["u32"]


def _type(ctx: Context) -> Scalar:
    if not ctx.mods:
        raise ctx.unknown()
    return ctx.scalar(ctx.mods[-1])


@op("add", "sub")
def add_sub(ctx: Context) -> Made:
    scalar = _type(ctx)
    if scalar.is_float:
        if scalar.kind in ("f",) and scalar.bits > 16:
            return float_binary(ctx, ctx.instruction.opcode)
        return half_op(ctx, ctx.instruction.opcode)
    flags = ctx.mods[:-1]
    ufunc: Bits = np.add if ctx.instruction.opcode == "add" else np.subtract
    if "cc" in flags:
        return _carry(ctx, scalar, carry_in=False)
    if flags == ("sat",) and scalar.name == "s32":
        return pure(ctx, "alu", lambda a, b: _saturate(ufunc(_wide(a), _wide(b))), scalar, scalar, scalar)
    if ctx.instruction.opcode == "add" and not flags and scalar.kind in ("ux2", "sx2"):
        return pure(ctx, "alu", lambda a, b: _pairs(np.add, a, b, scalar), scalar, scalar, scalar)
    if flags or not _is_integer(scalar):
        raise ctx.unknown()
    return pure(ctx, "alu", ufunc, scalar, scalar, scalar)


def _is_integer(scalar: Scalar) -> bool:
    """The types of plain integer arithmetic."""
    return scalar.kind in ("u", "s") and scalar.bits > 8


def _pairs(ufunc: Bits, a: Array, b: Array, scalar: Scalar, relu: bool = False) -> Array:
    """An operation on the two halves of 32-bit words."""
    halves = np.dtype(np.int16 if scalar.kind == "sx2" else np.uint16)
    result = ufunc(a.view(halves), b.view(halves))
    return (np.maximum(result, halves.type(0)) if relu else result).view(np.uint32)


@op("addc", "subc")
def addc(ctx: Context) -> Made:
    return _carry(ctx, _type(ctx), carry_in=True)


@op("madc")
def madc(ctx: Context) -> Made:
    if not ctx.mods or ctx.mods[0] not in ("lo", "hi"):
        raise ctx.unknown()
    return _carry(ctx, _type(ctx), carry_in=True, half=ctx.mods[0])


def _carry(ctx: Context, scalar: Scalar, carry_in: bool, half: str = "") -> Made:
    """Add or subtract with carry. ``half``: the first summand is that half of the product of the first two operands.

    ``CC.CF`` is one more register, of predicates, that all carry instructions share (PTX ISA, "Extended-Precision Integer
    Arithmetic Instructions"). For a signed type too it is the carry of the bits.
    """
    flags = ctx.mods[bool(half) : -1]
    if flags not in (("cc",), () if carry_in else ("cc",)) or scalar.name not in ("u32", "s32", "u64", "s64"):
        raise ctx.unknown()
    ctx.count(4 if half else 3)
    d = ctx.dst(ctx.operands[0], scalar)
    sources = [ctx.src(o, scalar) for o in ctx.operands[1:]]
    flag = ctx.layout.slots.setdefault("CC.CF", -1)
    if flag < 0:
        flag = ctx.layout.slots["CC.CF"] = ctx.layout.new("CC.CF", SCALARS["pred"])
    if carry_in:
        ctx.reads.append(flag)
    set_flag = "cc" in flags
    if set_flag:
        ctx.writes.append(flag)
    subtract = ctx.instruction.opcode.startswith("sub")
    kind = UNSIGNED[scalar.bits]

    def run(st: State, mask: Mask) -> None:
        *factors, y = (st.regs[s] for s in sources)
        x = _half(factors, half, scalar) if half else factors[0]
        extra = st.regs[flag].astype(kind) if carry_in else np.zeros(1, dtype=kind)
        if subtract:
            value = x - y - extra
            out = (x < y) | ((x == y) & (extra != 0))
        else:
            value = x + y + extra
            out = (value < x) | ((value == x) & (extra != 0))
        assign(st, mask, d, value)
        if set_flag:
            assign(st, mask, flag, out)

    return Made(run, "imad" if half else "alu")


def _half(factors: list[Array], half: str, scalar: Scalar) -> Array:
    """The lower or upper half of a product, as bits."""
    return factors[0] * factors[1] if half == "lo" else mul_high(factors[0], factors[1], scalar)


def _wide(a: Array) -> Array:
    return a.view(np.int32).astype(np.int64)


def _saturate(a: Array) -> Array:
    return np.clip(a, -(2**31), 2**31 - 1).astype(np.int32).view(np.uint32)


def mul_high(a: Array, b: Array, scalar: Scalar) -> Array:
    """The upper half of the product, as bits."""
    if scalar.bits < 64:
        wide = (SIGNED if scalar.is_signed else UNSIGNED)[2 * scalar.bits]
        product = a.view(scalar.value).astype(wide) * b.view(scalar.value).astype(wide)
        upper: Array = (product >> wide(scalar.bits)).astype(scalar.value).view(scalar.storage)
        return upper
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> shift, b & low, b >> shift
    mid = a1 * b0 + ((a0 * b0) >> shift)
    mid2 = a0 * b1 + (mid & low)
    high: Array = a1 * b1 + (mid >> shift) + (mid2 >> shift)
    if scalar.is_signed:
        high = high - np.where(a.view(np.int64) < 0, b, np.uint64(0)) - np.where(b.view(np.int64) < 0, a, np.uint64(0))
    return high


def mul_wide(a: Array, b: Array, scalar: Scalar) -> Array:
    """The whole product in twice the bits."""
    wide = (SIGNED if scalar.is_signed else UNSIGNED)[2 * scalar.bits]
    product = a.view(scalar.value).astype(wide) * b.view(scalar.value).astype(wide)
    return product.view(UNSIGNED[2 * scalar.bits])


def _double(ctx: Context, scalar: Scalar) -> Scalar:
    if scalar.bits not in (16, 32):
        raise ctx.unknown()
    return SCALARS[f"{scalar.kind}{2 * scalar.bits}"]


@op("mul")
def mul(ctx: Context) -> Made:
    scalar = _type(ctx)
    if scalar.is_float:
        if scalar.kind == "f" and scalar.bits > 16:
            return float_binary(ctx, "mul")
        return half_op(ctx, "mul")
    flags = ctx.mods[:-1]
    if not _is_integer(scalar):
        raise ctx.unknown()
    if flags == ("lo",):
        return pure(ctx, "imad", np.multiply, scalar, scalar, scalar)
    if flags == ("hi",):
        return pure(ctx, "imad", lambda a, b: mul_high(a, b, scalar), scalar, scalar, scalar)
    if flags == ("wide",):
        return pure(ctx, "imad", lambda a, b: mul_wide(a, b, scalar), _double(ctx, scalar), scalar, scalar)
    raise ctx.unknown()


@op("mul24", "mad24")
def mul24(ctx: Context) -> Made:
    scalar = _type(ctx)
    saturate = ctx.instruction.opcode == "mad24" and ctx.mods == ("hi", "sat", "s32")
    if (ctx.mods[:-1] not in (("lo",), ("hi",)) and not saturate) or scalar.name not in ("u32", "s32"):
        raise ctx.unknown()
    shift = 0 if ctx.mods[0] == "lo" else 16
    cut = 8

    def product(a: Array, b: Array) -> Array:
        kind = np.int64 if scalar.is_signed else np.uint64
        x = ((a << np.uint32(cut)).view(scalar.value) >> scalar.value.type(cut)).astype(kind)
        y = ((b << np.uint32(cut)).view(scalar.value) >> scalar.value.type(cut)).astype(kind)
        value: Array = ((x * y) >> kind(shift)).astype(scalar.value).view(np.uint32)
        return value

    if ctx.instruction.opcode == "mul24":
        return pure(ctx, "imad", product, scalar, scalar, scalar)
    if saturate:
        return pure(ctx, "imad", lambda a, b, c: _saturated_sum(product(a, b), c), scalar, scalar, scalar, scalar)
    return pure(ctx, "imad", lambda a, b, c: product(a, b) + c, scalar, scalar, scalar, scalar)


def _saturated_sum(a: Array, b: Array) -> Array:
    return _saturate(_wide(a) + _wide(b))


@op("mad", "fma")
def mad(ctx: Context) -> Made:
    scalar = _type(ctx)
    if scalar.is_float:
        if scalar.kind == "f" and scalar.bits > 16:
            return float_fma(ctx)
        if ctx.instruction.opcode == "mad":
            raise ctx.unknown()
        return half_op(ctx, "fma")
    flags = ctx.mods[:-1]
    if ctx.instruction.opcode == "fma" or not _is_integer(scalar):
        raise ctx.unknown()
    if ctx.mods == ("hi", "sat", "s32"):
        return pure(
            ctx, "imad", lambda a, b, c: _saturated_sum(mul_high(a, b, scalar), c), scalar, scalar, scalar, scalar
        )
    if flags == ("lo",):
        return pure(ctx, "imad", lambda a, b, c: a * b + c, scalar, scalar, scalar, scalar)
    if flags == ("hi",):
        return pure(ctx, "imad", lambda a, b, c: mul_high(a, b, scalar) + c, scalar, scalar, scalar, scalar)
    if len(flags) == 2 and flags[0] in ("lo", "hi") and ctx.instruction.opcode == "mad":
        return _carry(ctx, scalar, carry_in=False, half=flags[0])
    if flags == ("wide",):
        wide = _double(ctx, scalar)
        return pure(ctx, "imad", lambda a, b, c: mul_wide(a, b, scalar) + c, wide, scalar, scalar, wide)
    raise ctx.unknown()


@op("sad")
def sad(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if not _is_integer(scalar):
        raise ctx.unknown()
    value = scalar.value

    def fn(a: Array, b: Array, c: Array) -> Array:
        return c + np.where(a.view(value) < b.view(value), b - a, a - b)

    return pure(ctx, "alu", fn, scalar, scalar, scalar, scalar)


@op("div")
def div(ctx: Context) -> Made:
    scalar = _type(ctx)
    if scalar.is_float:
        return float_div(ctx)
    if ctx.mods[:-1] or not _is_integer(scalar):
        raise ctx.unknown()
    return pure(ctx, "div", lambda a, b: int_divide(a, b, scalar)[0], scalar, scalar, scalar)


@op("rem")
def rem(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if not _is_integer(scalar):
        raise ctx.unknown()
    return pure(ctx, "div", lambda a, b: int_divide(a, b, scalar)[1], scalar, scalar, scalar)


def int_divide(a: Array, b: Array, scalar: Scalar) -> tuple[Array, Array]:
    """Quotient toward zero and remainder, as bits. Division by zero is unspecified in PTX; all ones and the dividend
    are what GPUs give.
    """
    ones = scalar.storage.type((1 << scalar.bits) - 1)
    zero = b == 0
    safe = np.where(zero, scalar.storage.type(1), b)
    if not scalar.is_signed:
        quotient = np.floor_divide(a, safe)
        return np.where(zero, ones, quotient), np.where(zero, a, a - quotient * safe)
    x, y = a.view(scalar.value), safe.view(scalar.value)
    magnitude = np.floor_divide(_magnitude(x, scalar), _magnitude(y, scalar))
    quotient = np.where((x < 0) != (y < 0), np.negative(magnitude), magnitude)
    return np.where(zero, ones, quotient), np.where(zero, a, a - quotient * safe)


def _magnitude(x: Array, scalar: Scalar) -> Array:
    bits = x.view(scalar.storage)
    return np.where(x < 0, np.negative(bits), bits)


@op("abs", "neg")
def abs_neg(ctx: Context) -> Made:
    scalar = _type(ctx)
    opcode = ctx.instruction.opcode
    if scalar.is_float:
        return float_negabs(ctx, opcode)
    if ctx.mods[:-1] or not (scalar.is_signed and _is_integer(scalar)):
        raise ctx.unknown()
    if opcode == "neg":
        return pure(ctx, "alu", np.negative, scalar, scalar)
    return pure(ctx, "alu", lambda a: _magnitude(a.view(scalar.value), scalar), scalar, scalar)


@op("min", "max")
def min_max(ctx: Context) -> Made:
    scalar = _type(ctx)
    opcode = ctx.instruction.opcode
    if scalar.is_float:
        return float_minmax(ctx, opcode)
    ufunc: Bits = np.minimum if opcode == "min" else np.maximum
    relu = ctx.mods[:-1] == ("relu",) and scalar.name in ("s32", "s16x2")
    if ctx.mods[:-1] and not relu:
        raise ctx.unknown()
    if scalar.kind in ("ux2", "sx2"):
        return pure(ctx, "alu", lambda a, b: _pairs(ufunc, a, b, scalar, relu), scalar, scalar, scalar)
    if not _is_integer(scalar):
        raise ctx.unknown()
    value, storage = scalar.value, scalar.storage

    def fn(a: Array, b: Array) -> Array:
        result = ufunc(a.view(value), b.view(value))
        return (np.maximum(result, 0).astype(value) if relu else result).view(storage)

    return pure(ctx, "alu", fn, scalar, scalar, scalar)
