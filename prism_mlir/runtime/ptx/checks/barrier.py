"""Barriers: who has arrived, when a barrier is complete, and what is wrong when it never will be.

By the PTX ISA ("bar, barrier", "exit"):

- A barrier without a count waits for every thread of its block that has not exited; with a count it waits for that many threads,
  counted in whole warps. A warp counts when all of its threads that have not exited have arrived.
- When threads exit, barriers that wait for nobody else are complete.
- Threads of one warp must arrive at an aligned barrier by the same instruction; different warps may use different ones.
- Numbers are 0 to 15, counts are positive multiples of 32, and all that meet must name the same count.
- Nobody may arrive again at a barrier that is not complete, and ``red`` does not mix with ``sync`` and ``arrive``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.errors import CheckError, RuntimeLimit
from prism_mlir.runtime.ptx.state import WARP, State
from prism_mlir.runtime.ptx.table import Control

BARRIERS = 16
MOST_ARRIVALS = 64
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
        if st.checks.barrier:
            self._check_arrival(st, site, lanes, number, count)
        time = st.clock.tick() if control.mode == "arrive" else st.clock.time + 1
        for arrival in self.waiting:
            if arrival.site.pc == site.pc and not (arrival.lanes & lanes).any():
                arrival.time[lanes] = time
                arrival.lanes |= lanes
                arrival.number = np.where(lanes, number, arrival.number)
                if count is not None and arrival.count is not None:
                    arrival.count = np.where(lanes, count, arrival.count)
                return
        if len(self.waiting) >= MOST_ARRIVALS:  # where the check is off, that of arriving twice is
            what = f"threads have arrived {MOST_ARRIVALS} times at barriers that are not complete"
            raise RuntimeLimit(f"{what}; wait with bar.sync in between", site.location)
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
            if st.checks.barrier:
                self._check_forms(st, parts)
            whole = self._complete(st, block, met, parts)
            if whole is None:
                continue
            self._check_aligned(st, parts)
            self._pass(st, block, whole, [(a, lanes & whole) for a, lanes in parts], released)
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
            pairs = np.unique((st.lane_block[lanes] << 32) | a.number[lanes])
            keys.update((pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist())
        return keys

    @staticmethod
    def _complete(st: State, block: int, met: Lanes, parts: list[tuple[Arrival, Lanes]]) -> Lanes | None:
        """The threads that pass, None while the barrier waits for others."""
        counted = [(a.count, lanes) for a, lanes in parts if a.count is not None]
        if len(counted) < len(parts):
            everyone = st.live & (st.lane_block == block)
            return met if (met == everyone).all() else None
        count, lanes = counted[0]
        wanted = int(count[np.flatnonzero(lanes)[0]])
        per_warp = met.reshape(-1, WARP)
        whole = per_warp.any(axis=1) & (per_warp | ~st.live.reshape(-1, WARP)).all(axis=1)
        arrived = int(np.count_nonzero(whole)) * WARP
        if arrived < wanted:
            return None
        if arrived > wanted and st.checks.barrier:
            raise _mismatch(st, parts, f"{arrived} threads arrive at a barrier that waits for {wanted}")
        return met & np.repeat(whole, WARP)

    @staticmethod
    def _check_forms(st: State, parts: list[tuple[Arrival, Lanes]]) -> None:
        """What meets at one barrier names one count, and is all ``red`` or none."""
        if len({a.control.mode == "red" for a, _ in parts}) > 1:
            raise _mismatch(st, parts, "bar.red meets other barrier instructions at one barrier")
        counts: set[int] = set()
        for a, lanes in parts:
            counts.update([st.padded] if a.count is None else np.unique(a.count[lanes]).tolist())
        if len(counts) > 1:
            named = " and ".join(map(str, sorted(counts)))
            raise _mismatch(st, parts, f"threads at one barrier disagree about how many it waits for: {named}")

    def _check_arrival(
        self,
        st: State,
        site: Site,
        lanes: Lanes,
        number: npt.NDArray[np.int64],
        count: npt.NDArray[np.int64] | None,
    ) -> None:
        def refuse(bad: Lanes, message: str, hint: str) -> None:
            found = np.flatnonzero(bad)
            if found.size:
                lane = int(found[0])
                text = message.format(number=number[lane], count=0 if count is None else count[lane])
                raise report(st, "barrier", site, text, lanes=[lane], total=int(found.size), hint=hint)

        refuse(
            lanes & (number >= BARRIERS), "there is no barrier {number}", f"a block has barriers 0 to {BARRIERS - 1}"
        )
        if count is not None:
            wrong = lanes & ((count <= 0) | (count % WARP != 0))
            refuse(
                wrong,
                "a barrier cannot wait for {count} threads",
                f"name a positive multiple of {WARP}: whole warps arrive",
            )
        for a in self.waiting:  # threads that wait cannot get here; these only arrived
            again = lanes & a.lanes & (a.number == number)
            message = (
                f"arrives at barrier {{number}} again before it is complete (arrived at line {a.site.location.line})"
            )
            refuse(again, message, "first wait at another barrier until the others have passed this one")

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


def _mismatch(st: State, parts: list[tuple[Arrival, Lanes]], message: str) -> CheckError:
    """Threads of one barrier do not belong together: the first of the first and of the last instruction are named."""
    ends = [parts[0], parts[-1]] if len(parts) > 1 else parts
    sites = " and ".join(f"line {a.site.location.line}" for a, _ in ends)
    return report(
        st,
        "barrier",
        ends[-1][0].site,
        f"{message} (at {sites})",
        lanes=[int(np.flatnonzero(lanes)[0]) for _, lanes in ends],
        hint="use one barrier number for one group of threads, and name how many it has",
    )
