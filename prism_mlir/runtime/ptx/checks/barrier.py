"""Barriers: who has arrived, when a barrier is complete, and what is wrong when it never will be.

A barrier without a count waits for every live thread of its block; threads that have exited do not count. With a
count it waits for that
many threads, counted in whole warps. Threads of one warp must arrive at an aligned barrier by the same instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.errors import CheckError
from prism_mlir.runtime.ptx.state import WARP, State
from prism_mlir.runtime.ptx.table import Control

Lanes = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Arrival:
    """Threads that stand at one barrier instruction, and where they go on.

    ``time``: what a thread did before this is ordered before the barrier (one that only arrives goes on in the meantime).
    """

    site: Site
    control: Control
    resume: int
    lanes: Lanes
    number: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64] | None
    time: npt.NDArray[np.int64]


class Barriers:
    """All barriers of a batch that some threads have reached and that are not complete."""

    def __init__(self, st: State) -> None:
        self.waiting: list[Arrival] = []
        self.arrived: dict[tuple[int, int], Lanes] = {}
        self._n = st.n

    def arrive(self, st: State, site: Site, control: Control, resume: int, lanes: Lanes) -> None:
        """Threads ``lanes`` reach a barrier."""
        number = st.spread(st.regs[control.slot]).astype(np.int64)
        count = None if control.count is None else st.spread(st.regs[control.count]).astype(np.int64)
        time = st.clock.tick() if control.mode == "arrive" else st.clock.time + 1
        for arrival in self.waiting:
            if arrival.site.pc == site.pc and not (arrival.lanes & lanes).any():
                arrival.time[lanes] = time
                arrival.lanes |= lanes
                arrival.number = np.where(lanes, number, arrival.number)
                if count is not None and arrival.count is not None:
                    arrival.count = np.where(lanes, count, arrival.count)
                return
        times = np.full(self._n, time, dtype=np.int64)
        self.waiting.append(Arrival(site, control, resume, lanes.copy(), number, count, times))

    def release(self, st: State) -> list[tuple[int, Lanes]]:
        """Complete what can be completed; returns (where to go on, threads)."""
        if len(self.waiting) == 1 and self._is_plain(self.waiting[0]):
            return self._release_together(st, self.waiting[0])
        released: list[tuple[int, Lanes]] = []
        for key in sorted(self._open(st)):
            block, number = key
            inside = st.lane_block == block
            parts = [(a, a.lanes & inside & (a.number == number)) for a in self.waiting]
            parts = [(a, lanes) for a, lanes in parts if lanes.any()]
            met = np.zeros(self._n, dtype=np.bool_)
            for _, lanes in parts:
                met |= lanes
            if not self._complete(st, block, met, parts):
                continue
            self._check_aligned(st, parts)
            self._pass(st, block, met, parts, released)
        self.waiting = [a for a in self.waiting if a.lanes.any()]
        return released

    @staticmethod
    def _is_plain(a: Arrival) -> bool:
        """One barrier of whole blocks, of one number."""
        if a.count is not None or a.control.mode != "sync":
            return False
        numbers = a.number[a.lanes]
        return bool((numbers == numbers[0]).all())

    def _release_together(self, st: State, a: Arrival) -> list[tuple[int, Lanes]]:
        """The usual case, for all blocks at once."""
        rows = a.lanes.reshape(st.blocks, -1)
        done = rows.any(axis=1) & (rows == st.live.reshape(st.blocks, -1)).all(axis=1)
        if not done.any():
            return []
        st.clock.block_barrier(np.flatnonzero(done))
        st.epoch[done] += 1
        st.counters.barriers += int(np.count_nonzero(done))
        lanes = a.lanes & np.repeat(done, st.padded)
        a.lanes &= ~lanes
        if not a.lanes.any():
            self.waiting.clear()
        return [(a.resume, lanes)]

    def _open(self, st: State) -> set[tuple[int, int]]:
        keys: set[tuple[int, int]] = set()
        for a in self.waiting:
            lanes = np.flatnonzero(a.lanes)
            pairs = np.unique(np.stack([st.lane_block[lanes], a.number[lanes]], axis=1), axis=0)
            keys.update((int(b), int(n)) for b, n in pairs)
        return keys

    @staticmethod
    def _complete(st: State, block: int, met: Lanes, parts: list[tuple[Arrival, Lanes]]) -> bool:
        counts = [a.count for a, _ in parts if a.count is not None]
        if not counts:
            return bool((met == (st.live & (st.lane_block == block)))[st.lane_block == block].all())
        wanted = int(counts[0][np.flatnonzero(parts[0][1])[0]])
        per_warp = met.reshape(-1, WARP)
        live = st.live.reshape(-1, WARP)
        whole = per_warp.any(axis=1) & (per_warp | ~live).all(axis=1)
        return int(np.count_nonzero(whole)) * WARP >= wanted

    @staticmethod
    def _check_aligned(st: State, parts: list[tuple[Arrival, Lanes]]) -> None:
        """No warp may be spread over two barrier instructions of which one is aligned."""
        if not st.checks.barrier:
            return
        for i, (a, lanes) in enumerate(parts):
            warps = lanes.reshape(-1, WARP).any(axis=1)
            for b, others in parts[i + 1 :]:
                both = warps & others.reshape(-1, WARP).any(axis=1)
                if both.any() and (a.control.aligned or b.control.aligned):
                    warp = int(np.flatnonzero(both)[0])
                    span = slice(warp * WARP, (warp + 1) * WARP)
                    first = warp * WARP + int(np.flatnonzero(lanes[span])[0])
                    second = warp * WARP + int(np.flatnonzero(others[span])[0])
                    raise report(
                        st,
                        "barrier",
                        a.site,
                        f"two threads of one warp meet at different barriers; the second one is at line {b.site.location.line}",
                        lanes=[first, second],
                        hint="take the barrier out of the divergent branch",
                    )

    def _pass(
        self, st: State, block: int, met: Lanes, parts: list[tuple[Arrival, Lanes]], released: list[tuple[int, Lanes]]
    ) -> None:
        waits = [(a, lanes) for a, lanes in parts if a.control.mode != "arrive"]
        everyone = bool((met == st.live)[st.lane_block == block].all())
        if everyone and len(waits) == len(parts):
            st.clock.block_barrier(np.array([block]))
        elif waits:
            waiting = np.unique(np.concatenate([st.lane_warp[lanes] for _, lanes in waits]))
            arrived = {int(w): int(a.time[lanes & (st.lane_warp == w)].max())
                       for a, lanes in parts if a.control.mode == "arrive" for w in np.unique(st.lane_warp[lanes])}  # fmt: skip
            st.clock.named_barrier(block, waiting, arrived)
        st.epoch[block] += 1
        st.counters.barriers += 1
        for a, lanes in parts:
            if a.control.finish is not None:
                a.control.finish(st, np.flatnonzero(met))
            if a.control.mode != "arrive":
                released.append((a.resume, lanes))
            a.lanes &= ~lanes

    def blocked(self) -> Lanes:
        """Threads that wait (arrivals without waiting are not among them)."""
        lanes = np.zeros(self._n, dtype=np.bool_)
        for a in self.waiting:
            if a.control.mode != "arrive":
                lanes |= a.lanes
        return lanes

    def stuck(self, st: State, elsewhere: dict[int, Site]) -> CheckError:
        """Nobody can go on: name a thread at the barrier and one of its block that is not. ``elsewhere``: lane to
        where it waits.
        """
        a = self.waiting[0]
        lane = int(np.flatnonzero(a.lanes)[0])
        block = st.lane_block == st.lane_block[lane]
        absent = np.flatnonzero(block & st.live & ~(a.lanes & (a.number == a.number[lane])))
        lanes = [lane, *absent[:1].tolist()]
        where = ""
        if absent.size:
            other = self._where(int(absent[0]), elsewhere)
            where = (
                f"; {absent.size} threads of the block never arrive, the second one waits at line {other}"
                if other
                else ""
            )
        if a.count is not None:
            where += f"; it waits for {int(a.count[lane])} threads"
        return report(
            st,
            "barrier",
            a.site,
            f"the barrier is never completed{where}",
            lanes=lanes,
            hint="every thread of the block must reach the same barrier: take it out of the divergent branch or loop",
        )

    def _where(self, lane: int, elsewhere: dict[int, Site]) -> str:
        for a in self.waiting:
            if a.lanes[lane]:
                return str(a.site.location.line)
        return str(elsewhere[lane].location.line) if lane in elsewhere else ""
