"""The second thread of a conflict between blocks.

Shadows of global memory remember blocks, not threads. When two blocks conflict, the other one runs once more, alone and without
checks, until a thread of it comes to the cell: that thread and its instruction go into the report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_mlir.runtime.ptx.checks.cross_block import BlockShadow, Conflict, Index
from prism_mlir.runtime.ptx.checks.report import Site
from prism_mlir.runtime.ptx.errors import CheckError, PtxError
from prism_mlir.runtime.ptx.state import State

BLOCKS = 4096  # of several that are concerned, how many are asked


class _Seen(Exception):
    """A thread has come to the cell."""

    def __init__(self, thread: tuple[tuple[int, int, int], tuple[int, int, int]], site: Site) -> None:
        self.thread, self.site = thread, site


class _Witness(BlockShadow):
    """Stands for the shadow of the buffer, and waits for another block's access to the cell."""

    def __init__(self, conflict: Conflict) -> None:
        super().__init__(conflict.buffer, conflict.cell_bytes, poisoned=False)
        self.conflict = conflict

    def read(self, st: State, site: Site, cell: Index, lane: Index | None, strong: bool) -> None:
        if not self.conflict.wrote and not strong:
            self._look(st, site, cell, lane)

    def write(self, st: State, site: Site, cell: Index, lane: Index | None, strong: bool) -> None:
        if self.conflict.wrote:
            self._look(st, site, cell, lane)

    def _look(self, st: State, site: Site, cell: Index, lane: Index | None) -> None:
        found = np.flatnonzero((cell == self.conflict.cell) & (self._blocks(st, lane) != self.conflict.block + 1))
        if found.size:
            i = int(found[0])
            raise _Seen(st.thread_name(i if lane is None else int(lane[i])), site)


@dataclass(frozen=True, slots=True)
class Rerun:
    """How to run blocks ``first`` to ``first + count - 1`` again; ``total`` are in the grid."""

    total: int
    run: Callable[[int, int], None]
    together: int


def with_witness(error: CheckError, conflict: Conflict, again: Rerun) -> CheckError:
    """The error with the second thread; as it was where no thread comes by alone (addresses may depend on other blocks)."""
    conflict.buffer.shadow = _Witness(conflict)
    first, last = (conflict.owner, conflict.owner) if conflict.owner is not None else (0, min(again.total, BLOCKS) - 1)
    try:
        for at in range(first, last + 1, again.together):
            again.run(at, min(again.together, last + 1 - at))
    except _Seen as seen:
        site = seen.site
        what = f"{error.headline} (at line {site.location.line}: {site.instruction.text})"
        return error.completed(what, (*error.threads, seen.thread))
    except PtxError:
        pass  # alone it waits for others, or traps
    return error
