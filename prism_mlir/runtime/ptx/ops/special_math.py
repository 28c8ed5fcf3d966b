"""Division, reciprocals, roots and transcendental functions (PTX ISA, "Floating-Point Instructions").

``.approx`` functions are computed in f64 (see ``approx``) and rounded once, so they are at least as accurate as any GPU's;
kernels must not depend on the last bits of these, and a comparison needs the tolerance that PTX states (2 ulp for ex2, 1 ulp for
rcp, …).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prism_mlir.runtime.ptx import approx
from prism_mlir.runtime.ptx.numerics import add_odd, directed, directed64, flush32, fma64_error
from prism_mlir.runtime.ptx.ops.half_arith import from_float, is_bf, to_f32
from prism_mlir.runtime.ptx.table import Context, Made, op, pure
from prism_mlir.runtime.ptx.types import SCALARS, Array

Typed = Callable[..., Array]
ROUNDINGS = ("rn", "rz", "rm", "rp")
F32 = np.dtype(np.float32)


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


_FUNCTIONS: dict[str, Typed] = {
    "ex2": approx.exp2,
    "lg2": approx.log2,
    "rcp": np.reciprocal,
    "rsqrt": _rsqrt,
    "sqrt": np.sqrt,
    "sin": approx.sin,
    "cos": approx.cos,
    "tanh": approx.tanh,
}


@op("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh")
def unary(ctx: Context) -> Made:
    scalar, flags = ctx.take("approx", "ftz", *ROUNDINGS)
    name = ctx.instruction.opcode
    modes = [m for m in ROUNDINGS if m in flags]
    exact = name in ("rcp", "sqrt")
    if ("approx" not in flags) != bool(modes and exact) or len(modes) > 1:
        raise ctx.unknown()
    fn = _FUNCTIONS[name]
    if scalar.name == "f32":
        if name == "tanh" and "ftz" in flags:
            raise ctx.unknown()
        return pure(ctx, "sfu", _single(fn, modes[0] if modes else "rn", name, "ftz" in flags), scalar, scalar)
    if scalar.name == "f64" and name in ("rcp", "rsqrt", "sqrt"):
        if (modes and "ftz" in flags) or (not modes and (name == "sqrt" or (name == "rcp" and "ftz" not in flags))):
            raise ctx.unknown()
        mode = modes[0] if modes else "rn"
        return pure(ctx, "fp64", lambda a: _double(fn, a.view(np.float64), name, mode).view(np.uint64), scalar, scalar)
    wants_ftz = name == "ex2" and is_bf(scalar)  # ex2 of bf16 says .ftz, all other functions of halves do not
    is_half = scalar.kind in ("f", "fx2", "bf", "bfx2") and scalar.bits <= 32
    if is_half and name in ("ex2", "tanh") and ("ftz" in flags) == wants_ftz:
        return pure(ctx, "sfu", lambda a: from_float(fn(to_f32(a, scalar).astype(np.float64)), scalar), scalar, scalar)
    raise ctx.unknown()


def _single(fn: Typed, mode: str, name: str, ftz: bool) -> Typed:
    def run(a: Array) -> Array:
        x = a.view(np.float32)
        if ftz:
            x = flush32(x)
        wide = fn(x.astype(np.float64))
        result = wide.astype(np.float32) if mode == "rn" else _directed(wide, x, mode, name)
        return (flush32(result) if ftz else result).view(np.uint32)

    return run


def _directed(wide: Array, x: Array, mode: str, name: str) -> Array:
    """rcp and sqrt of f32 in f64, made odd by the sign of the exact residue, then rounded."""
    near = directed(wide, F32, "rn").astype(np.float64)
    residue = 1.0 - near * x if name == "rcp" else x.astype(np.float64) - near * near
    if name == "rcp":
        residue = np.where(np.signbit(x), -residue, residue)
    exact = near + np.sign(residue) * np.abs(near) * 2.0**-40
    # Zeros, infinities and NaN are exact, except where only f32 overflows.
    return directed(np.where(np.isfinite(near) & (near != 0), exact, wide), F32, mode)


def _double(fn: Typed, x: Array, name: str, mode: str) -> Array:
    """rcp and sqrt of f64."""
    near: Array = fn(x)
    if mode == "rn":
        return near
    one = np.ones_like(x)
    if name == "rcp":
        return directed64(near, _quotient_error(one, x, near), mode)
    return directed64(near, -_exact_sign(near, near, -x), mode)


def _quotient_error(x: Array, y: Array, near: Array) -> Array:
    """The sign of the exact ``x / y`` minus ``near``."""
    overflow = np.isinf(near) & np.isfinite(x) & np.isfinite(y) & (y != 0)
    sign = -_exact_sign(near, y, -x) * np.where(np.signbit(y), -1.0, 1.0)
    return np.where(overflow, -np.sign(near), sign)


def _exact_sign(a: Array, b: Array, c: Array) -> Array:
    """The sign of the exact ``a * b + c``; 0 where an operand is not finite."""
    ok = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    a, b, c = (np.where(ok, v, 0.0) for v in (a, b, c))
    return fma64_error(a, b, c, np.zeros_like(a))


def float_div(ctx: Context) -> Made:
    scalar, flags = ctx.take("approx", "full", "ftz", *ROUNDINGS)
    modes = [m for m in ROUNDINGS if m in flags]
    if scalar.kind != "f" or scalar.bits == 16 or len(modes) + len(flags & {"approx", "full"}) != 1:
        raise ctx.unknown()
    if scalar.bits == 64:
        if not modes or "ftz" in flags:
            raise ctx.unknown()

        def wide(a: Array, b: Array) -> Array:
            x, y = a.view(np.float64), b.view(np.float64)
            near = np.divide(x, y)
            if modes != ["rn"]:
                near = directed64(near, _quotient_error(x, y, near), modes[0])
            return near.view(np.uint64)

        return pure(ctx, "fp64", wide, scalar, scalar, scalar)
    mode = modes[0] if modes else "rn"
    ftz = "ftz" in flags

    def fn(a: Array, b: Array) -> Array:
        x, y = a.view(np.float32), b.view(np.float32)
        if ftz:
            x, y = flush32(x), flush32(y)
        result = np.divide(x, y) if mode == "rn" else _directed_quotient(x, y, mode)
        return (flush32(result) if ftz else result).view(np.uint32)

    return pure(ctx, "div", fn, scalar, scalar, scalar)


def _directed_quotient(x: Array, y: Array, mode: str) -> Array:
    wide = x.astype(np.float64) / y
    back = wide * 0 + 0  # NaN and infinity stay out of the correction
    residue = add_odd(x.astype(np.float64), -(directed(wide, F32, "rn").astype(np.float64) * y)) + back
    sign = np.where(np.isfinite(residue), np.sign(residue), 0.0) * np.where(np.signbit(y), -1.0, 1.0)
    near = directed(wide, F32, "rn").astype(np.float64)
    exact = np.where(sign == 0, near, near + sign * np.maximum(np.abs(near) * 2.0**-40, 2.0**-200))
    return directed(np.where(np.isfinite(near), exact, wide), F32, mode)


@op("testp")
def testp(ctx: Context) -> Made:
    if len(ctx.mods) != 2 or ctx.mods[1] not in ("f32", "f64"):
        raise ctx.unknown()
    scalar = ctx.scalar(ctx.mods[1])
    tests: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        # "positive and negative zero are considered normal numbers" (PTX ISA, testp)
        "normal": lambda x: np.isfinite(x) & ((np.abs(x) >= np.finfo(x.dtype).tiny) | (x == 0)),
        "subnormal": lambda x: (np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0),
    }
    if ctx.mods[0] not in tests:
        raise ctx.unknown()
    test = tests[ctx.mods[0]]
    return pure(ctx, "alu", lambda a: test(a.view(scalar.value)), SCALARS["pred"], scalar)


@op("copysign")
def copysign(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.name not in ("f32", "f64"):
        raise ctx.unknown()
    sign = scalar.storage.type(1 << (scalar.bits - 1))
    return pure(ctx, "alu", lambda a, b: (b & ~sign) | (a & sign), scalar, scalar, scalar)
