"""Conflicts between blocks in global memory, and reads of output buffers that nothing wrote.

Blocks of one launch run in any order, so a cell that two blocks write, or that one writes and another one reads, has no defined
value unless the accesses are atomic (or volatile, relaxed, acquire, release). A cell is the narrowest access that the kernel
makes to the buffer. Each cell remembers who wrote it and who read it: 0 nobody, b + 1 block b, MANY several blocks.
Atomic writers are remembered with the ATOMIC bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.errors import CheckError
from prism_mlir.runtime.ptx.state import State, unflatten

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.memory import Buffer

MANY = (1 << 30) - 1
ATOMIC = 1 << 30
MAX_BLOCKS = MANY - 1
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Conflict:
    """What ``witness`` needs to find the other thread of a conflict.

    Attributes:
        cell: index of the cell of ``cell_bytes`` bytes in the buffer.
        block: linear index of the block that is reported.
        owner: linear index of the other block, None for one of several.
        wrote: whether the other one wrote; else it read.
    """

    buffer: Buffer
    cell_bytes: int
    cell: int
    block: int
    owner: int | None
    wrote: bool


class BlockConflict(Exception):
    """Two blocks conflict; the launch turns it into the error, with the other thread."""

    def __init__(self, error: CheckError, conflict: Conflict) -> None:
        self.error, self.conflict = error, conflict


class BlockShadow:
    """Shadow of one global buffer for a whole launch. ``poisoned``: its content starts uninitialised."""

    def __init__(self, buffer: Buffer, cell_bytes: int, poisoned: bool) -> None:
        cells = -(-buffer.size // cell_bytes)
        self.buffer = buffer
        self.cell_bytes = cell_bytes
        self.poisoned = poisoned
        self.writer = np.zeros(cells, dtype=np.int32)
        self.reader = np.zeros(cells, dtype=np.int32)

    def read(self, st: State, site: Site, cell: Index, lane: Index | None, strong: bool) -> None:
        """A load of ``cell[i]`` by ``lane[i]`` (None: lane i)."""
        writer = self.writer.take(cell, mode="wrap")
        if self.poisoned and st.checks.uninitialised and not writer.all():
            self._uninitialised(st, site, writer, cell, lane)
        if not st.checks.cross_block or strong:
            return
        block = self._blocks(st, lane)
        self._conflict(st, site, (writer != 0) & ((writer & MANY) != block), writer, cell, lane, "reads", "wrote")
        old = self.reader.take(cell, mode="wrap")
        new = np.where((old == 0) | (old == block), block, MANY)
        self.reader[cell] = new
        lost = self.reader.take(cell, mode="wrap") != new
        if lost.any():
            self.reader[cell[lost]] = MANY

    def write(self, st: State, site: Site, cell: Index, lane: Index | None, strong: bool) -> None:
        """A store to ``cell[i]`` by ``lane[i]``; ``strong`` ones (atomics and their like) do not conflict with each other."""
        block = self._blocks(st, lane)
        if not st.checks.cross_block:
            self.writer[cell] = block
            return
        writer = self.writer.take(cell, mode="wrap")
        other = (writer != 0) & ((writer & MANY) != block)
        if strong:
            other &= (writer & ATOMIC) == 0
        self._conflict(st, site, other, writer, cell, lane, "writes", "wrote")
        reader = self.reader.take(cell, mode="wrap")
        self._conflict(st, site, (reader != 0) & (reader != block), reader, cell, lane, "writes", "read")
        if strong:
            self._mark_strong(cell, writer, block)
            return
        self.writer[cell] = block
        seen = self.writer.take(cell, mode="wrap")
        self._conflict(st, site, seen != block, seen, cell, lane, "writes", "wrote")

    def _mark_strong(self, cell: Index, writer: npt.NDArray[np.int32], block: npt.NDArray[np.int32]) -> None:
        mine = (writer == 0) | ((writer & MANY) == block)
        new = np.where(mine, block, MANY) | ATOMIC
        self.writer[cell] = new
        lost = self.writer.take(cell, mode="wrap") != new
        if lost.any():
            self.writer[cell[lost]] = MANY | ATOMIC

    @staticmethod
    def _blocks(st: State, lane: Index | None) -> npt.NDArray[np.int32]:
        return st.lane_gblock if lane is None else st.lane_gblock[lane]

    def _name(self, cell: int) -> str:
        return f"{self.buffer.name}+{cell * self.cell_bytes}"

    def _uninitialised(
        self, st: State, site: Site, writer: npt.NDArray[np.int32], cell: Index, lane: Index | None
    ) -> None:
        bad = np.flatnonzero(writer == 0)
        i = int(bad[0])
        raise report(
            st,
            "uninitialised",
            site,
            f"'{self.buffer.name}' is an output whose content starts undefined, and nothing has written what is read here",
            lanes=[i if lane is None else int(lane[i])],
            address=self._name(int(cell[i])),
            total=int(bad.size),
            hint="write the element first, or do not declare the buffer an output",
        )

    def _conflict(
        self,
        st: State,
        site: Site,
        bad: npt.NDArray[np.bool_],
        who: npt.NDArray[np.int32],
        cell: Index,
        lane: Index | None,
        now: str,
        then: str,
    ) -> None:
        if not bad.any():
            return
        i = int(np.flatnonzero(bad)[0])
        owner = int(who[i]) & MANY
        at = i if lane is None else int(lane[i])
        other = "several other blocks" if owner == MANY else f"block {unflatten(owner - 1, st.grid)}"
        error = report(
            st,
            "cross_block",
            site,
            f"this block {now} global memory that {other} of the same launch {then}",
            lanes=[at],
            address=self._name(int(cell[i])),
            total=int(np.count_nonzero(bad)),
            hint="give each block its own elements, use atom/red (and read with ld.relaxed or ld.volatile), or split the "
            "kernel in two",
        )
        one = None if owner == MANY else owner - 1
        block = int(st.lane_gblock[at]) - 1
        raise BlockConflict(error, Conflict(self.buffer, self.cell_bytes, int(cell[i]), block, one, then == "wrote"))
