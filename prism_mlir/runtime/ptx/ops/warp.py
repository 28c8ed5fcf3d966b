"""Warp communication: shfl, vote, match, redux, activemask, elect (PTX ISA, "Parallel Synchronization" and "shfl.sync")."""

from __future__ import annotations

import numpy as np

from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.program import Pair
from prism_mlir.runtime.ptx.state import WARP, Mask, State
from prism_mlir.runtime.ptx.table import PRED, Context, Made, assign, op
from prism_mlir.runtime.ptx.types import SCALARS, Array

U32 = SCALARS["u32"]
B32 = SCALARS["b32"]
LANE = np.arange(WARP)
BIT = (np.uint64(1) << LANE.astype(np.uint64)).astype(np.uint64)


def rows(st: State, slot: int) -> Array:
    """A register as (warps, 32)."""
    return st.spread(st.regs[slot]).reshape(-1, WARP)


def ballot(lanes: Array) -> Array:
    """(warps, 32) of bool to one 32-bit word a warp, as uint64."""
    words: Array = (lanes * BIT).sum(axis=1, dtype=np.uint64)
    return words


def source_lanes(mode: str, b: Array, c: Array) -> tuple[Array, Array]:
    """Source lane of each lane, and whether it is in range. ``b``, ``c``: (warps or 1, 32)."""
    step = (b & np.uint32(31)).astype(np.int64)
    clamp = (c & np.uint32(31)).astype(np.int64)
    segment = ((c >> np.uint32(8)) & np.uint32(31)).astype(np.int64)
    high = (LANE & segment) | (clamp & ~segment)
    if mode == "up":
        source = LANE - step
        valid = source >= high
    elif mode == "down":
        source = LANE + step
        valid = source <= high
    elif mode == "bfly":
        source = LANE ^ step
        valid = source <= high
    else:
        source = (LANE & segment) | (step & ~segment)
        valid = source <= high
    return np.where(valid, source, LANE), valid


@op("shfl")
def shfl(ctx: Context) -> Made:
    mods = ctx.mods
    if len(mods) != 3 or mods[0] != "sync" or mods[1] not in ("up", "down", "bfly", "idx") or mods[2] != "b32":
        raise ctx.unknown()
    mode = mods[1]
    ctx.count(5)
    target = ctx.operands[0]
    p = -1
    if isinstance(target, Pair):
        p = ctx.dst(target.second, PRED)
        target = target.first
    d = ctx.dst(target, B32)
    a, b, c = ctx.src(ctx.operands[1], B32), ctx.src(ctx.operands[2], U32), ctx.src(ctx.operands[3], U32)
    member = ctx.src(ctx.operands[4], B32)
    site = ctx.site

    def run(st: State, mask: Mask) -> None:
        check_members(st, mask, site, member)
        by, bounds = st.regs[b], st.regs[c]
        uniform = by.shape[0] == 1 and bounds.shape[0] == 1
        if uniform:
            source, valid = source_lanes(mode, by[:1].reshape(1, 1), bounds[:1].reshape(1, 1))
            source, valid = np.broadcast_to(source, (1, WARP)), np.broadcast_to(valid, (1, WARP))
        else:
            source, valid = source_lanes(mode, rows(st, b), rows(st, c))
        _check_sources(st, mask, site, source, member)
        if st.regs[a].shape[0] == 1:
            value = st.regs[a]
        elif uniform:
            value = rows(st, a)[:, source[0]].reshape(-1)
        else:
            value = np.take_along_axis(rows(st, a), np.broadcast_to(source, (st.n // WARP, WARP)), axis=1).reshape(-1)
        assign(st, mask, d, value)
        if p >= 0:
            assign(st, mask, p, np.broadcast_to(valid, (st.n // WARP, WARP)).reshape(-1))

    return Made(run, "shfl", sync=member)


def _names_all(st: State, member: int) -> bool:
    words = st.regs[member]
    return words.shape[0] == 1 and int(words[0]) == 0xFFFFFFFF


def _check_sources(st: State, mask: Mask, site: Site, source: Array, member: int) -> None:
    """A lane must not read from one that does not execute the instruction."""
    if not st.checks.convergence or (mask.dense and _names_all(st, member)):
        return
    members = (rows(st, member).astype(np.uint64) & BIT) != 0
    active = mask.lanes.reshape(-1, WARP)
    present = active & members
    whole = np.broadcast_to(source, active.shape)
    bad = active & ~np.take_along_axis(present, whole, axis=1)
    found = np.flatnonzero(bad.reshape(-1))
    if found.size:
        lane = int(found[0])
        other = lane // WARP * WARP + int(whole.reshape(-1)[lane])
        raise report(
            st,
            "convergence",
            site,
            f"reads the register of lane {other % WARP} of its warp, which does not take part",
            lanes=[lane],
            total=int(found.size),
            hint="let all source lanes execute the shuffle and name them in the member mask",
        )


def check_members(st: State, mask: Mask, site: Site, member: int) -> None:
    """Every lane that executes is named in its own mask, and every live lane that is named executes."""
    if not st.checks.convergence or (mask.dense and _names_all(st, member)):
        return
    named = (rows(st, member).astype(np.uint64) & BIT) != 0
    active = mask.lanes.reshape(-1, WARP)
    outside = np.flatnonzero((active & ~named).reshape(-1))
    if outside.size:
        raise report(
            st,
            "convergence",
            site,
            "executes a warp operation whose member mask does not name it",
            lanes=[int(outside[0])],
            total=int(outside.size),
            hint="use a member mask that names every thread that can get here",
        )
    word = ballot(active)
    wanted = rows(st, member).astype(np.uint64)
    present = wanted & ballot(st.live.reshape(-1, WARP))[:, None] & ~word[:, None]
    bad = np.flatnonzero((active & (present != 0)).reshape(-1))
    if bad.size:
        lane = int(bad[0])
        absent = int(present.reshape(-1)[lane])
        missing = lane // WARP * WARP + (absent & -absent).bit_length() - 1
        raise report(
            st,
            "convergence",
            site,
            "the second thread is named in the member mask but does not execute the warp operation with the first",
            lanes=[lane, missing],
            total=int(bad.size),
            hint="move the operation out of the divergent branch, or narrow the member mask",
        )


@op("vote")
def vote(ctx: Context) -> Made:
    mods = ctx.mods
    if (
        len(mods) != 3
        or mods[0] != "sync"
        or mods[1:]
        not in (
            ("all", "pred"),
            ("any", "pred"),
            ("uni", "pred"),
            ("ballot", "b32"),
        )
    ):
        raise ctx.unknown()
    how = mods[1]
    ctx.count(3)
    d = ctx.dst(ctx.operands[0], B32 if how == "ballot" else PRED)
    p, negated = ctx.predicate(ctx.operands[1])
    member = ctx.src(ctx.operands[2], B32)
    site = ctx.site

    def run(st: State, mask: Mask) -> None:
        check_members(st, mask, site, member)
        part = mask.lanes.reshape(-1, WARP) & ((rows(st, member).astype(np.uint64) & BIT) != 0)
        yes = (rows(st, p) != negated) & part
        if how == "ballot":
            value: Array = np.repeat(ballot(yes).astype(np.uint32), WARP)
        else:
            every = (yes == part).all(axis=1)
            some = yes.any(axis=1)
            value = np.repeat({"all": every, "any": some, "uni": every | ~some}[how], WARP)
        assign(st, mask, d, value)

    return Made(run, "vote", sync=member)


@op("activemask")
def activemask(ctx: Context) -> Made:
    if ctx.mods != ("b32",):
        raise ctx.unknown()
    ctx.count(1)
    d = ctx.dst(ctx.operands[0], B32)

    def run(st: State, mask: Mask) -> None:
        assign(st, mask, d, np.repeat(ballot(mask.lanes.reshape(-1, WARP)).astype(np.uint32), WARP))

    return Made(run, "vote")


@op("redux")
def redux(ctx: Context) -> Made:
    mods = ctx.mods
    arithmetic = ("add", "min", "max")
    if len(mods) != 3 or mods[0] != "sync":
        raise ctx.unknown()
    if not (mods[1] in arithmetic and mods[2] in ("u32", "s32")) and not (
        mods[1] in ("and", "or", "xor") and mods[2] == "b32"
    ):
        raise ctx.unknown()
    scalar = ctx.scalar(mods[2])
    ctx.count(3)
    d, a = ctx.dst(ctx.operands[0], scalar), ctx.src(ctx.operands[1], scalar)
    member = ctx.src(ctx.operands[2], B32)
    site, value = ctx.site, scalar.value
    low, high = (-(2**31), 2**31 - 1) if scalar.is_signed else (0, 2**32 - 1)
    neutral = {"add": 0, "min": high, "max": low, "and": 0xFFFFFFFF, "or": 0, "xor": 0}[mods[1]]
    ufunc = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
             "xor": np.bitwise_xor}[mods[1]]  # fmt: skip

    def run(st: State, mask: Mask) -> None:
        check_members(st, mask, site, member)
        part = mask.lanes.reshape(-1, WARP)
        words = rows(st, member)
        data = rows(st, a).view(value)
        result = np.empty(part.shape, dtype=value)
        for word in np.unique(words):  # nearly always one
            named = part & ((np.uint64(word) & BIT) != 0)
            row = ufunc.reduce(np.where(named, data, value.type(neutral)), axis=1, dtype=value)
            result = np.where(words == word, row[:, None], result)
        assign(st, mask, d, np.ascontiguousarray(result.astype(value)).view(np.uint32).reshape(-1))

    return Made(run, "vote", sync=member)


@op("match")
def match(ctx: Context) -> Made:
    mods = ctx.mods
    if len(mods) != 3 or mods[0] not in ("any", "all") or mods[1] != "sync" or mods[2] not in ("b32", "b64"):
        raise ctx.unknown()
    scalar = ctx.scalar(mods[2])
    ctx.count(3)
    target = ctx.operands[0]
    p = -1
    if isinstance(target, Pair):
        if mods[0] == "any":
            raise ctx.fail("only match.all has a second destination")
        p = ctx.dst(target.second, PRED)
        target = target.first
    d, a = ctx.dst(target, B32), ctx.src(ctx.operands[1], scalar)
    member = ctx.src(ctx.operands[2], B32)
    site, every = ctx.site, mods[0] == "all"

    def run(st: State, mask: Mask) -> None:
        check_members(st, mask, site, member)
        data = rows(st, a)
        part = mask.lanes.reshape(-1, WARP) & ((rows(st, member).astype(np.uint64) & BIT) != 0)
        equal = (data[:, :, None] == data[:, None, :]) & part[:, None, :]
        words = (equal * BIT).sum(axis=2, dtype=np.uint64)
        if every:
            whole = ballot(part)[:, None]
            same = words == whole
            words = np.where(same, whole, np.uint64(0))
            if p >= 0:
                assign(st, mask, p, np.broadcast_to(same, data.shape).reshape(-1))
        assign(st, mask, d, words.astype(np.uint32).reshape(-1))

    return Made(run, "vote", sync=member)


@op("elect")
def elect(ctx: Context) -> Made:
    """One thread of the mask, the lowest, is chosen."""
    if ctx.mods != ("sync",):
        raise ctx.unknown()
    ctx.count(2)
    target = ctx.operands[0]
    if not isinstance(target, Pair):
        raise ctx.fail("expected d|p")
    d, p = ctx.dst(target.first, B32), ctx.dst(target.second, PRED)
    member = ctx.src(ctx.operands[1], B32)
    site = ctx.site

    def run(st: State, mask: Mask) -> None:
        check_members(st, mask, site, member)
        part = mask.lanes.reshape(-1, WARP) & ((rows(st, member).astype(np.uint64) & BIT) != 0)
        leader = np.repeat(part.argmax(axis=1).astype(np.uint32), WARP)
        assign(st, mask, d, leader)
        assign(st, mask, p, (st.lane_thread % WARP) == leader)

    return Made(run, "vote", sync=member)
