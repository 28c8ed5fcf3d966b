"""What a kernel's registers need before it is compiled: which agree in all lanes of a warp, and which are alive where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prism_mlir.runtime.ptx.decode import Decoded, Step, successors
from prism_mlir.runtime.ptx.table import Constant

# Special registers that all lanes of a warp share; those of a launch are filled in by Python, the others by the grid loop.
SAME_IN_LAUNCH = frozenset(
    {f"%{n}.{a}" for n in ("ntid", "nctaid") for a in "xyz"}
    | {"%nwarpid", "WARP_SZ", "%smid", "%nsmid", "%gridid", "%dynamic_smem_size", "%total_smem_size"}
)
SAME_IN_BLOCK = ("%ctaid.x", "%ctaid.y", "%ctaid.z")
LARGEST = 600  # instructions of a region that are compiled a second time
_UNIFORM_RESULTS = frozenset({"vote", "activemask"})
_VARYING_RESULTS = frozenset({"shfl", "ldmatrix", "mma", "movmatrix", "match", "elect", "atom"})


@dataclass(frozen=True, slots=True)
class Region:
    """The blocks that threads may run apart after the branch of block ``at`` until they meet again at block ``end``."""

    at: int
    blocks: frozenset[int]
    end: int


def regions(decoded: Decoded) -> list[Region]:
    """The regions of all conditional branches that have one; those with barriers, and large ones, are left out."""
    after = following(decoded)
    found = (_region(decoded, after, at) for at, block in enumerate(decoded.blocks) if block.guard is not None)
    return [r for r in found if r is not None and sum(len(decoded.blocks[b].steps) for b in r.blocks) <= LARGEST]


def following(decoded: Decoded) -> list[list[int]]:
    """The blocks that may follow each block, and none after the end."""
    return successors([block.steps[-1] for block in decoded.blocks], decoded.block_of_label)


def _region(decoded: Decoded, after: Sequence[Sequence[int]], at: int) -> Region | None:
    """Close the span between the branch's targets, in the order in which diverged threads run, under "may follow".

    Blocks in between that the branch does not lead to (another branch around it does) are none of its business.
    """
    rank, count = decoded.rank, len(decoded.blocks)
    low, high = (f(rank[s] for s in after[at]) for f in (min, max))
    inside: frozenset[int] = frozenset()
    while True:
        span = _reached(after, at, {b for b in range(count + 1) if low <= rank[b] < high})
        if span == inside:
            return Region(at, inside, rank.index(high))
        inside = span
        for b in inside:
            control = decoded.blocks[b].control if b < count else None
            if b == count or (control is not None and control.kind in ("barrier", "table")):
                return None
            low = min(low, *(rank[s] for s in after[b]))
            high = max(high, *(rank[s] for s in after[b]))


def _reached(after: Sequence[Sequence[int]], at: int, within: set[int]) -> frozenset[int]:
    """What threads can reach from block ``at`` on ways within a set."""
    found: set[int] = set()
    work = list(after[at])
    while work:
        b = work.pop()
        if b in within and b not in found:
            found.add(b)
            work.extend(after[b])
    return frozenset(found)


def crossing(decoded: Decoded, region: Region, live: Sequence[frozenset[int]]) -> frozenset[int]:
    """Slots that are alive where a block of the region, or its end, begins."""
    return frozenset().union(*(live[b] for b in (*region.blocks, region.end)))


def uniform_slots(
    decoded: Decoded, apart: Sequence[Region] = (), live: Sequence[frozenset[int]] = ()
) -> frozenset[int]:
    """Slots whose value is certainly the same in all lanes of a warp, as long as threads diverge in ``apart`` only."""
    layout = decoded.layout
    varying = {c.slot for c in layout.constants.values() if _varies(c)}
    written = [(decoded.blocks[r.at].guard, crossing(decoded, r, live) & _written(decoded, r.blocks)) for r in apart]
    changed = True
    while changed:
        changed = False
        for guard, slots in written:
            if guard is not None and guard[0] in varying and not slots <= varying:
                varying |= slots
                changed = True
        for step in decoded.steps:
            fresh = [s for s in step.writes if s not in varying]
            if fresh and not _uniform_result(step, varying):
                varying.update(fresh)
                changed = True
    return frozenset(range(len(layout.scalars))) - varying


def _written(decoded: Decoded, blocks: Iterable[int]) -> frozenset[int]:
    return frozenset(s for b in blocks for step in decoded.blocks[b].steps for s in step.writes)


def _varies(constant: Constant) -> bool:
    name = constant.special
    return bool(name) and name not in SAME_IN_LAUNCH and name not in SAME_IN_BLOCK


def _uniform_result(step: Step, varying: set[int]) -> bool:
    opcode = step.site.instruction.opcode
    if step.guard is not None and step.guard[0] in varying:
        return False
    if opcode in _VARYING_RESULTS:
        return False
    if opcode in _UNIFORM_RESULTS:
        return True
    if opcode == "redux":
        return step.sync not in varying
    if opcode in ("ld", "ldu") and step.access is not None and step.access.space in ("local", ""):
        return False
    return not any(s in varying for s in step.reads)


def one_way(decoded: Decoded) -> bool:
    """Whether all threads of a launch certainly go the same way: all branches depend on literals, parameters and the shape of
    the launch alone."""
    layout = decoded.layout
    differs = {c.slot for c in layout.constants.values() if c.special and c.special not in SAME_IN_LAUNCH}
    changed = True
    while changed:
        changed = False
        for step in decoded.steps:
            opcode, space = step.site.instruction.opcode, step.access.space if step.access is not None else "param"
            own = opcode in _VARYING_RESULTS | _UNIFORM_RESULTS | {"redux"} or space != "param"
            fresh = [s for s in step.writes if s not in differs]
            if fresh and (own or any(s in differs for s in step.reads)):
                differs.update(fresh)
                changed = True
    ways = (s for step in decoded.steps if step.control is not None for s in step.reads)
    return not any(s in differs for s in ways)


def live_in(decoded: Decoded) -> list[frozenset[int]]:
    """For each basic block, and for the end, the slots that may be read before they are written."""
    after = following(decoded)
    uses, kills = zip(*(_effects(block.steps) for block in decoded.blocks), strict=True) if decoded.blocks else ((), ())
    live: list[frozenset[int]] = [frozenset()] * (len(decoded.blocks) + 1)
    constants = {c.slot for c in decoded.layout.constants.values()}
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(decoded.blocks))):
            out: set[int] = set()
            for s in after[i]:
                out |= live[s]
            new = frozenset((uses[i] | (out - kills[i])) - constants)
            if new != live[i]:
                live[i] = new
                changed = True
    return live


def _effects(steps: Sequence[Step]) -> tuple[set[int], set[int]]:
    """Slots read before they are written, and slots certainly written."""
    uses: set[int] = set()
    kills: set[int] = set()
    for step in steps:
        uses.update(s for s in step.reads if s not in kills)
        if step.guard is None:
            kills.update(step.writes)
        else:  # what the guard holds back stays
            uses.update(s for s in step.writes if s not in kills)
    return uses, kills
