"""Shared-memory races, and reads of shared memory that nothing wrote.

A cell is the narrowest access that the kernel makes to shared memory, so that every access covers whole cells. A cell remembers
its last writer (``w``) and two readers (``r1``, the latest, and ``r2``, one of another thread, of another warp if there is any),
each as a stamp ``time << 32 | pc << 11 | atomic << 10 | thread``. Two readers suffice: when a cell has been read by two
threads since the last barrier, one of the two is not the writer. Atomic writes do not race with each other, so of these, too,
two are remembered: ``w`` and ``w2``. Which accesses are ordered, ``order`` knows. (Where more than two warps synchronise in
pairs, a third reader may be forgotten.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.checks.order import THREAD, Order
from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.state import State
from prism_mlir.runtime.ptx.types import Array

PC_SHIFT = 11
ATOMIC = 1 << 10
Index = npt.NDArray[np.int64]
Kept = Callable[[Index], npt.NDArray[np.bool_]]


class SharedShadow:
    """Shadow of the shared memory of a batch; ``pending`` cells (cp.async in flight) have a negative writer stamp."""

    def __init__(self, cells: int, sites: tuple[Site, ...]) -> None:
        self.w = np.zeros(cells, dtype=np.int64)
        self.r1 = np.zeros(cells, dtype=np.int64)
        self.r2 = np.zeros(cells, dtype=np.int64)
        self.w2: Index | None = None
        self.mixed = False  # whether there have been strong reads
        self.sites = sites

    # ``cell`` and ``lane`` have one shape; ``name`` turns a cell's position in them into "buffer+offset".

    def read(self, st: State, site: Site, cell: Index, lane: Index | None, order: Order = Order.WEAK) -> None:
        """A load of ``cell[i]`` by ``lane[i]`` (None: lane i)."""
        w = self.w.take(cell, mode="wrap")
        if int(w.min()) <= 0:
            self._not_ready(st, site, w, cell, lane, writing=False)
        if not st.checks.race:
            return
        if int(w.max()) >= st.clock.floor_stamp:
            self._race(st, site, w, cell, lane, bool(order), "reads", "wrote")
        if self.w2 is not None:
            self._race(st, site, self.w2.take(cell, mode="wrap"), cell, lane, bool(order), "reads", "wrote")
        self.mixed |= bool(order)
        self._remember_reader(st, site, cell, lane, bool(order))
        if order:
            st.clock.observe(cell, self._lanes(cell, lane), order)

    def write(
        self,
        st: State,
        site: Site,
        cell: Index,
        lane: Index | None,
        order: Order = Order.WEAK,
        kept: Kept | None = None,
    ) -> None:
        """A store to ``cell[i]`` by ``lane[i]``; ``kept`` tells whether memory now holds what the access ``i`` wrote.

        Threads of a block may store one value to one place in one instruction: which of them does it makes no difference, and
        compilers write what several threads hold so. As their stores are not ordered, a later access still races with each.
        """
        self.check_write(st, site, cell, lane, bool(order))
        stamp = self._stamp(st, site, lane, bool(order))
        old = self.w.take(cell, mode="wrap") if order else stamp
        self.w[cell] = stamp
        if not st.checks.race:
            return
        if order:
            self._remember_writers(st, cell, old, stamp)
            st.clock.publish(cell, self._lanes(cell, lane), order)
        else:
            self._double_write(st, site, cell, lane, stamp, kept)

    def check_write(self, st: State, site: Site, cell: Index, lane: Index | None, atomic: bool = False) -> None:
        """The checks of a store, without recording it (a cp.async is recorded when it lands)."""
        w = self.w.take(cell, mode="wrap")
        if int(w.min()) < 0:
            self._not_ready(st, site, w, cell, lane, writing=True)
        if not st.checks.race:
            return
        floor = st.clock.floor_stamp
        if int(w.max()) >= floor:
            self._race(st, site, w, cell, lane, atomic, "writes", "wrote")
        if self.w2 is not None:
            self._race(st, site, self.w2.take(cell, mode="wrap"), cell, lane, atomic, "writes", "wrote")
        r1 = self.r1.take(cell, mode="wrap")
        if int(r1.max()) >= floor:
            self._race(st, site, r1, cell, lane, atomic, "writes", "read")
            self._race(st, site, self.r2.take(cell, mode="wrap"), cell, lane, atomic, "writes", "read")

    def issue(self, st: State, site: Site, cell: Index, lane: Index | None) -> None:
        """A cp.async to ``cell`` starts: check it as a store and mark the cells as pending."""
        self.check_write(st, site, cell, lane)
        stamp = self._stamp(st, site, lane, False)
        mark = -stamp if st.checks.async_copy else stamp
        self.w[cell] = mark
        if st.checks.race:
            self._double_write(st, site, cell, lane, mark, None)

    def land(self, st: State, site: Site, cell: Index, lane: Index | None) -> None:
        """The issuing threads have waited: the copy is an ordinary store of theirs, made now."""
        self.w[cell] = self._stamp(st, site, lane, False)

    # -- slow paths -----------------------------------------------------------------------------------------------

    @staticmethod
    def _stamp(st: State, site: Site, lane: Index | None, atomic: bool) -> Index:
        stamps = st.clock.stamps if lane is None else st.clock.stamps[lane]
        return stamps + ((site.pc << PC_SHIFT) | (ATOMIC if atomic else 0))

    def _remember_writers(self, st: State, cell: Index, old: Index, stamp: Index) -> None:
        """Keep a writer that strong writes replace, or that loses against another one in the same instruction: if it is
        another thread, or if it was a weak write, which races with the strong ones of other threads.
        """
        winner = self.w.take(cell, mode="wrap")
        for earlier in (old, stamp):
            other = (earlier >= st.clock.floor_stamp) & (
                ((earlier & THREAD) != (winner & THREAD)) | ((earlier & ATOMIC) == 0)
            )
            if other.any():
                if self.w2 is None:
                    self.w2 = np.zeros_like(self.w)
                self.w2[cell[other]] = earlier[other]

    def _remember_reader(self, st: State, site: Site, cell: Index, lane: Index | None, atomic: bool) -> None:
        stamp = self._stamp(st, site, lane, atomic)
        old = self.r1.take(cell, mode="wrap")
        self.r1[cell] = stamp
        seen = self.r1.take(cell, mode="wrap")
        fresh = int(old.max()) >= st.clock.floor_stamp
        lost = seen != stamp
        if not fresh and not lost.any():
            return
        if atomic and fresh:
            self._remember_weak_read(st, cell, old, seen)
        candidates = [(stamp[lost], seen[lost], cell[lost])]
        if fresh:
            older = self.r2.take(cell, mode="wrap")
            candidates = [(older, seen, cell), (old, seen, cell), *candidates]
        floor = st.clock.floor_stamp
        # The most useful one comes last: a weak one, since it races with strong writes, too, and one of another warp.
        for strength in (ATOMIC, 0) if self.mixed else (None,):
            for other_warp in (False, True):
                for reader, winner, where in candidates:
                    a, b = reader & THREAD, winner & THREAD
                    pick = (reader >= floor) & (a != b) & ((a // 32 != b // 32) == other_warp)
                    if strength is not None:
                        pick &= (reader & ATOMIC) == strength
                    if pick.any():
                        self.r2[where[pick]] = reader[pick]

    def _remember_weak_read(self, st: State, cell: Index, old: Index, seen: Index) -> None:
        """A strong read of the same thread follows a weak one, which races with the strong writes of other threads."""
        floor = st.clock.floor_stamp
        weak = (old >= floor) & ((old & ATOMIC) == 0) & ((old & THREAD) == (seen & THREAD))
        weak &= self.r2.take(cell, mode="wrap") < floor
        self.r2[cell[weak]] = old[weak]

    def _not_ready(self, st: State, site: Site, w: Index, cell: Index, lane: Index | None, writing: bool) -> None:
        pending = np.flatnonzero(w < 0)
        if pending.size and st.checks.async_copy:
            i = int(pending[0])
            issuer = self._lane_of(st, lane, i, int(-w[i]) & THREAD)
            source = self.sites[(int(-w[i]) >> PC_SHIFT) & 0x1FFFFF]
            what = "overwritten" if writing else "read"
            raise report(
                st,
                "async_copy",
                site,
                f"the destination of a cp.async is {what} before the issuing thread waited for the copy"
                f" (issued at line {source.location.line}: {source.instruction.text})",
                lanes=[self._lane(lane, i), issuer],
                address=st.shared.name_cell(int(cell[i])),
                total=int(pending.size),
                hint="wait with cp.async.wait_group (a smaller count) or cp.async.wait_all, then bar.sync, before this access",
            )
        empty = np.flatnonzero(w == 0)
        if empty.size and st.checks.uninitialised and not writing:
            i = int(empty[0])
            raise report(
                st,
                "uninitialised",
                site,
                "shared memory that nothing has written is read",
                lanes=[self._lane(lane, i)],
                address=st.shared.name_cell(int(cell[i])),
                total=int(empty.size),
                hint="write every byte before it is read, or mask the lanes that read past the data",
            )

    def _race(
        self, st: State, site: Site, stamps: Index, cell: Index, lane: Index | None, atomic: bool, now: str, then: str
    ) -> None:
        lanes = self._lanes(cell, lane)
        bad = st.clock.unordered(st, stamps, lanes)
        if atomic:
            bad &= (stamps & ATOMIC) == 0
        found = np.flatnonzero(bad)
        if not found.size:
            return
        i = int(found[0])
        stamp = int(stamps[i])
        other = self.sites[(stamp >> PC_SHIFT) & 0x1FFFFF]
        then = "wrote" if other.instruction.opcode == "st" else then  # see _double_write
        raise report(
            st,
            "race",
            site,
            f"the first thread {now} shared memory that the second one {then} with no barrier between"
            f" (at line {other.location.line}: {other.instruction.text})",
            lanes=[int(lanes[i]), self._lane_of(st, lane, i, stamp & THREAD)],
            address=st.shared.name_cell(int(cell[i])),
            total=2 if found.size == 1 else int(found.size),
            hint="put a bar.sync between the two accesses (or bar.warp.sync in one warp, or release and acquire)",
        )

    def _double_write(
        self, st: State, site: Site, cell: Index, lane: Index | None, stamp: Index, kept: Kept | None
    ) -> None:
        winners = self.w.take(cell, mode="wrap")
        lost = np.flatnonzero(winners != stamp)
        if lost.size and kept is not None:
            same = kept(lost)
            alike, lost = lost[same], lost[~same]
            alike = alike[(winners[alike] & THREAD) // 32 != (stamp[alike] & THREAD) // 32]
            if alike.size:  # like a read, each of them conflicts with a store from now on, and with nothing else
                self._remember_reader(st, site, cell[alike], alike if lane is None else lane[alike], False)
        if not lost.size:
            return
        i = int(lost[0])
        winner = abs(int(self.w[cell[i]]))
        raise report(
            st,
            "race",
            site,
            "two threads write one shared-memory cell in the same instruction",
            lanes=[self._lane(lane, i), self._lane_of(st, lane, i, winner & THREAD)],
            address=st.shared.name_cell(int(cell[i])),
            hint="let one thread write, with a predicate",
        )

    @staticmethod
    def _lanes(cell: Index, lane: Index | None) -> Index:
        return np.arange(cell.shape[0]) if lane is None else lane

    @staticmethod
    def _lane(lane: Index | None, i: int) -> int:
        return i if lane is None else int(lane[i])

    @classmethod
    def _lane_of(cls, st: State, lane: Index | None, i: int, thread: int) -> int:
        """The lane of ``thread`` in the block of access ``i``."""
        return int(st.lane_block[cls._lane(lane, i)]) * st.padded + thread


def expand(index: Array, cells: int) -> Array:
    """First cells of each access to all of its cells, flattened, access-major."""
    return index if cells == 1 else (index[:, None] + np.arange(cells)).reshape(-1)
