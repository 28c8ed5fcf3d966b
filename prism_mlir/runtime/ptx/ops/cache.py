"""Hints to caches (PTX ISA, "Data Movement: createpolicy, prefetch, applypriority"): decoded and checked, without effect."""

from __future__ import annotations

from prism_mlir.runtime.ptx.ops.loads import address
from prism_mlir.runtime.ptx.program import FloatImm, IntImm
from prism_mlir.runtime.ptx.table import Context, Made, op, pure_run
from prism_mlir.runtime.ptx.types import SCALARS

_PRIMARY = ("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged")
_SECONDARY = ("L2::evict_first", "L2::evict_unchanged")
_LEVELS = [(*space, level) for space in ((), ("global",), ("local",)) for level in ("L1", "L2")]
_HINTS = {
    "prefetch": (*_LEVELS, ("global", "L2::evict_last"), ("global", "L2::evict_normal")),
    "prefetchu": (("L1",),),
    "applypriority": (("L2::evict_normal",), ("global", "L2::evict_normal")),
}


@op("prefetch", "prefetchu", "applypriority")
def prefetch(ctx: Context) -> Made:
    """A hint: the address is decoded, nothing is moved."""
    if ctx.mods not in _HINTS[ctx.instruction.opcode]:
        raise ctx.unknown()
    if ctx.instruction.opcode == "applypriority":
        ctx.count(2)
        if not isinstance(size := ctx.operands[1], IntImm) or size.value != 128:
            raise ctx.fail("the size must be 128")
    else:
        ctx.count(1)
    address(ctx, ctx.operands[0])
    return Made(None, "hint")


@op("createpolicy")
def createpolicy(ctx: Context) -> Made:
    """An opaque 64-bit value that memory instructions take as ``.L2::cache_hint``; here it is always 0."""
    mods = ctx.mods
    kind = mods[0] if mods else ""
    if mods[-1:] != ("b64",) or not _known(kind, mods[1:-1]):
        raise ctx.unknown()
    if kind == "cvt":
        ctx.count(2)
        ctx.src(ctx.operands[1], SCALARS["b64"])
    elif kind == "fractional":
        ctx.count(1, 2)
        for fraction in ctx.operands[1:]:
            if isinstance(fraction, FloatImm) and not 0 < fraction.value <= 1:
                raise ctx.fail("the fraction must be above 0 and at most 1")
            ctx.src(fraction, SCALARS["f32"])
    else:
        ctx.count(4)
        address(ctx, ctx.operands[1])
        for size in ctx.operands[2:]:
            ctx.src(size, SCALARS["u32"])
    d = ctx.dst(ctx.operands[0], SCALARS["b64"])
    return Made(pure_run(lambda a: a, d, [ctx.immediate(IntImm(0), SCALARS["b64"])]), "move")


def _known(kind: str, mods: tuple[str, ...]) -> bool:
    """Whether the modifiers between kind and type exist."""
    if kind == "cvt":
        return mods == ("L2",)
    if kind == "range":
        mods = mods[mods[:1] == ("global",) :]
    elif kind != "fractional":
        return False
    return mods[:1] != () and mods[0] in _PRIMARY and (len(mods) == 1 or (len(mods) == 2 and mods[1] in _SECONDARY))
