"""cp.async and its groups (PTX ISA, "Data Movement: cp.async")."""

from __future__ import annotations

import numpy as np

from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.memory import CELL
from prism_mlir.runtime.ptx.ops.loads import address, addresses, pick
from prism_mlir.runtime.ptx.ops.mbarrier import copies_arrive
from prism_mlir.runtime.ptx.program import IntImm, Not, Reg
from prism_mlir.runtime.ptx.state import Mask, State
from prism_mlir.runtime.ptx.table import Access, Context, Made, op
from prism_mlir.runtime.ptx.types import SCALARS, Array

_HINTS = ("L2::64B", "L2::128B", "L2::256B", "L2::cache_hint")


@op("cp")
def cp(ctx: Context) -> Made:
    mods = ctx.mods
    if mods[:1] != ("async",):
        raise ctx.unknown()
    if mods == ("async", "commit_group"):
        ctx.count(0)
        return Made(lambda st, mask: st.queue.commit(mask.full, mask.index), "cp.async")
    if mods == ("async", "wait_all"):
        ctx.count(0)
        return Made(lambda st, mask: st.queue.wait(st, mask.index, mask.full, None), "cp.async.wait")
    if mods == ("async", "wait_group"):
        ctx.count(1)
        keep = ctx.operands[0]
        if not isinstance(keep, IntImm) or keep.value < 0:
            raise ctx.fail("the number of groups must be a literal")
        groups = keep.value
        return Made(lambda st, mask: st.queue.wait(st, mask.index, mask.full, groups), "cp.async.wait")
    if mods[:3] == ("async", "mbarrier", "arrive"):
        return copies_arrive(ctx)
    return _copy(ctx)


def _copy(ctx: Context) -> Made:
    mods = ctx.mods
    if mods[1:2] not in (("ca",), ("cg",)) or mods[2:4] not in (("shared", "global"), ("shared::cta", "global")):
        raise ctx.unknown()
    if any(m not in _HINTS for m in mods[4:]):
        raise ctx.unknown()
    operands = list(ctx.operands)
    if "L2::cache_hint" in mods:
        ctx.src(operands.pop(), SCALARS["b64"])
    if len(operands) not in (3, 4) or not isinstance(operands[2], IntImm):
        raise ctx.fail("expected a destination, a source, a literal size, and perhaps a source size")
    width = operands[2].value
    if width not in ((16,) if mods[1] == "cg" else (4, 8, 16)):
        raise ctx.fail(f"cp.async.{mods[1]} cannot copy {width} bytes")
    to, to_offset = address(ctx, operands[0])
    source, source_offset = address(ctx, operands[1])
    size, ignore, negated = -1, -1, False
    if len(operands) == 4:
        last = operands[3]
        if isinstance(last, IntImm) and not 0 <= last.value <= width:
            raise ctx.fail(f"the source size must be 0 to {width} bytes")
        is_predicate = isinstance(last, Not) or (
            isinstance(last, Reg) and ctx.layout.scalars[ctx.register(last.name)].kind == "p"
        )
        if is_predicate:
            if ctx.program.version < (7, 5):
                raise ctx.fail("a predicate that ignores the source needs .version 7.5 or later")
            ignore, negated = ctx.predicate(last)
        else:
            size = ctx.src(last, SCALARS["u32"])
    site = ctx.site

    def run(st: State, mask: Mask) -> None:
        lane = mask.index
        n = st.n if lane is None else lane.shape[0]
        target = np.broadcast_to(pick(addresses(st, to, to_offset), mask), (n,))
        at = np.broadcast_to(pick(addresses(st, source, source_offset), mask), (n,))
        valid = None
        if size < 0 and ignore < 0:
            raw = st.memory.load(st, site, at, lane, width)
        else:
            if size >= 0:
                valid = np.broadcast_to(pick(st.regs[size], mask), (n,)).astype(np.int64)
                _check_size(st, site, valid, lane, width)
            else:
                skip = np.broadcast_to(pick(st.regs[ignore], mask), (n,)) != negated
                valid = np.where(skip, 0, width)
            raw = _partial(st, site, at, lane, width, valid)
        st.counters.copy(st, width, at, target, valid, mask)
        st.queue.issue(st, site, target, lane, width, raw)

    return Made(run, "cp.async", access=Access("shared", width, to, False, True), copies=True)


def _check_size(st: State, site: Site, valid: Array, lane: Array | None, width: int) -> None:
    """A source size above the copy's is undefined (PTX ISA, "cp.async")."""
    wrong = np.flatnonzero(valid > width)
    if wrong.size and st.checks.async_copy:
        first = int(wrong[0])
        raise report(
            st,
            "async_copy",
            site,
            f"the source has {int(valid[first])} bytes, more than the {width} that are copied",
            lanes=[first if lane is None else int(lane[first])],
            total=int(wrong.size),
            hint="limit the source size to the size of the copy; 0 fills with zeros",
        )


def _partial(st: State, site: Site, at: Array, lane: Array | None, width: int, valid: Array) -> Array:
    """The first ``valid`` bytes of each source, the rest zeros; a source of no bytes is not touched."""
    raw = np.zeros((at.shape[0], width), dtype=np.uint8)
    lanes = np.arange(st.n) if lane is None else lane
    for size in np.unique(valid):
        take = min(int(size), width)
        chosen = np.flatnonzero(valid == size)
        done = 0
        while done < take:
            step = 1 << ((take - done).bit_length() - 1)
            while done % step:
                step //= 2
            part = st.memory.load(st, site, at[chosen] + done, lanes[chosen], step)
            raw[chosen, done : done + step] = part.view(np.uint8).reshape(-1, step)
            done += step
    return raw.reshape(-1).view(CELL[width])
