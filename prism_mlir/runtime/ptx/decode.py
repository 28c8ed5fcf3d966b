"""Kernel to basic blocks of closures, once a kernel: the table's closures with the register check and the guard around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from prism_mlir.runtime.ptx import ops as _ops
from prism_mlir.runtime.ptx.cfg import weak_topological_order
from prism_mlir.runtime.ptx.checks.registers import Effect, doubtful_uses, watched
from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.errors import PtxSyntaxError
from prism_mlir.runtime.ptx.program import Instruction, Kernel, Program, Reg
from prism_mlir.runtime.ptx.state import WARP, Mask, State
from prism_mlir.runtime.ptx.table import PRED, TABLE, Access, Context, Control, Layout, Run
from prism_mlir.runtime.ptx.targets import shortfall

MAX_TARGETS = 100_000  # of a kernel, those of its tables counted at each use; compilers emit a few hundred
FAMILIES = _ops.__all__  # importing the package fills the table


@dataclass(frozen=True, slots=True)
class Step:
    """One decoded instruction. ``sync`` is the slot of the member mask of a warp operation, or -1 when the whole
    warp is meant. ``raw`` is the table's closure; ``run`` has the guard and the register check around it.
    """

    run: Run | None
    klass: str
    site: Site
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    guard: tuple[int, bool] | None = None
    control: Control | None = None
    access: Access | None = None
    sync: int | None = None
    copies: bool = False
    raw: Run | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: steps without control flow, then perhaps one that has it."""

    steps: tuple[Step, ...]
    runs: tuple[Run, ...]
    control: Control | None
    guard: tuple[int, bool] | None
    last: Step | None
    sync: int | None
    pc: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """A kernel ready to run."""

    kernel: Kernel
    layout: Layout
    steps: tuple[Step, ...]
    blocks: tuple[Block, ...]
    block_of_label: Mapping[str, int]
    sites: tuple[Site, ...]
    rank: tuple[int, ...]


def decode(program: Program, kernel: Kernel) -> Decoded:
    """Decode a kernel.

    Raises:
        PtxSyntaxError: located, at the first instruction or operand that the machine does not know.
    """
    layout = Layout()
    ctx = Context(program, kernel, layout)
    steps = tuple(_step(ctx, pc, instruction) for pc, instruction in enumerate(kernel.body))
    starts = _leaders(kernel, steps)
    spans = list(pairwise([*starts, len(steps)]))  # none where the kernel has no instructions
    index = {start: i for i, start in enumerate(starts)}
    labels = {name: index.get(pc, len(starts)) for name, pc in kernel.labels.items()}
    edges = 0
    for step in steps:
        for target in step.control.targets if step.control else ():
            if target not in labels:
                raise PtxSyntaxError(f"label '{target}' is not defined", step.site.location)
            edges += 1
        if edges > MAX_TARGETS:
            raise PtxSyntaxError(f"more than {MAX_TARGETS} branch targets in one kernel", step.site.location)
    following = successors([steps[end - 1] for _, end in spans], labels)
    steps = _compose(steps, layout, starts, following)
    blocks = tuple(_block(steps[first:end], first) for first, end in spans)
    rank = tuple(weak_topological_order(following))
    return Decoded(kernel, layout, steps, blocks, labels, tuple(s.site for s in steps), rank)


def successors(last: list[Step], labels: Mapping[str, int]) -> list[list[int]]:
    """The blocks that may follow each block, given the last step of each; one more node, without successors, is the
    end of the kernel.
    """
    end = len(last)
    following: list[list[int]] = []
    for i, step in enumerate(last):
        control = step.control
        if control is None or control.kind == "barrier":
            following.append([i + 1])
            continue
        targets = [end] if control.kind == "exit" else [labels[t] for t in control.targets]
        following.append(sorted({*targets, i + 1} if step.guard is not None else set(targets)))
    return [*following, []]


def _step(ctx: Context, pc: int, instruction: Instruction) -> Step:
    ctx.begin(pc, instruction)
    builder = TABLE.get(instruction.opcode)
    if builder is None:
        raise ctx.unknown()
    guard = None
    if instruction.guard is not None:
        guard = (ctx.src(Reg(instruction.guard.reg), PRED), instruction.guard.negated)
    made = builder(ctx)
    lacks = shortfall(instruction, ctx.program.sm, ctx.program.version)
    if lacks:
        name = ".".join((instruction.opcode, *instruction.mods))
        raise PtxSyntaxError(f"'{name}' needs {lacks}", instruction.location)
    return Step(
        made.run,
        made.klass,
        ctx.site,
        tuple(ctx.reads),
        tuple(ctx.writes),
        guard,
        made.control,
        made.access,
        made.sync,
        made.copies,
        made.run,
    )


def _compose(
    steps: tuple[Step, ...], layout: Layout, starts: list[int], following: list[list[int]]
) -> tuple[Step, ...]:
    """Put the register check and the guard around the closures."""
    effects = [Effect(s.reads, s.writes, s.guard is not None, s.site.instruction.opcode == "mov") for s in steps]
    constants = frozenset(c.slot for c in layout.constants.values())
    doubtful = doubtful_uses(effects, starts, following, constants)
    tracked = frozenset(slot for slots in doubtful.values() for slot in slots)
    composed: list[Step] = []
    for pc, step in enumerate(steps):
        missing = doubtful.get(pc, ())
        run = watched(step.run, effects[pc], missing, tracked, layout.names, step.site)
        if step.guard is not None and step.control is None and run is not None:
            run = _guarded(run, *step.guard, step.site if step.sync == -1 else None)
            if step.guard[0] in missing:
                guard = Effect((step.guard[0],), (), False, False)
                run = watched(run, guard, (step.guard[0],), tracked, layout.names, step.site)
        composed.append(replace(step, run=run))
    return tuple(composed)


def _guarded(run: Run, slot: int, negated: bool, whole: Site | None) -> Run:
    """``run`` for the lanes whose guard holds; ``whole``: the instruction, if it needs complete warps."""

    def guarded(st: State, mask: Mask) -> None:
        inner = st.narrow(mask, st.regs[slot], negated)
        if inner is None:
            return
        if whole is not None and st.checks.convergence:
            table = inner.lanes.reshape(-1, WARP)
            broken = np.flatnonzero(table.any(axis=1) & ~table.all(axis=1))
            if broken.size:
                row = table[broken[0]]
                first = int(broken[0]) * WARP
                raise report(
                    st,
                    "convergence",
                    whole,
                    "the guard holds for the first thread but not for the second one of the same warp",
                    lanes=[first + int(np.flatnonzero(row)[0]), first + int(np.flatnonzero(~row)[0])],
                    hint="the whole warp must execute this operation: make the guard the same for all its threads",
                )
        run(st, inner)

    return guarded


def _leaders(kernel: Kernel, steps: tuple[Step, ...]) -> list[int]:
    """Where basic blocks begin: at labels, after control flow, and at warp operations that need their warp together."""
    leaders = {0, *kernel.labels.values()}
    together: set[int] = set()
    for i, step in enumerate(steps):
        if i in leaders:
            together.clear()
        if step.sync is not None and step.sync not in together and -1 not in together:
            leaders.add(i)
            if step.guard is None:
                together = {step.sync}
        together.difference_update(step.writes)
        if step.control is not None:
            leaders.add(i + 1)
    return sorted(i for i in leaders if i < len(steps))


def _block(steps: tuple[Step, ...], pc: int) -> Block:
    last = steps[-1] if steps and steps[-1].control is not None else None
    runs = tuple(s.run for s in steps if s.run is not None)
    return Block(
        steps,
        runs,
        last.control if last else None,
        last.guard if last else None,
        last,
        steps[0].sync if steps else None,
        pc,
    )
