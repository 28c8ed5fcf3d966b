"""Shared-memory races, and reads of shared memory that nothing wrote.

A cell is the narrowest access that the kernel makes to shared memory, so that every access covers whole cells. A cell remembers
its last writer (``w``) and two readers (``r1``, the latest, and ``r2``, one of another thread, of another warp if there is any),
each as a stamp ``time << 32 | pc << 11 | atomic << 10 | thread``. Two readers suffice: when a cell has been read by two
threads since the last barrier, one of the two is not the writer.

Time advances at every synchronisation. ``SyncClock.known[block, w1, w2]`` is the time before which everything warp ``w2`` did
happens before whatever warp ``w1`` does now: a block barrier sets all of it, a warp barrier its diagonal, a named barrier
of some warps joins their rows. Two accesses of different threads are ordered when the earlier one's time is below that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.state import State
from prism_mlir.runtime.ptx.types import Array

TIME_SHIFT = 32
PC_SHIFT = 11
ATOMIC = 1 << 10
THREAD = ATOMIC - 1
Index = npt.NDArray[np.int64]
Kept = Callable[[Index], npt.NDArray[np.bool_]]


class SyncClock:
    """The time of the batch, and what each warp knows of the others."""

    def __init__(self, st: State) -> None:
        w = st.warps_per_block
        self.time = 1
        self.known = np.zeros((st.blocks, w, w), dtype=np.int64)
        self.floor = 0
        self._threads = st.lane_thread
        self.stamps = self._threads + (1 << TIME_SHIFT)

    def tick(self) -> int:
        self.time += 1
        self.stamps = self._threads + (self.time << TIME_SHIFT)
        return self.time

    @property
    def floor_stamp(self) -> int:
        """Stamps below this are ordered before everything that any lane does now."""
        return self.floor << TIME_SHIFT

    def block_barrier(self, blocks: npt.NDArray[np.intp] | None) -> None:
        """All threads of ``blocks`` (None: of every block) have met."""
        self.tick()
        if blocks is None:
            self.known[:] = self.time
            self.floor = self.time
        else:
            self.known[blocks] = self.time
            self.floor = int(self.known.min())

    def warp_barrier(self, blocks: npt.NDArray[np.int64], warps: npt.NDArray[np.int64]) -> None:
        """The threads of each named warp have met one another."""
        self.tick()
        self.known[blocks, warps, warps] = self.time

    def named_barrier(self, block: int, waiting: npt.NDArray[np.int64], arrived: dict[int, int]) -> None:
        """Some warps of one block have met: those that wait know what any of them knew, and what each did before it came.

        ``arrived``: warps that only arrived and went on, with the time when they did.
        """
        self.tick()
        every = np.union1d(waiting, np.array(list(arrived), dtype=np.int64)).astype(np.int64)
        rows = self.known[block, every].max(axis=0)
        rows[waiting] = self.time
        for warp, time in arrived.items():
            rows[warp] = max(int(rows[warp]), time)
        self.known[block, waiting] = np.maximum(self.known[block, waiting], rows)

    def unordered(self, st: State, stamps: Index, lanes: Index) -> npt.NDArray[np.bool_]:
        """Which of the earlier accesses ``stamps`` are concurrent with lanes ``lanes`` now."""
        thread = stamps & THREAD
        known = self.known[st.lane_block[lanes], st.lane_warp[lanes], thread // 32]
        free: npt.NDArray[np.bool_] = (
            (thread != st.lane_thread[lanes]) & ((stamps >> TIME_SHIFT) >= known) & (stamps > 0)
        )
        return free


class SharedShadow:
    """Shadow of the shared memory of a batch; ``pending`` cells (cp.async in flight) have a negative writer stamp."""

    def __init__(self, cells: int, sites: tuple[Site, ...]) -> None:
        self.w = np.zeros(cells, dtype=np.int64)
        self.r1 = np.zeros(cells, dtype=np.int64)
        self.r2 = np.zeros(cells, dtype=np.int64)
        self.sites = sites

    # ``cell`` and ``lane`` have one shape; ``name`` turns a cell's position in them into "buffer+offset".

    def read(self, st: State, site: Site, cell: Index, lane: Index | None, atomic: bool = False) -> None:
        """A load of ``cell[i]`` by ``lane[i]`` (None: lane i)."""
        w = self.w.take(cell, mode="wrap")
        if int(w.min()) <= 0:
            self._not_ready(st, site, w, cell, lane, writing=False)
        if not st.checks.race:
            return
        if int(w.max()) >= st.clock.floor_stamp:
            self._race(st, site, w, cell, lane, atomic, "reads", "wrote")
        self._remember_reader(st, site, cell, lane, atomic)

    def write(
        self, st: State, site: Site, cell: Index, lane: Index | None, atomic: bool = False, kept: Kept | None = None
    ) -> None:
        """A store to ``cell[i]`` by ``lane[i]``; ``kept`` tells whether memory now holds what the access ``i`` wrote.

        Threads of a block may store one value to one place in one instruction: which of them does it makes no difference, and
        compilers write what several threads hold so. As their stores are not ordered, a later access still races with each.
        """
        self.check_write(st, site, cell, lane, atomic)
        stamp = self._stamp(st, site, lane, atomic)
        self.w[cell] = stamp
        if st.checks.race and not atomic:
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

    def _remember_reader(self, st: State, site: Site, cell: Index, lane: Index | None, atomic: bool) -> None:
        stamp = self._stamp(st, site, lane, atomic)
        old = self.r1.take(cell, mode="wrap")
        self.r1[cell] = stamp
        seen = self.r1.take(cell, mode="wrap")
        fresh = int(old.max()) >= st.clock.floor_stamp
        lost = seen != stamp
        if not fresh and not lost.any():
            return
        candidates = [(stamp[lost], seen[lost], cell[lost])]
        if fresh:
            older = self.r2.take(cell, mode="wrap")
            candidates = [(older, seen, cell), (old, seen, cell), *candidates]
        floor = st.clock.floor_stamp
        for other_warp in (False, True):
            for reader, winner, where in candidates:
                a, b = reader & THREAD, winner & THREAD
                pick = (reader >= floor) & (a != b) & ((a // 32 != b // 32) == other_warp)
                if pick.any():
                    self.r2[where[pick]] = reader[pick]

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
        lanes = np.arange(cell.shape[0]) if lane is None else lane
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
            hint="put a bar.sync between the two accesses",
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
    def _lane(lane: Index | None, i: int) -> int:
        return i if lane is None else int(lane[i])

    @classmethod
    def _lane_of(cls, st: State, lane: Index | None, i: int, thread: int) -> int:
        """The lane of ``thread`` in the block of access ``i``."""
        return int(st.lane_block[cls._lane(lane, i)]) * st.padded + thread


def expand(index: Array, cells: int) -> Array:
    """First cells of each access to all of its cells, flattened, access-major."""
    return index if cells == 1 else (index[:, None] + np.arange(cells)).reshape(-1)
