"""f32 and f64 arithmetic with every rounding mode (PTX ISA, "Floating-Point Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prism_mlir.runtime.ptx.numerics import (
    add_odd,
    directed,
    directed64,
    flush32,
    fma32,
    fma64,
    fma64_error,
    fma_odd32,
    minmax,
)
from prism_mlir.runtime.ptx.ops.half_arith import half_minmax, half_negabs
from prism_mlir.runtime.ptx.table import Context, Made, pure
from prism_mlir.runtime.ptx.types import Array

Typed = Callable[..., Array]
ROUNDINGS = ("rn", "rz", "rm", "rp")
F64 = np.dtype(np.float64)


def rounding(flags: frozenset[str]) -> str:
    """The rounding mode among the modifiers; ``rn`` when there is none."""
    found = [m for m in ROUNDINGS if m in flags]
    return found[0] if found else "rn"


def typed(fn: Typed, bits: int, ftz: bool = False, saturate: bool = False) -> Typed:
    """A function of bit patterns from one of floats."""
    value = np.dtype(np.float32 if bits == 32 else np.float64)
    storage = np.dtype(np.uint32 if bits == 32 else np.uint64)
    if not ftz and not saturate:
        return lambda *xs: fn(*[x.view(value) for x in xs]).view(storage)

    def run(*xs: Array) -> Array:
        values = [x.view(value) for x in xs]
        result = fn(*([flush32(v) for v in values] if ftz else values))
        if ftz:
            result = flush32(result)
        if saturate:
            result = np.where(result > 0, np.minimum(result, value.type(1)), value.type(0))
        return result.view(storage)

    return run


def float_binary(ctx: Context, name: str) -> Made:
    """add, sub, mul of f32 and f64."""
    scalar, flags = ctx.take(*ROUNDINGS, "ftz", "sat")
    mode = rounding(flags)
    if scalar.bits == 64 and flags & {"ftz", "sat"}:
        raise ctx.unknown()
    fn = _binary(name, mode, scalar.bits)
    return pure(
        ctx,
        "fp64" if scalar.bits == 64 else "fp32",
        typed(fn, scalar.bits, "ftz" in flags, "sat" in flags),
        scalar,
        scalar,
        scalar,
    )


def _binary(name: str, mode: str, bits: int) -> Typed:
    if mode == "rn":
        return {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name]
    if bits == 32:
        kind = np.dtype(np.float32)

        def narrow(a: Array, b: Array) -> Array:
            x, y = a.astype(np.float64), b.astype(np.float64)
            exact = x * y if name == "mul" else add_odd(x, y if name == "add" else -y)
            return _zero_sum(directed(exact, kind, mode), a, b, name, mode)

        return narrow

    def wide(a: Array, b: Array) -> Array:
        one = np.ones(1)
        if name == "mul":
            p = a * b
            return directed64(p, fma64_error(a, b, 0 * one, p), mode)
        y = b if name == "add" else -b
        s = a + y
        return _zero_sum(directed64(s, fma64_error(a, one, y, s), mode), a, b, name, mode)

    return wide


def _zero_sum(result: Array, a: Array, b: Array, name: str, mode: str) -> Array:
    """An exact zero sum of different signs is -0 when rounding down."""
    if name == "mul" or mode != "rm":
        return result
    return _cancelled(result, result, a, b if name == "add" else -b)


def _cancelled(result: Array, exact: Array, a: Array, b: Array) -> Array:
    """``result``, or -0 where the sum ``exact`` of ``a`` and ``b`` is zero and their signs differ."""
    negative = (exact == 0) & (np.signbit(a) != np.signbit(b))
    return np.where(negative, -np.zeros_like(result), result)


def float_fma(ctx: Context) -> Made:
    """fma and mad of f32 and f64; on every target since sm_20 mad is fused."""
    scalar, flags = ctx.take(*ROUNDINGS, "ftz", "sat")
    mode = rounding(flags)
    if not flags & set(ROUNDINGS) or (scalar.bits == 64 and flags & {"ftz", "sat"}):
        raise ctx.unknown()
    klass = "fp64" if scalar.bits == 64 else "fp32"
    if scalar.bits == 32:
        kind = np.dtype(np.float32)

        def fn(a: Array, b: Array, c: Array) -> Array:
            if mode == "rn":
                return fma32(a, b, c)
            exact = fma_odd32(a, b, c)
            result = directed(exact, kind, mode)
            return _cancelled(result, exact, a.astype(np.float64) * b, c) if mode == "rm" else result

    else:

        def fn(a: Array, b: Array, c: Array) -> Array:
            nearest = fma64(a, b, c)
            if mode == "rn":
                return nearest
            error = fma64_error(a, b, c, nearest)
            result = directed64(nearest, error, mode)
            if mode != "rm":
                return result
            exact = np.where(error == 0, nearest, 1.0)
            return _cancelled(result, exact, np.copysign(1.0, a) * np.copysign(1.0, b), c)

    return pure(ctx, klass, typed(fn, scalar.bits, "ftz" in flags, "sat" in flags), scalar, scalar, scalar, scalar)


def float_negabs(ctx: Context, name: str) -> Made:
    scalar, flags = ctx.take("ftz")
    if scalar.kind != "f" or scalar.bits == 16:
        return half_negabs(ctx, name)
    if flags and scalar.bits == 64:
        raise ctx.unknown()
    sign = scalar.storage.type(1 << (scalar.bits - 1))
    keep = ~sign
    fn: Typed = (lambda a: a & keep) if name == "abs" else (lambda a: a ^ sign)
    if "ftz" in flags:
        return pure(ctx, "alu", lambda a: fn(flush32(a.view(np.float32)).view(np.uint32)), scalar, scalar)
    return pure(ctx, "alu", fn, scalar, scalar)


def float_minmax(ctx: Context, name: str) -> Made:
    """min and max: -0 is below +0; NaN loses, or wins with ``.NaN``; ``.xorsign.abs`` compares magnitudes."""
    scalar, flags = ctx.take("ftz", "NaN", "xorsign", "abs")
    if scalar.kind != "f" or scalar.bits == 16:
        return half_minmax(ctx, name)
    xorsign = {"xorsign", "abs"} <= flags
    if scalar.bits == 64 and flags:
        raise ctx.unknown()
    if not xorsign and flags & {"xorsign", "abs"}:
        raise ctx.unknown()

    def fn(a: Array, b: Array) -> Array:
        return minmax(a, b, name, "NaN" in flags, xorsign)

    return pure(ctx, "alu", typed(fn, scalar.bits, "ftz" in flags), scalar, scalar, scalar)
