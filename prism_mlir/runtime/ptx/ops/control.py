"""Branches, barriers, exits and fences (PTX ISA, "Control Flow" and "Parallel Synchronization Instructions")."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism_mlir.runtime.ptx.errors import TrapError
from prism_mlir.runtime.ptx.program import Sym
from prism_mlir.runtime.ptx.state import Mask, State
from prism_mlir.runtime.ptx.table import PRED, Context, Control, Made, assign, op
from prism_mlir.runtime.ptx.types import SCALARS

U32 = SCALARS["u32"]


@op("bra")
def bra(ctx: Context) -> Made:
    if ctx.mods not in ((), ("uni",)):
        raise ctx.unknown()
    ctx.count(1)
    target = ctx.operands[0]
    if not isinstance(target, Sym):
        raise ctx.fail("expected a label")
    return Made(None, "branch", control=Control("branch", (target.name,)))


@op("brx")
def brx(ctx: Context) -> Made:
    if ctx.mods not in (("idx",), ("idx", "uni")):
        raise ctx.unknown()
    ctx.count(2)
    table = ctx.operands[1]
    if not isinstance(table, Sym) or table.name not in ctx.kernel.tables:
        raise ctx.fail("expected the label of a .branchtargets list")
    slot = ctx.src(ctx.operands[0], U32)
    return Made(None, "branch", control=Control("table", ctx.kernel.tables[table.name], slot))


@op("ret", "exit")
def ret(ctx: Context) -> Made:
    if ctx.mods not in ((), ("uni",)):
        raise ctx.unknown()
    ctx.count(0)
    return Made(None, "branch", control=Control("exit"))


@op("trap", "brkpt")
def trap(ctx: Context) -> Made:
    ctx.count(0)
    site = ctx.site
    if ctx.instruction.opcode == "brkpt":
        return Made(None, "hint")

    def run(st: State, mask: Mask) -> None:
        block, thread = st.thread_name(int(np.flatnonzero(mask.lanes)[0]))
        raise TrapError(f"thread {thread} of block {block} of kernel '{st.kernel}' executed trap", site.location)

    return Made(run, "branch")


@op("bar", "barrier")
def bar(ctx: Context) -> Made:
    mods = tuple(m for m in ctx.mods if m != "cta")
    aligned = ctx.instruction.opcode == "bar" or "aligned" in mods
    mods = tuple(m for m in mods if m != "aligned")
    if mods == ("warp", "sync") and ctx.instruction.opcode == "bar":
        return _warp_sync(ctx)
    if mods[:1] == ("red",):
        return _reduce(ctx, mods, aligned)
    if mods not in (("sync",), ("arrive",)):
        raise ctx.unknown()
    ctx.count(1, 2)
    slot = ctx.src(ctx.operands[0], U32)
    count = ctx.src(ctx.operands[1], U32) if len(ctx.operands) == 2 else None
    if mods == ("arrive",) and count is None:
        raise ctx.fail("an arrival needs a thread count")
    return Made(None, "barrier", control=Control("barrier", (), slot, count, mods[0], aligned))


def _warp_sync(ctx: Context) -> Made:
    ctx.count(1)
    member = ctx.src(ctx.operands[0], SCALARS["b32"])

    def run(st: State, mask: Mask) -> None:
        warps = np.unique(np.flatnonzero(mask.lanes) // 32)
        st.clock.warp_barrier(warps // st.warps_per_block, warps % st.warps_per_block)

    return Made(run, "barrier", sync=member)


def _reduce(ctx: Context, mods: tuple[str, ...], aligned: bool) -> Made:
    """``bar.red``: the barrier's threads also combine a predicate."""
    forms = {("red", "popc", "u32"): "popc", ("red", "and", "pred"): "and", ("red", "or", "pred"): "or"}
    if mods not in forms:
        raise ctx.unknown()
    how = forms[mods]
    ctx.count(3, 4)
    d = ctx.dst(ctx.operands[0], U32 if how == "popc" else PRED)
    slot = ctx.src(ctx.operands[1], U32)
    count = ctx.src(ctx.operands[2], U32) if len(ctx.operands) == 4 else None
    p, negated = ctx.predicate(ctx.operands[-1])

    def finish(st: State, met: Any) -> None:
        """``met``: the lanes of one block that have met."""
        votes = st.spread(st.regs[p])[met] != negated
        result = {"popc": np.uint32(np.count_nonzero(votes)), "and": votes.all(), "or": votes.any()}[how]
        lanes = np.zeros(st.n, dtype=np.bool_)
        lanes[met] = True
        assign(st, st.mask(lanes), d, np.array([result], dtype=np.uint32 if how == "popc" else np.bool_))

    return Made(None, "barrier", control=Control("barrier", (), slot, count, "red", aligned, finish))


@op("membar", "fence")
def fence(ctx: Context) -> Made:
    known = ("cta", "gl", "gpu", "sys", "sc", "acq_rel", "acquire", "release", "cluster")
    if not ctx.mods or any(m not in known for m in ctx.mods):
        raise ctx.unknown()
    ctx.count(0)
    return Made(None, "fence")


@op("nanosleep")
def nanosleep(ctx: Context) -> Made:
    ctx.count(1)
    ctx.src(ctx.operands[0], U32)
    return Made(None, "hint")


@op("pragma", "griddepcontrol", "setmaxnreg")
def hint(ctx: Context) -> Made:
    if ctx.instruction.opcode != "griddepcontrol" or ctx.mods not in (("launch_dependents",), ("wait",)):
        raise ctx.unknown()
    return Made(None, "hint")
