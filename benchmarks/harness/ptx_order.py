"""A second opinion on races: every access of a run, listed and compared pairwise, without the machine's detector.

A thread's *epoch* is how many barriers of its whole block it has passed. Two accesses to one cell by different threads of a
block, one of them a store, are ordered exactly if their epochs differ. A ``cp.async`` stores at two times: when it is issued
and when the issuing thread waits for it; no other access may lie between. Threads that store one value to one cell in one
instruction count as one thread. Shared and global memory are treated alike.

What orders threads in another way (named barriers with a count, ``bar.warp.sync``, arrivals, fences between strong accesses) is
not understood: the trace then says so and has no opinion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.ptx_watch import Access, Accesses, Ints, Lanes, Run, executing
from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.program import Instruction, IntImm
from prism_mlir.runtime.ptx.state import Mask, State

NEVER = np.iinfo(np.int64).max
_STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}


@dataclass(slots=True)
class _Event:
    """The accesses of one instruction to one memory, an entry a lane; ``group`` and ``landed_*`` are of a cp.async."""

    pc: int
    seq: int
    at: Ints
    width: int
    lane: Ints
    block: Ints
    thread: Ints
    epoch: Ints
    writes: bool
    atomic: bool
    group: Ints | None = None
    landed_seq: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    landed_epoch: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


class Trace:
    """Watches one launch; afterwards ``conflict()`` compares what it saw.

    Attributes:
        steps: instructions issued so far.
        unsupported: the first instruction that it does not understand, or "".
    """

    def __init__(self) -> None:
        self.unsupported = ""
        self._events: dict[str, list[_Event]] = {"shared": [], "global": []}
        self._texts: dict[int, str] = {}
        self._accesses = Accesses()
        self._st: State | None = None
        self.steps = 0

    def step(self, st: State, step: Step, mask: Mask, run: Run) -> None:
        if st is not self._st:
            self._begin(st)
        self.steps += 1
        i, lanes = step.site.instruction, executing(st, mask, step)
        if i.opcode in ("bar", "barrier"):
            self._barrier(i, lanes)
        elif i.opcode == "cp" and i.mods[1] in ("commit_group", "wait_group", "wait_all"):
            self._group(i, lanes)
        run()
        for access in self._accesses.take():
            self._note(st, step, access, lanes)

    def _begin(self, st: State) -> None:
        self._st = st
        self._accesses.attach(st)
        self._epoch = np.zeros(st.n, np.int64)
        self._groups = np.zeros(st.n, np.int64)
        self._flying: list[_Event] = []

    def _barrier(self, i: Instruction, lanes: Lanes) -> None:
        if "warp" in i.mods or "arrive" in i.mods or len(i.operands) > (3 if "red" in i.mods else 1):
            self.unsupported = self.unsupported or i.text
        self._epoch[lanes] += 1

    def _group(self, i: Instruction, lanes: Lanes) -> None:
        if i.mods[1] == "commit_group":
            self._groups[lanes] += 1
            return
        keep = i.operands[0].value if i.operands and isinstance(i.operands[0], IntImm) else None
        for e in self._flying:
            done = lanes[e.lane] & (e.landed_seq == NEVER)
            if keep is not None:
                done &= e.group < self._groups[e.lane] - keep
            e.landed_seq[done] = self.steps
            e.landed_epoch[done] = self._epoch[e.lane[done]]
        self._flying = [e for e in self._flying if (e.landed_seq == NEVER).any()]

    def _note(self, st: State, step: Step, access: Access, lanes: Lanes) -> None:
        i = step.site.instruction
        self._texts[step.site.pc] = f"line {i.location.line}: {i.text}"
        atomic = i.opcode in ("atom", "red") or not _STRONG.isdisjoint(i.mods)
        copy = access.writes and i.opcode == "cp"
        keep = np.flatnonzero(lanes[access.lane])
        if access.writes and not copy:
            keep = np.intersect1d(keep, _without_repeats(access, st.lane_block))
        lane = access.lane[keep]
        event = _Event(
            step.site.pc, self.steps, access.at[keep], access.width, lane, st.lane_block[lane] + st.first,
            st.lane_thread[lane], self._epoch[lane], access.writes, atomic,
        )  # fmt: skip
        if copy:
            event.group = self._groups[lane]
            event.landed_seq = np.full(lane.shape, NEVER)
            event.landed_epoch = np.full(lane.shape, NEVER)
            self._flying.append(event)
        self._events[access.space].append(event)

    def conflict(self) -> str:
        """Two accesses of threads of a block that nothing orders, or "" if there are none."""
        for space, events in self._events.items():
            if events:
                cells = _Cells(events)
                for pair in (cells.race(), cells.early()):
                    if pair is not None:
                        return f"{space} memory: {self._texts[pair[0]]}; {self._texts[pair[1]]}"
        return ""


def _without_repeats(store: Access, block: Ints) -> Ints:
    """Entries of a store without those that another thread of the block (``block``: of each lane) repeats, value and all."""
    assert store.raw is not None
    owner = block[store.lane]
    order = np.lexsort((store.lane, store.at, owner))
    raw = np.ascontiguousarray(store.raw).view(np.uint8).reshape(store.lane.size, -1)[order]
    at, owner = store.at[order], owner[order]
    repeated = (at[1:] == at[:-1]) & (owner[1:] == owner[:-1]) & (raw[1:] == raw[:-1]).all(axis=1)
    kept: Ints = np.sort(order[np.concatenate((~repeated, [True]))])
    return kept


class _Cells:
    """All events of one memory, an entry a cell; a cell is the largest piece that no access divides."""

    def __init__(self, events: list[_Event]) -> None:
        unit = int(np.bitwise_or.reduce([np.bitwise_or.reduce(e.at) | e.width for e in events]))
        self.bytes = unit & -unit
        rows = [row for e in events for row in self._rows(e)]
        names = ("block", "cell", "epoch", "thread", "seq", "writes", "atomic", "pc", "copy")
        self.column = {n: np.concatenate([r[k] for r in rows]) for k, n in enumerate(names)}
        self.copies = [np.concatenate(c) for c in zip(*self._copies(events), strict=True)]

    def _spread(self, e: _Event, *columns: Any) -> list[npt.NDArray[Any]]:
        count = e.width // self.bytes
        return [np.repeat(np.broadcast_to(c, e.lane.shape), count) for c in columns]

    def _cell(self, e: _Event) -> Ints:
        count = e.width // self.bytes
        cell: Ints = (e.at[:, None] // self.bytes + np.arange(count)).reshape(-1)
        return cell

    def _rows(self, e: _Event) -> Iterator[list[npt.NDArray[Any]]]:
        """The access itself; for a cp.async, also its landing. ``copy`` numbers copies by the instruction and lane."""
        copy = -1 if e.group is None else (e.seq << 20) + e.lane
        block, thread, copy = self._spread(e, e.block, e.thread, copy)
        fixed = self._spread(e, e.writes, e.atomic, e.pc)
        epoch, seq = self._spread(e, e.epoch, e.seq)
        yield [block, self._cell(e), epoch, thread, seq, *fixed, copy]
        if e.group is not None:
            epoch, seq = self._spread(e, e.landed_epoch, e.landed_seq)
            row = [block, self._cell(e), epoch, thread, seq, *fixed, copy]
            yield [column[seq != NEVER] for column in row]

    def _copies(self, events: list[_Event]) -> Iterator[list[npt.NDArray[Any]]]:
        empty = np.zeros(0, np.int64)
        yield [empty] * 9
        for e in events:
            if e.group is not None:
                columns = self._spread(
                    e, e.block, e.thread, e.epoch, e.landed_epoch, e.seq, e.landed_seq, e.pc, (e.seq << 20) + e.lane
                )
                yield [self._cell(e), *columns]

    def race(self) -> tuple[int, int] | None:
        """Two accesses of one epoch."""
        c = self.column
        order = np.lexsort((c["epoch"], c["cell"], c["block"]))
        block, cell, epoch = (c[n][order] for n in ("block", "cell", "epoch"))
        new = np.concatenate(([True], (block[1:] != block[:-1]) | (cell[1:] != cell[:-1]) | (epoch[1:] != epoch[:-1])))
        start, thread = np.flatnonzero(new), c["thread"][order]
        several = np.minimum.reduceat(thread, start) != np.maximum.reduceat(thread, start)
        written = np.logical_or.reduceat(c["writes"][order], start)
        atomic = np.logical_and.reduceat(c["atomic"][order], start)
        found = np.flatnonzero(several & written & ~atomic)
        if not found.size:
            return None
        group = order[start[found[0]] : [*start.tolist(), order.size][found[0] + 1]]
        first = group[np.flatnonzero(c["writes"][group])[0]]
        second = group[np.flatnonzero(c["thread"][group] != c["thread"][first])[0]]
        return int(c["pc"][first]), int(c["pc"][second])

    def early(self) -> tuple[int, int] | None:
        """An access to the destination of a copy between its issue and its landing."""
        c, (cell, block, thread, issued, landed, seq, landed_seq, pc, copy) = self.column, self.copies
        if not cell.size:
            return None
        key, mine = _key(c["block"], c["cell"]), _key(block, cell)
        order = np.argsort(key, kind="stable")
        low, high = (np.searchsorted(key[order], mine, side) for side in ("left", "right"))
        which = np.repeat(np.arange(cell.size), high - low)
        offset = np.arange(which.size) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
        other = order[np.repeat(low, high - low) + offset]
        same = c["thread"][other] == thread[which]
        between = np.where(
            same,
            (seq[which] < c["seq"][other]) & (c["seq"][other] < landed_seq[which]),
            (issued[which] < c["epoch"][other]) & (c["epoch"][other] < landed[which]),
        )
        found = np.flatnonzero(between & (c["copy"][other] != copy[which]))
        return (int(pc[which[found[0]]]), int(c["pc"][other[found[0]]])) if found.size else None


def _key(block: Ints, cell: Ints) -> Ints:
    """One number for a block's cell; addresses have fewer than 2**47 bits."""
    return block * (1 << 47) + cell
