"""Uses of registers that nothing has written.

Most uses are proved at decode time: a use is fine when every path from the entry writes the register first (a forward
must-analysis over basic blocks). Only the others are watched while the kernel runs, lane by lane. ``mov`` copies the state of its
source instead of using it, because LLVM packs vectors of which it leaves some elements undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.state import Mask, State

Run = Callable[[State, Mask], None]


@dataclass(frozen=True, slots=True)
class Effect:
    """What an instruction does to registers: slots it reads and writes, whether it is guarded, whether it only copies."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    guarded: bool
    copies: bool


def doubtful_uses(
    effects: Sequence[Effect], starts: Sequence[int], successors: Sequence[Sequence[int]], constants: frozenset[int]
) -> dict[int, tuple[int, ...]]:
    """Instructions that may read a register before it is written, with these registers.

    Args:
        effects: one an instruction.
        starts: index of the first instruction of each basic block.
        successors: blocks that may follow each block.
        constants: slots that always have a value.
    """
    everything = 0
    for e in effects:
        for slot in (*e.reads, *e.writes):
            everything |= 1 << slot
    always = 0
    for slot in constants:
        always |= 1 << slot
    ends = [*starts[1:], len(effects)]
    entering = [everything | always] * len(starts)
    if not starts:
        return {}
    entering[0] = always
    work = list(range(len(starts)))
    while work:
        block = work.pop()
        leaving = entering[block]
        for e in effects[starts[block] : ends[block]]:
            leaving |= _definite(e, leaving)
        for following in successors[block]:
            if following < len(starts) and entering[following] & leaving != entering[following]:
                entering[following] &= leaving
                work.append(following)
    doubtful: dict[int, tuple[int, ...]] = {}
    for block, first in enumerate(starts):
        known = entering[block]
        for pc in range(first, ends[block]):
            e = effects[pc]
            missing = tuple(s for s in dict.fromkeys(e.reads) if not known >> s & 1)
            if missing:
                doubtful[pc] = missing
            known |= _definite(e, known)
    return doubtful


def _definite(e: Effect, known: int) -> int:
    """The registers that the instruction certainly writes."""
    if e.guarded or (e.copies and e.reads and not any(known >> s & 1 for s in e.reads)):
        return 0
    written = 0
    for slot in e.writes:
        written |= 1 << slot
    return written


def watched(
    run: Run | None,
    effect: Effect,
    doubtful: tuple[int, ...],
    tracked: frozenset[int],
    names: Sequence[str],
    site: Site,
) -> Run | None:
    """``run`` with the state of the tracked registers checked before and updated after."""
    writes = tuple(s for s in effect.writes if s in tracked)
    if not writes and (not doubtful or effect.copies):
        return run

    def with_check(st: State, mask: Mask) -> None:
        if doubtful and not effect.copies and st.checks.uninitialised:
            for slot in doubtful:
                _check(st, mask, slot, names[slot], site)
        copied = mask.lanes
        if effect.copies and doubtful and len(doubtful) == len(set(effect.reads)):
            copied = np.zeros(st.n, dtype=np.bool_)
            for slot in doubtful:
                have = st.written.get(slot)
                if have is not None:
                    copied = copied | have
            copied &= mask.lanes
        if run is not None:
            run(st, mask)
        for slot in writes:
            have = st.written.get(slot)
            st.written[slot] = copied if have is None else (have & ~mask.lanes) | copied

    return with_check


def _check(st: State, mask: Mask, slot: int, name: str, site: Site) -> None:
    have = st.written.get(slot)
    bad = np.flatnonzero(mask.lanes if have is None else mask.lanes & ~have)
    if bad.size:
        raise report(
            st,
            "uninitialised",
            site,
            f"register '{name.split('#')[0]}' is used, but nothing has written it",
            lanes=[int(bad[0])],
            total=int(bad.size),
            hint="write the register on every path that leads here",
        )
