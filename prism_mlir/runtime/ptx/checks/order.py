"""Which accesses of the threads of a block are ordered: what happens before what.

Time advances at every synchronisation. ``known[block, w1, w2]`` is the time before which everything warp ``w2`` did happens
before whatever warp ``w1`` does now: a block barrier sets all of it, a warp barrier its diagonal, a named barrier of some
warps joins their rows. Two accesses of different threads are ordered when the earlier one's time is below that.

Where threads of one warp synchronise apart, ``fine[block, t1, t2]`` says the same for pairs of threads. It is made when it is
first needed: by a ``bar.warp.sync`` of a part of a warp, by an ``mbarrier``, and by release and acquire.

Release and acquire (PTX ISA, "Release and Acquire Patterns"): a strong write that releases, or that follows a fence, leaves at
its place what its thread knows; a strong read that acquires, or that a fence follows, learns it. A read-modify-write hands on
what it found; any other strong write without release replaces it by nothing. A fence alone orders nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.errors import RuntimeLimit
from prism_mlir.runtime.ptx.state import WARP, State

TIME_SHIFT = 32
THREAD = (1 << 10) - 1
RELEASED = 1 << 28  # bytes that may be remembered of what threads have released
Index = npt.NDArray[np.int64]


class Order(IntFlag):
    """How strong a memory access is: weak ones take no part in synchronisation."""

    WEAK = 0
    STRONG = 1
    ACQUIRE = 2
    RELEASE = 4
    RMW = 8


class SyncClock:
    """The time of a batch, and what each warp, and where necessary each thread, knows of the others."""

    def __init__(self, st: State) -> None:
        w = st.warps_per_block
        self.time = 1
        self.known = np.zeros((st.blocks, w, w), dtype=np.int64)
        self.fine: Index | None = None
        self.floor = 0
        self._padded = st.padded
        self._threads = st.lane_thread
        self.stamps = self._threads + (1 << TIME_SHIFT)
        self._released: dict[int, Index] = {}
        self._seen: dict[int, Index] = {}
        self._fenced: Index | None = None
        self._most = RELEASED // (8 * st.padded)

    def tick(self) -> int:
        self.time += 1
        self.stamps = self._threads + (self.time << TIME_SHIFT)
        return self.time

    @property
    def floor_stamp(self) -> int:
        """Stamps below this are ordered before everything that any lane does now."""
        return self.floor << TIME_SHIFT

    def unordered(self, st: State, stamps: Index, lanes: Index) -> npt.NDArray[np.bool_]:
        """Which of the earlier accesses ``stamps`` are concurrent with lanes ``lanes`` now."""
        other, own, block = stamps & THREAD, st.lane_thread[lanes], st.lane_block[lanes]
        time = stamps >> TIME_SHIFT
        free: npt.NDArray[np.bool_] = (
            (other != own) & (time >= self.known[block, own // WARP, other // WARP]) & (stamps > 0)
        )
        if self.fine is not None and free.any():
            free &= time >= self.fine[block, own, other]
        return free

    # -- barriers -------------------------------------------------------------------------------------------------

    def block_barrier(self, blocks: npt.NDArray[np.intp] | None) -> None:
        """All threads of ``blocks`` (None: of every block) have met."""
        self.tick()
        if blocks is None:
            self.known[:] = self.time
            self.floor = self.time
        else:
            self.known[blocks] = self.time
            self.floor = int(self.known.min())

    def warp_barrier(self, blocks: Index, warps: Index) -> None:
        """The threads of each named warp have met one another."""
        self.tick()
        self.known[blocks, warps, warps] = self.time
        if self.fine is not None:
            for block, warp in zip(blocks.tolist(), warps.tolist(), strict=True):
                rows = self.fine[block, warp * WARP : (warp + 1) * WARP]
                rows[:] = rows.max(axis=0)

    def meet(self, block: int, threads: Index) -> None:
        """Some threads of one warp have met."""
        self.tick()
        fine = self._fine()
        row = fine[block, threads].max(axis=0)
        row[threads] = self.time
        fine[block, threads] = row

    def named_barrier(self, block: int, waiting: Index, arrived: dict[int, int]) -> None:
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
        if self.fine is not None:
            knowing, learning = (self._threads_of(warps) for warps in (every, waiting))
            row = self.fine[block, knowing].max(axis=0)
            self.fine[block, learning] = np.maximum(self.fine[block, learning], row)

    @staticmethod
    def _threads_of(warps: Index) -> Index:
        return (warps[:, None] * WARP + np.arange(WARP)).reshape(-1)

    # -- single threads -------------------------------------------------------------------------------------------

    def _fine(self) -> Index:
        if self.fine is None:
            self.fine = np.zeros((self.known.shape[0], self._padded, self._padded), dtype=np.int64)
        return self.fine

    def knowledge(self, lane: int, until: int | None = None) -> Index:
        """What happens before whatever ``lane`` does now, thread by thread; of itself, what it did before time ``until``."""
        block, thread = divmod(lane, self._padded)
        row = np.repeat(self.known[block, thread // WARP], WARP)
        if self.fine is not None:
            row = np.maximum(row, self.fine[block, thread])
        row[thread] = self.time if until is None else until
        return row

    def learn(self, lane: int, row: Index) -> None:
        """From now on ``lane`` knows ``row``, too."""
        block, thread = divmod(lane, self._padded)
        fine = self._fine()
        fine[block, thread] = np.maximum(fine[block, thread], row)

    # -- release and acquire --------------------------------------------------------------------------------------

    def publish(self, cells: Index, lanes: Index, order: Order) -> None:
        """Strong writes of ``lanes`` to ``cells`` of shared memory."""
        if not order & Order.RELEASE and self._fenced is None and not self._released:
            return
        if order & Order.RELEASE:
            self.tick()
        for cell, lane in zip(cells.tolist(), lanes.tolist(), strict=True):
            row = self._released.pop(cell, None) if order & Order.RMW else None
            fenced = 0 if self._fenced is None else int(self._fenced[lane])
            if order & Order.RELEASE or fenced:
                own = self.knowledge(lane, None if order & Order.RELEASE else fenced)
                row = own if row is None else np.maximum(row, own)
            if row is not None:
                self._released[cell] = row
                if len(self._released) > self._most:
                    raise RuntimeLimit(
                        f"what threads have released in {self._most} places takes {RELEASED} bytes;"
                        " release in fewer places, or switch the race check off"
                    )
            else:
                self._released.pop(cell, None)

    def observe(self, cells: Index, lanes: Index, order: Order) -> None:
        """Strong reads of ``cells`` by ``lanes``."""
        if not self._released:
            return
        for cell, lane in zip(cells.tolist(), lanes.tolist(), strict=True):
            row = self._released.get(cell)
            if row is None:
                continue
            if order & Order.ACQUIRE:
                self.learn(lane, row)
            else:
                old = self._seen.get(lane)
                self._seen[lane] = row if old is None else np.maximum(old, row)

    def fence(self, lanes: Index) -> None:
        """``lanes`` execute a fence: what they have seen is acquired, and what they write from now on releases."""
        self.tick()
        if self._fenced is None:
            self._fenced = np.zeros(self._threads.shape[0], dtype=np.int64)
        self._fenced[lanes] = self.time
        for lane in self._present(lanes):
            self.learn(lane, self._seen.pop(lane))

    def _present(self, lanes: Index) -> Iterable[int]:
        return set(self._seen) & set(lanes.tolist()) if self._seen else ()
