"""The scheduler: runs the decoded blocks of a kernel for all lanes of a batch.

While all lanes agree the loop is a walk over basic blocks. Where a branch diverges the lanes split into fragments, one a basic
block, and the fragment that is first in the order of ``cfg`` runs next; fragments that meet are merged. Fragments
wait at barriers, and
at warp operations whose warp is not together yet. A fragment that polls memory, to wait for what another thread stores, lets the
others run from time to time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.checks.barrier import Barriers
from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.decode import Block, Decoded
from prism_mlir.runtime.ptx.errors import RuntimeLimit
from prism_mlir.runtime.ptx.lines import LineCounters
from prism_mlir.runtime.ptx.ops.loads import STRONG
from prism_mlir.runtime.ptx.state import WARP, Mask, State

Lanes = npt.NDArray[np.bool_]
REST = 64  # turns after which it is forgotten who has polled
PATIENCE = 16  # how often a block may poll in that time before others go first: a loop with an atomic is no spin yet


class Engine:
    """One batch on its way through a kernel."""

    def __init__(self, program: Decoded, st: State, max_steps: int, lines: LineCounters | None = None) -> None:
        self.program = program
        self.blocks = program.blocks
        self.rank = program.rank
        self.st = st
        self.max_steps = max_steps
        self.lines = lines
        self.ready: dict[int, Mask] = {}
        self.held: dict[int, Lanes] = {}
        self.barriers = Barriers(st)
        self.seen: list[list[int]] = [[0, 0] for _ in program.blocks]
        self.polls = frozenset(i for i, b in enumerate(program.blocks) if any(_polls(s.site) for s in b.steps))
        self.polled: dict[int, int] = {}
        self.polled_often: dict[int, int] = {}
        self.turn = 0

    def run(self) -> None:
        """Run until every lane has exited.

        Raises:
            CheckError: a check failed.
            RuntimeLimit: more than ``max_steps`` instructions were issued.
            TrapError: the kernel trapped.
        """
        at, mask = 0, self.st.all_live()
        with np.errstate(all="ignore"):
            while True:
                following = self._block(at, mask)
                if following is None:
                    picked = self._pick()
                    if picked is None:
                        break
                    at, mask = picked
                    continue
                at = following
                if self.ready:
                    self._add(at, mask)
                    at = self._first()
                    mask = self.ready.pop(at)
        self._count()

    # -- one basic block ------------------------------------------------------------------------------------------

    def _block(self, at: int, mask: Mask, met: bool = False) -> int | None:
        """Run block ``at``; returns the block that the same lanes go on with, None when there is none.

        ``met``: the warp operation that the block starts with has been done.
        """
        if at >= len(self.blocks):
            self._exit(mask)
            return None
        st, block = self.st, self.blocks[at]
        if block.sync is not None and not mask.dense and not met and not self._together(at, block, mask):
            return None
        st.steps += len(block.steps)
        if st.steps > self.max_steps:
            raise RuntimeLimit(
                f"kernel '{st.kernel}' has not ended after {self.max_steps} instructions;"
                " raise max_steps (--max-steps) if it is no endless loop",
                block.steps[0].site.location,
            )
        seen = self.seen[at]
        seen[0] += mask.n
        seen[1] += st.n // WARP if mask.dense else mask.warps()
        if self.lines is not None:
            self.lines.run(st, block, mask, met)
        else:
            for run in block.runs[met:]:
                run(st, mask)
        if block.control is None:
            return at + 1
        return self._control(at, block, mask)

    def _control(self, at: int, block: Block, mask: Mask) -> int | None:
        control, st = block.control, self.st
        assert control is not None and block.last is not None  # a block with control flow has a last step
        if block.guard is not None:
            taken = st.narrow(mask, st.regs[block.guard[0]], block.guard[1])
        else:
            taken = mask
        if taken is None:
            return at + 1
        rest = None
        if taken.n != mask.n:
            left = mask.lanes & ~taken.lanes
            rest = Mask(left, mask.n - taken.n, False, False)
            both = taken.lanes.reshape(-1, WARP).any(axis=1) & left.reshape(-1, WARP).any(axis=1)
            st.counters.divergent_branches += int(np.count_nonzero(both))
            self._add(at + 1, rest)
        if control.kind == "branch":
            target = self.program.block_of_label[control.targets[0]]
            if rest is None:
                return target
            self._add(target, taken)
            return None
        if control.kind == "exit":
            self._exit(taken)
            return None
        if control.kind == "barrier":
            return self._barrier(at, block, taken)
        return self._table(block, taken)

    def _table(self, block: Block, mask: Mask) -> int | None:
        """brx.idx: lanes go where their index says; an index past the end is undefined, so an error."""
        control, st = block.control, self.st
        assert control is not None and block.last is not None
        index = st.spread(st.regs[control.slot])
        wild = np.flatnonzero(mask.lanes & (index >= len(control.targets)))
        if wild.size:
            raise report(st, "bounds", block.last.site, f"branch index {int(index[wild[0]])} is past the end of the table",
                         lanes=[int(wild[0])], hint="check the index before the branch")  # fmt: skip
        ways = np.zeros(st.n // WARP, dtype=np.int64)
        for i, label in enumerate(control.targets):
            lanes = mask.lanes & (index == i)
            n = int(np.count_nonzero(lanes))
            if n:
                ways += lanes.reshape(-1, WARP).any(axis=1)
                self._add(self.program.block_of_label[label], Mask(lanes, n, False, False))
        st.counters.divergent_branches += int(np.count_nonzero(ways > 1))
        return None

    def _exit(self, mask: Mask) -> None:
        st = self.st
        st.live = st.live & ~mask.lanes
        st.live_n -= mask.n
        if self.barriers.waiting:
            self._release()

    # -- fragments ------------------------------------------------------------------------------------------------

    def _add(self, at: int, mask: Mask) -> None:
        old = self.ready.get(at)
        self.ready[at] = mask if old is None else self.st.mask(old.lanes | mask.lanes)

    def _pick(self) -> tuple[int, Mask] | None:
        """The next fragment; None when every lane has exited."""
        if not self.ready:
            self._release()
        if not self.ready:
            self._resume_held()
        if not self.ready:
            if self.st.live_n == 0 or not (self.held or self.barriers.waiting):
                return None
            raise self._stuck()
        at = self._first()
        mask = self.ready.pop(at)
        return at, self.st.mask(mask.lanes)

    def _first(self) -> int:
        """The block whose fragment runs next: by rank, those that have polled often of late after the others, in turn."""
        if len(self.ready) == 1 or not self.polls:
            return min(self.ready, key=self.rank.__getitem__)
        self.turn += 1
        if self.turn % REST == 0:
            self.polled.clear()
            self.polled_often.clear()
        at = min(self.ready, key=lambda at: (self.polled_often.get(at, 0), self.rank[at]))
        if at in self.polls:
            self.polled[at] = self.polled.get(at, 0) + 1
            if self.polled[at] > PATIENCE:
                self.polled_often[at] = self.turn
        return at

    # -- warp operations ------------------------------------------------------------------------------------------

    def _together(self, at: int, block: Block, mask: Mask) -> bool:
        """Whether the warps of ``mask`` are complete for the operation that block ``at`` starts with; if not, they are held."""
        held = self.held.pop(at, None)
        lanes = mask.lanes if held is None else mask.lanes | held
        missing = self._missing(block, lanes)
        if held is None and not missing.any():
            return True
        if not self.st.checks.convergence:
            if held is not None:
                self.ready[at] = self.st.mask(lanes)
                return False
            return True
        complete = lanes & ~np.repeat(missing.any(axis=1), WARP)
        if held is not None and complete.any() and not (lanes & ~complete).any():
            self._add(at, self.st.mask(complete))
            return False
        self.held[at] = lanes
        return False

    def _missing(self, block: Block, lanes: Lanes) -> npt.NDArray[np.bool_]:
        """(warps, 32): lanes that the operation needs and that are not in ``lanes``, for warps that have any lane there."""
        st = self.st
        table = lanes.reshape(-1, WARP)
        some = table.any(axis=1, keepdims=True)
        assert block.sync is not None
        if block.sync < 0:
            return some & ~table
        words = st.spread(st.regs[block.sync]).reshape(-1, WARP)
        named = np.zeros(table.shape, dtype=np.bool_)
        bits = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
        union = np.bitwise_or.reduce(np.where(table, words, np.uint32(0)), axis=1)
        named = (union[:, None] & bits) != 0
        value: Lanes = some & named & st.live.reshape(-1, WARP) & ~table
        return value

    def _resume_held(self) -> None:
        """Nothing else can run: let the warps go on that are complete; the others will never be."""
        for at in sorted(self.held):
            lanes = self.held[at]
            missing = self._missing(self.blocks[at], lanes).any(axis=1)
            complete = lanes & ~np.repeat(missing, WARP)
            if complete.any():
                rest = lanes & ~complete
                if rest.any():
                    self.held[at] = rest
                else:
                    del self.held[at]
                # Taken out of the table of held lanes, so that _together finds whole warps only.
                self.ready[at] = self.st.mask(complete)
                if rest.any():
                    self._run_apart(at, complete)
                return
        self._meet_apart()

    def _meet_apart(self) -> None:
        """bar.warp.sync: threads may meet at different instructions that name the same members (PTX ISA, "bar.warp.sync")."""
        st = self.st
        places = [at for at in self.held if self.blocks[at].steps[0].site.instruction.mods == ("warp", "sync")]
        groups: dict[tuple[int, int], Lanes] = {}
        for at in places:
            words = st.spread(st.regs[self._member(at)])
            for lane in np.flatnonzero(self.held[at]).tolist():
                groups.setdefault((lane // WARP, int(words[lane])), np.zeros(st.n, dtype=np.bool_))[lane] = True
        for (warp, word), lanes in groups.items():
            span = slice(warp * WARP, (warp + 1) * WARP)
            named = (word >> np.arange(WARP) & 1 != 0) & st.live[span]
            if (named & ~lanes[span]).any():
                continue
            if st.checks.race:
                st.clock.meet(warp // st.warps_per_block, st.lane_thread[lanes])
            for at in places:
                ours = lanes & self.held.get(at, lanes & False)
                if ours.any():
                    self._take(at, ours)
                    mask = st.mask(ours)
                    following = self._block(at, mask, met=True)
                    if following is not None:
                        self._add(following, mask)

    def _member(self, at: int) -> int:
        slot = self.blocks[at].sync
        assert slot is not None
        return slot

    def _take(self, at: int, lanes: Lanes) -> None:
        """Take lanes out of those that are held at a block."""
        rest = self.held[at] & ~lanes
        if rest.any():
            self.held[at] = rest
        else:
            del self.held[at]

    def _run_apart(self, at: int, complete: Lanes) -> None:
        """Run block ``at`` for complete warps while others stay held at the same place."""
        held = self.held.pop(at)
        del self.ready[at]
        mask = self.st.mask(complete)
        following = self._block(at, mask)
        if following is not None:
            self._add(following, mask)
        self.held[at] = held if at not in self.held else self.held[at] | held

    # -- barriers -------------------------------------------------------------------------------------------------

    def _barrier(self, at: int, block: Block, mask: Mask) -> int | None:
        control, st = block.control, self.st
        assert control is not None and block.last is not None
        simple = control.count is None and control.mode == "sync" and not self.barriers.waiting
        if simple and mask.full and mask.n == st.live_n and st.regs[control.slot].shape[0] == 1:
            st.clock.block_barrier(None)
            st.epoch += 1
            whole = st.live_n == st.blocks * st.threads
            st.counters.barriers += st.blocks if whole else int(st.live.reshape(st.blocks, -1).any(axis=1).sum())
            return at + 1
        if control.mode == "arrive":
            self.barriers.arrive(st, block.last.site, control, at + 1, mask.lanes)
            self._add(at + 1, mask)
        else:
            self.barriers.arrive(st, block.last.site, control, at + 1, mask.lanes)
        self._release()
        return None

    def _release(self) -> None:
        for resume, lanes in self.barriers.release(self.st):
            self._add(resume, self.st.mask(lanes))

    # -- the end --------------------------------------------------------------------------------------------------

    def _stuck(self) -> Exception:
        st = self.st
        waiting: dict[int, Site] = {}
        for at, lanes in self.held.items():
            for held in np.flatnonzero(lanes).tolist():
                waiting[held] = self.blocks[at].steps[0].site
        if not self.held:
            return self.barriers.stuck(st, waiting)
        at = min(self.held)
        lanes = self.held[at]
        missing = np.flatnonzero(self._missing(self.blocks[at], lanes).reshape(-1))
        lane = int(missing[0])
        span = lanes[lane // WARP * WARP : lane // WARP * WARP + WARP]
        first = lane // WARP * WARP + int(np.flatnonzero(span)[0])
        if st.live[lane]:
            site = waiting.get(lane)
            where = f"waits at line {site.location.line}" if site else "waits at a barrier"
        else:
            where = "has exited or does not exist"
        return report(
            st,
            "convergence",
            self.blocks[at].steps[0].site,
            f"the warp operation needs the second thread, which {where}",
            lanes=[first, lane],
            total=int(missing.size) + 1,
            hint="take the operation out of the divergent branch, and keep whole warps alive until after it",
        )

    def _count(self) -> None:
        counters = self.st.counters
        for block, (threads, warps) in zip(self.blocks, self.seen, strict=True):
            if not threads:
                continue
            if self.lines is not None:
                self.lines.count(block, threads, warps)
            counters.thread_instructions += threads * len(block.steps)
            for step in block.steps:
                counters.warp_instructions[step.klass] = counters.warp_instructions.get(step.klass, 0) + warps


def _polls(site: Site) -> bool:
    """Whether an instruction may read, again and again, what another thread will store."""
    opcode, mods = site.instruction.opcode, site.instruction.mods
    return opcode in ("atom", "mbarrier", "nanosleep") or (opcode == "ld" and any(m in STRONG for m in mods))
