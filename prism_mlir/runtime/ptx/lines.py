"""The counters of each line of the PTX by itself: a profile, from the same counting that makes the totals."""

from __future__ import annotations

from dataclasses import fields

from prism_mlir.runtime.ptx.counters import Counters
from prism_mlir.runtime.ptx.decode import Block, Step
from prism_mlir.runtime.ptx.state import Mask, State


class LineCounters:
    """Counters by line of the source, 1 the first. Barriers and divergent branches are counted in the totals alone."""

    def __init__(self, detailed: bool) -> None:
        self.detailed = detailed
        self.of: dict[int, Counters] = {}

    def run(self, st: State, block: Block, mask: Mask, skip: bool) -> None:
        """Run a basic block's steps (without the first, if ``skip``), each counted for its line and in the totals."""
        total = st.counters
        try:
            for step in [s for s in block.steps if s.run is not None][skip:]:
                assert step.run is not None
                st.counters = Counters(detailed=self.detailed)
                step.run(st, mask)
                _add(self._line(step), st.counters)
                _add(total, st.counters)
        finally:
            st.counters = total

    def count(self, block: Block, threads: int, warps: int) -> None:
        """A basic block was passed by so many threads of so many warps, all turns together."""
        for step in block.steps:
            line = self._line(step)
            line.thread_instructions += threads
            line.warp_instructions[step.klass] = line.warp_instructions.get(step.klass, 0) + warps

    def _line(self, step: Step) -> Counters:
        return self.of.setdefault(step.site.location.line, Counters(detailed=self.detailed))


_NUMBERS = tuple(f.name for f in fields(Counters) if f.name not in ("detailed", "warp_instructions"))


def _add(total: Counters, more: Counters) -> None:
    """Everything that a step counts itself; instructions are counted by the block."""
    for name in _NUMBERS:
        value = getattr(more, name)
        if value:
            setattr(total, name, getattr(total, name) + value)
