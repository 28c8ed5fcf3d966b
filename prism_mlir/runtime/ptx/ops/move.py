"""mov, cvta, isspacep, selp, slct, prmt-free data movement between registers (PTX ISA, "Data Movement")."""

from __future__ import annotations

import numpy as np

from prism_mlir.runtime.ptx.memory import LOCAL_WINDOW, PARAM_WINDOW, REGION_BASE, SHARED_WINDOW, WINDOW
from prism_mlir.runtime.ptx.numerics import flush32
from prism_mlir.runtime.ptx.program import Operand, Reg, Vec
from prism_mlir.runtime.ptx.specials import CLOCKS
from prism_mlir.runtime.ptx.state import Mask, State
from prism_mlir.runtime.ptx.table import PRED, Context, Made, assign, op, pure, pure_run
from prism_mlir.runtime.ptx.types import SCALARS, UNSIGNED, Array, Scalar

U64 = SCALARS["u64"]
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


def _plain(scalar: Scalar) -> bool:
    """The types by which registers are moved as they are."""
    return scalar.kind in ("b", "u", "s", "f") and scalar.bits > 8 and scalar.name != "f16"


@op("mov")
def mov(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.name != "pred" and not _plain(scalar):
        raise ctx.unknown()
    ctx.count(2)
    target, source = ctx.operands
    if isinstance(target, Vec):
        return _unpack(ctx, target, source, scalar.bits)
    if isinstance(source, Vec):
        return _pack(ctx, target, source, scalar.bits)
    if isinstance(source, Reg) and source.name in CLOCKS:
        return _clock(ctx, target, CLOCKS[source.name])
    return pure(ctx, "move", lambda a: a, scalar, scalar)


def _clock(ctx: Context, target: Operand, bits: int) -> Made:
    slot = ctx.dst(target, SCALARS[f"u{bits}"])
    kind = UNSIGNED[bits]

    def run(st: State, mask: Mask) -> None:
        assign(st, mask, slot, np.array([st.steps & ((1 << bits) - 1)], dtype=kind))

    return Made(run, "move")


def _pack(ctx: Context, target: Operand, source: Vec, bits: int) -> Made:
    part = bits // len(source.items)
    if part * len(source.items) != bits or part not in (8, 16, 32):
        raise ctx.fail(f"{len(source.items)} elements do not make {bits} bits")
    d = ctx.dst(target, SCALARS[f"b{bits}"])
    slots = [ctx.src(item, SCALARS[f"b{part}"]) for item in source.items]
    kind = UNSIGNED[bits]

    def fn(*parts: Array) -> Array:
        value = parts[0].astype(kind)
        for i, x in enumerate(parts[1:], 1):
            value = value | (x.astype(kind) << kind(i * part))
        return value

    return Made(pure_run(fn, d, slots), "move")


def _unpack(ctx: Context, target: Vec, source: Operand, bits: int) -> Made:
    part = bits // len(target.items)
    if part * len(target.items) != bits or part not in (8, 16, 32):
        raise ctx.fail(f"{len(target.items)} elements do not make {bits} bits")
    slot = ctx.src(source, SCALARS[f"b{bits}"])
    slots = [ctx.dst(item, SCALARS[f"b{part}"]) for item in target.items]
    kind, wide = UNSIGNED[part], UNSIGNED[bits]

    def run(st: State, mask: Mask) -> None:
        value = st.regs[slot]
        for i, d in enumerate(slots):
            assign(st, mask, d, (value >> wide(i * part)).astype(kind))

    return Made(run, "move")


def _space(ctx: Context, mod: str) -> str:
    """The state space that a modifier names."""
    if mod not in ("global", "const", "local", "param", "shared", "shared::cta", "shared::cluster"):
        raise ctx.unknown()
    return mod.split("::")[0]


@op("cvta")
def cvta(ctx: Context) -> Made:
    mods = ctx.mods
    to_space = mods[0] == "to" if mods else False
    rest = mods[1:] if to_space else mods
    if len(rest) != 2 or rest[1] not in ("u64", "u32"):
        raise ctx.unknown()
    space = _space(ctx, rest[0])
    if rest[1] == "u32":
        raise ctx.fail("32-bit generic addresses are not supported")
    if space in ("global", "const"):
        return pure(ctx, "move", lambda a: a, U64, U64)
    window = np.uint64(WINDOWS[space])
    if to_space:
        return pure(ctx, "alu", lambda a: a - window, U64, U64)
    return pure(ctx, "alu", lambda a: a + window, U64, U64)


@op("isspacep")
def isspacep(ctx: Context) -> Made:
    if len(ctx.mods) != 1:
        raise ctx.unknown()
    space = _space(ctx, ctx.mods[0])
    if space in ("global", "const"):
        low = np.uint64(REGION_BASE)
        return pure(ctx, "alu", lambda a: a >= low, PRED, U64)
    index = np.uint64(WINDOWS[space] // WINDOW)
    return pure(ctx, "alu", lambda a: (a >> np.uint64(32)) == index, PRED, U64)


@op("selp")
def selp(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if not _plain(scalar):
        raise ctx.unknown()

    def fn(a: Array, b: Array, p: Array) -> Array:
        return np.where(p, a, b)

    return pure(ctx, "alu", fn, scalar, scalar, scalar, PRED)


@op("slct")
def slct(ctx: Context) -> Made:
    """``d = c >= 0 ? a : b``; a NaN selects b, -0.0 selects a."""
    if len(ctx.mods) < 2:
        raise ctx.unknown()
    selector = ctx.scalar(ctx.mods[-1])
    scalar = ctx.scalar(ctx.mods[-2])
    if ctx.mods[:-2] not in ((), ("ftz",)) or selector.name not in ("s32", "f32") or not _plain(scalar):
        raise ctx.unknown()
    value, ftz = selector.value, "ftz" in ctx.mods
    if ftz and selector.name != "f32":
        raise ctx.unknown()

    def fn(a: Array, b: Array, c: Array) -> Array:
        x = c.view(value)
        return np.where((flush32(x) if ftz else x) >= 0, a, b)

    return pure(ctx, "alu", fn, scalar, scalar, scalar, selector)
