"""setp and set (PTX ISA, "Comparison and Selection Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prism_mlir.runtime.ptx.numerics import bf16_to_f32, flush32
from prism_mlir.runtime.ptx.program import Operand, Pair
from prism_mlir.runtime.ptx.state import Mask, State
from prism_mlir.runtime.ptx.table import PRED, Context, Made, assign, op
from prism_mlir.runtime.ptx.types import Array, Scalar

Test = Callable[[Array, Array], Array]
_ORDERED: dict[str, Test] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_BOOL: dict[str, Test] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _nan(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def _test(ctx: Context, name: str, scalar: Scalar) -> Test:
    """The comparison of values; an ordered one is false, an unordered one (``equ`` …) true when an operand is NaN."""
    if scalar.is_float:
        if name == "num":
            return lambda a, b: ~_nan(a, b)
        if name == "nan":
            return _nan
        if name == "ne":
            return lambda a, b: (a != b) & ~_nan(a, b)
        if name in _ORDERED:
            return _ORDERED[name]
        if name[:-1] in _ORDERED and name[-1] == "u":
            inner = _ORDERED[name[:-1]]
            return lambda a, b: inner(a, b) | _nan(a, b)
        raise ctx.unknown()
    if name in _UNSIGNED and scalar.kind == "u":
        return _ORDERED[_UNSIGNED[name]]
    if name not in _ORDERED or (scalar.kind == "b" and name not in ("eq", "ne")):
        raise ctx.unknown()
    return _ORDERED[name]


def _values(scalar: Scalar, ftz: bool) -> Callable[[Array], Array]:
    if scalar.kind == "bf":
        return bf16_to_f32
    if scalar.kind == "fx2":
        return lambda a: _half(a, ftz).reshape(-1, 2)
    if scalar.kind == "bfx2":
        return lambda a: bf16_to_f32(a.view(np.uint16)).reshape(-1, 2)
    value = scalar.value
    if ftz and scalar.name == "f32":
        return lambda a: flush32(a.view(np.float32))
    if scalar.name == "f16":
        return lambda a: _half(a, ftz)
    return lambda a: a.view(value)


def _half(a: Array, ftz: bool) -> Array:
    """Halves of register bits; a comparison cannot tell the sign of a flushed zero."""
    x = a.view(np.float16)
    return np.where(np.abs(x) < np.finfo(np.float16).tiny, np.float16(0), x) if ftz else x


class _Comparison:
    """What setp and set share: the test, the optional combination with a predicate, and the operands."""

    def __init__(self, ctx: Context, scalar: Scalar, mods: tuple[str, ...], operands: tuple[Operand, ...]) -> None:
        names = [m for m in mods if m != "ftz"]
        if "ftz" in mods and scalar.name not in ("f32", "f16", "f16x2"):
            raise ctx.unknown()
        if not names or len(names) > 2 or (len(names) == 2 and names[1] not in _BOOL):
            raise ctx.unknown()
        self.test = _test(ctx, names[0], scalar)
        self.combine = _BOOL[names[1]] if len(names) == 2 else None
        if len(operands) != (3 if self.combine else 2):
            raise ctx.fail("wrong number of operands")
        self.value = _values(scalar, "ftz" in mods)
        self.a, self.b = ctx.src(operands[0], scalar), ctx.src(operands[1], scalar)
        self.c, self.negated = ctx.predicate(operands[2]) if self.combine else (-1, False)

    def run(self, st: State) -> tuple[Array, Array]:
        """The result, and the result of the negated test."""
        regs = st.regs
        result = self.test(self.value(regs[self.a]), self.value(regs[self.b]))
        if self.combine is None:
            return result, ~result
        c = ~regs[self.c] if self.negated else regs[self.c]
        if result.ndim == 2:
            c = c[:, None]
        return self.combine(result, c), self.combine(~result, c)


@op("setp")
def setp(ctx: Context) -> Made:
    if len(ctx.mods) < 2:
        raise ctx.unknown()
    scalar = ctx.scalar(ctx.mods[-1])
    if scalar.bits == 8 or scalar.kind in ("tf", "p", "ux2", "sx2"):
        raise ctx.unknown()
    comparison = _Comparison(ctx, scalar, ctx.mods[:-1], ctx.operands[1:])
    target = ctx.operands[0]
    pair = isinstance(target, Pair)
    p = ctx.dst(target.first if isinstance(target, Pair) else target, PRED)
    q = ctx.dst(target.second, PRED) if isinstance(target, Pair) else -1
    packed = scalar.kind in ("fx2", "bfx2")
    if packed and not pair:
        raise ctx.fail("a packed comparison needs two destinations p|q")

    def run(st: State, mask: Mask) -> None:
        yes, no = comparison.run(st)
        if packed:
            yes, no = yes[:, 0], yes[:, 1]
        assign(st, mask, p, yes)
        if pair:
            assign(st, mask, q, no)

    return Made(run, "alu")


def _can_hold(dtype: str, stype: str) -> bool:
    """Whether ``set`` writes the result of comparing ``stype`` as ``dtype``."""
    halves, pairs = ("f16", "bf16"), ("f16x2", "bf16x2")
    if dtype in pairs:
        return stype == dtype
    if dtype in ("u16", "s16"):
        return stype in halves
    refused = {"u32": (), "s32": (), "f32": (*halves, *pairs), "f16": ("bf16", *pairs), "bf16": pairs}
    return dtype in refused and stype not in refused[dtype]


@op("set")
def set_(ctx: Context) -> Made:
    """Like setp, but the result is all ones or 1.0 in a register."""
    if len(ctx.mods) < 3:
        raise ctx.unknown()
    scalar, dtype = ctx.scalar(ctx.mods[-1]), ctx.scalar(ctx.mods[-2])
    if scalar.bits == 8 or scalar.kind in ("tf", "p", "ux2", "sx2") or not _can_hold(dtype.name, scalar.name):
        raise ctx.unknown()
    comparison = _Comparison(ctx, scalar, ctx.mods[:-2], ctx.operands[1:])
    d = ctx.dst(ctx.operands[0], dtype)
    ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
    true = ones.get(dtype.name, (1 << dtype.bits) - 1)
    packed = scalar.kind in ("fx2", "bfx2")
    if packed != (dtype.kind in ("fx2", "bfx2")) and packed:
        true = 0xFFFF

    def run(st: State, mask: Mask) -> None:
        yes, _ = comparison.run(st)
        if packed:
            halves = np.where(yes, np.uint16(true), np.uint16(0))
            assign(st, mask, d, halves.reshape(-1).view(np.uint32))
        else:
            assign(st, mask, d, np.where(yes, dtype.storage.type(true), dtype.storage.type(0)))

    return Made(run, "alu")
