"""f16, bf16 and their packed pairs (PTX ISA, "Half Precision Floating-Point Instructions").

Every operation is computed on ``(n, 1)`` or ``(n, 2)`` arrays of halves; bf16 in f32, f16 in f32 or f64, rounded once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prism_mlir.runtime.ptx.numerics import bf16_to_f32, f32_to_bf16, fma_odd32, minmax, odd64_to_f32
from prism_mlir.runtime.ptx.table import Context, Made, pure
from prism_mlir.runtime.ptx.types import Array, Scalar

Halves = Callable[..., Array]


def is_bf(scalar: Scalar) -> bool:
    return scalar.kind in ("bf", "bfx2")


def lift(fn: Halves, scalar: Scalar) -> Halves:
    """A function of register bits from one of f32 arrays that returns f64 or f32 values not yet rounded to the half type."""

    def run(*xs: Array) -> Array:
        values = [to_f32(x, scalar) for x in xs]
        return from_float(fn(*values), scalar)

    return run


def to_f32(x: Array, scalar: Scalar) -> Array:
    """Register bits to f32 values, packed pairs as (n, 2)."""
    halves = x.view(np.uint16)
    if scalar.bits == 32:
        halves = halves.reshape(-1, 2)
    return bf16_to_f32(halves) if is_bf(scalar) else halves.view(np.float16).astype(np.float32)


def from_float(value: Array, scalar: Scalar) -> Array:
    """f32 or (odd-rounded) f64 values to register bits, rounded to nearest even."""
    if is_bf(scalar):
        bits = f32_to_bf16(odd64_to_f32(value) if value.dtype == np.float64 else value)
    else:
        bits = value.astype(np.float16).view(np.uint16)
    if scalar.bits == 32:
        return bits.reshape(-1).view(np.uint32)
    return bits


def _flush(value: Array, scalar: Scalar) -> Array:
    """Subnormal f16 values to zeros."""
    tiny = np.float32(2.0**-14)
    return value if is_bf(scalar) else np.where(np.abs(value) < tiny, np.copysign(np.float32(0), value), value)


def half_op(ctx: Context, name: str) -> Made:
    """add, sub, mul, fma."""
    scalar, flags = ctx.take("rn", "ftz", "sat", "relu")
    if scalar.bits == 64 or scalar.kind == "tf" or (name == "fma" and "rn" not in flags):
        raise ctx.unknown()
    if ("relu" in flags and (name != "fma" or "sat" in flags)) or (is_bf(scalar) and flags & {"ftz", "sat"}):
        raise ctx.unknown()

    def fn(*xs: Array) -> Array:
        if "ftz" in flags:
            xs = tuple(_flush(x, scalar) for x in xs)
        if name == "fma":
            value = fma_odd32(*xs)
        elif is_bf(scalar) and name != "mul":
            value = fma_odd32(xs[0], np.ones(1, np.float32), xs[1] if name == "add" else -xs[1])
        else:
            ufunc = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name]
            wide = np.float64 if name == "mul" and is_bf(scalar) else np.float32
            value = ufunc(xs[0].astype(wide), xs[1].astype(wide))
        if "sat" in flags:
            value = np.where(value > 0, np.minimum(value, 1), 0).astype(value.dtype)
        if "relu" in flags:
            value = np.where(value < 0, 0, value).astype(value.dtype)
        if "ftz" in flags:
            value = _flush(value.astype(np.float16).astype(np.float32), scalar)
        return value

    return pure(ctx, "fp16", lift(fn, scalar), scalar, *[scalar] * (3 if name == "fma" else 2))


def half_negabs(ctx: Context, name: str) -> Made:
    scalar, flags = ctx.take("ftz")
    if scalar.kind == "tf":
        raise ctx.unknown()
    sign = 0x80008000 if scalar.bits == 32 else 0x8000
    bit = scalar.storage.type(sign)
    keep = ~bit
    fn: Halves = (lambda a: a & keep) if name == "abs" else (lambda a: a ^ bit)
    if not flags:
        return pure(ctx, "alu", fn, scalar, scalar)
    if is_bf(scalar):
        raise ctx.unknown()
    return pure(ctx, "alu", lambda a: fn(from_float(_flush(to_f32(a, scalar), scalar), scalar)), scalar, scalar)


def half_minmax(ctx: Context, name: str) -> Made:
    scalar, flags = ctx.take("ftz", "NaN", "xorsign", "abs")
    if scalar.kind == "tf" or len(flags & {"xorsign", "abs"}) == 1 or (is_bf(scalar) and "ftz" in flags):
        raise ctx.unknown()

    def fn(a: Array, b: Array) -> Array:
        if "ftz" in flags:
            a, b = _flush(a, scalar), _flush(b, scalar)
        return minmax(a, b, name, "NaN" in flags, "xorsign" in flags)

    return pure(ctx, "fp16", lift(fn, scalar), scalar, scalar, scalar)
