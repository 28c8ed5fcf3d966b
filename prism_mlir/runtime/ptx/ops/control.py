"""Branches, barriers, exits and fences (PTX ISA, "Control Flow" and "Parallel Synchronization Instructions")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from prism_mlir.runtime.ptx.checks.barrier import BARRIERS
from prism_mlir.runtime.ptx.errors import TrapError
from prism_mlir.runtime.ptx.ops.warp import check_members, rows
from prism_mlir.runtime.ptx.program import IntImm, Operand, Sym
from prism_mlir.runtime.ptx.state import WARP, Mask, State
from prism_mlir.runtime.ptx.table import PRED, Context, Control, Made, assign, op
from prism_mlir.runtime.ptx.types import SCALARS

U32 = SCALARS["u32"]
_PROXIES = (("alias",), ("async",), ("async", "global"), ("async", "shared::cta"), ("async", "shared::cluster"))


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
    if ctx.instruction.opcode == "bar" and "aligned" in mods:
        raise ctx.unknown()
    mods = tuple(m for m in mods if m != "aligned")
    if mods == ("warp", "sync") and ctx.instruction.opcode == "bar":
        return _warp_sync(ctx)
    if mods[:1] == ("red",):
        return _reduce(ctx, mods, aligned)
    if mods not in (("sync",), ("arrive",)):
        raise ctx.unknown()
    ctx.count(1, 2)
    slot, count = _barrier_operands(ctx, ctx.operands)
    if mods == ("arrive",) and count is None:
        raise ctx.fail("an arrival needs a thread count")
    return Made(None, "barrier", control=Control("barrier", (), slot, count, mods[0], aligned))


def _barrier_operands(ctx: Context, operands: Sequence[Operand]) -> tuple[int, int | None]:
    """The slots of a barrier's number and, if there is one, of its thread count; literals are checked here."""
    number, *rest = operands
    if isinstance(number, IntImm) and not 0 <= number.value < BARRIERS:
        raise ctx.fail(f"a block has barriers 0 to {BARRIERS - 1}")
    if rest and isinstance(rest[0], IntImm) and (rest[0].value <= 0 or rest[0].value % WARP):
        raise ctx.fail(f"the thread count of a barrier must be a positive multiple of {WARP}")
    return ctx.src(number, U32), ctx.src(rest[0], U32) if rest else None


def _warp_sync(ctx: Context) -> Made:
    """Orders what the named threads did before it; those of a warp that has been named whole all at once."""
    ctx.count(1)
    member = ctx.src(ctx.operands[0], SCALARS["b32"])
    site = ctx.site

    def run(st: State, mask: Mask) -> None:
        check_members(st, mask, site, member)
        if not st.checks.race:
            return
        active, live = mask.lanes.reshape(-1, WARP), st.live.reshape(-1, WARP)
        words = rows(st, member)
        whole = (active == live).all(axis=1) & (words == words[:, :1]).all(axis=1) & active.any(axis=1)
        warps = np.flatnonzero(whole)
        if warps.size:
            st.clock.warp_barrier(warps // st.warps_per_block, warps % st.warps_per_block)
        for warp in np.flatnonzero(active.any(axis=1) & ~whole).tolist():
            first = warp % st.warps_per_block * WARP
            for word in np.unique(words[warp, active[warp]]):
                group = np.flatnonzero(active[warp] & (words[warp] == word))
                st.clock.meet(warp // st.warps_per_block, first + group)

    return Made(run, "barrier", sync=member)


def _reduce(ctx: Context, mods: tuple[str, ...], aligned: bool) -> Made:
    """``bar.red``: the barrier's threads also combine a predicate."""
    forms = {("red", "popc", "u32"): "popc", ("red", "and", "pred"): "and", ("red", "or", "pred"): "or"}
    if mods not in forms:
        raise ctx.unknown()
    how = forms[mods]
    ctx.count(3, 4)
    d = ctx.dst(ctx.operands[0], U32 if how == "popc" else PRED)
    slot, count = _barrier_operands(ctx, ctx.operands[1:-1])
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
    """Fences order what a thread does, not threads; see ``checks.order``.

    Proxy fences do nothing: all instructions that the machine knows, ``cp.async`` among them, use the generic proxy (PTX ISA,
    "Async Proxy": only bulk copies and asynchronous matrix products use another one).
    """
    ctx.count(0)
    opcode, mods = ctx.instruction.opcode, ctx.mods
    if mods[:1] == ("proxy",) or (opcode, mods) == ("fence", ("mbarrier_init", "release", "cluster")):
        if mods[0] == "proxy" and mods[1:] not in _PROXIES:
            raise ctx.unknown()
        return Made(None, "fence")
    scopes = ("cta", "gl", "sys") if opcode == "membar" else ("cta", "cluster", "gpu", "sys")
    orders = () if opcode == "membar" else ("sc", "acq_rel", "acquire", "release")
    if not mods or mods[-1] not in scopes or mods[:-1] not in ((), *((o,) for o in orders)):
        raise ctx.unknown()

    def run(st: State, mask: Mask) -> None:
        if st.checks.race:
            st.clock.fence(np.flatnonzero(mask.lanes))

    return Made(run, "fence")


@op("nanosleep")
def nanosleep(ctx: Context) -> Made:
    if ctx.mods != ("u32",):
        raise ctx.unknown()
    ctx.count(1)
    ctx.src(ctx.operands[0], U32)
    return Made(None, "hint")


@op("pmevent", "griddepcontrol")
def hint(ctx: Context) -> Made:
    """Profiler events and dependent grids: nothing that a kernel can see."""
    forms = {
        "pmevent": ((), ("mask",)),
        "griddepcontrol": (("launch_dependents",), ("wait",)),
    }
    opcode = ctx.instruction.opcode
    if ctx.mods not in forms[opcode]:
        raise ctx.unknown()
    ctx.count(0 if opcode == "griddepcontrol" else 1)
    if ctx.operands and not isinstance(ctx.operands[0], IntImm):
        raise ctx.fail("the operand must be a literal")
    return Made(None, "hint")
