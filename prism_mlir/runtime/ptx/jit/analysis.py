"""What a kernel's registers need before it is compiled: which agree in all lanes of a warp, and which are alive where."""

from __future__ import annotations

from collections.abc import Sequence

from prism_mlir.runtime.ptx.decode import Decoded, Step, successors
from prism_mlir.runtime.ptx.table import Constant

# Special registers that all lanes of a warp share; those of a launch are filled in by Python, the others by the grid loop.
SAME_IN_LAUNCH = frozenset(
    {f"%{n}.{a}" for n in ("ntid", "nctaid") for a in "xyz"}
    | {"%nwarpid", "WARP_SZ", "%smid", "%nsmid", "%gridid", "%dynamic_smem_size", "%total_smem_size"}
)
SAME_IN_BLOCK = ("%ctaid.x", "%ctaid.y", "%ctaid.z")
_UNIFORM_RESULTS = frozenset({"vote", "activemask"})
_VARYING_RESULTS = frozenset({"shfl", "ldmatrix", "mma", "movmatrix", "match", "elect", "atom"})


def uniform_slots(decoded: Decoded) -> frozenset[int]:
    """Slots whose value is certainly the same in all lanes of a warp, as long as no branch diverges."""
    layout = decoded.layout
    varying = {c.slot for c in layout.constants.values() if _varies(c)}
    changed = True
    while changed:
        changed = False
        for step in decoded.steps:
            fresh = [s for s in step.writes if s not in varying]
            if fresh and not _uniform_result(step, varying):
                varying.update(fresh)
                changed = True
    return frozenset(range(len(layout.scalars))) - varying


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


def live_in(decoded: Decoded) -> list[frozenset[int]]:
    """For each basic block, and for the end, the slots that may be read before they are written."""
    lasts = [block.steps[-1] for block in decoded.blocks]
    following = successors(lasts, decoded.block_of_label)
    uses, kills = zip(*(_effects(block.steps) for block in decoded.blocks), strict=True) if decoded.blocks else ((), ())
    live: list[frozenset[int]] = [frozenset()] * (len(decoded.blocks) + 1)
    constants = {c.slot for c in decoded.layout.constants.values()}
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(decoded.blocks))):
            out: set[int] = set()
            for s in following[i]:
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
