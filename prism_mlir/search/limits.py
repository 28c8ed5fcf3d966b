"""Limits of a search, and the funnel that says what happened to every candidate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What a search may spend. Reaching a limit is reported in the funnel, with what was left unexplored.

    operators:  nodes of a block graph that are neither loads nor savers
    grid_dims:  parallel dims of the grid (0 to 3)
    kernels:    graph-defined operators of a kernel graph (1 or 2)
    second_operators: as ``operators``, for the second graph-defined operator
    saved:      results that a first kernel may leave for the second
    library:    library operators of a kernel graph
    states:     partial graphs visited
    structures: block graphs with symbolic mappings
    candidates: graphs with concrete mappings
    seconds:    wall clock, read by the caller's clock; ``None`` for no limit
    invariant_loads: also search graphs with loads outside the loop, from the start; without it they are searched only when
                     no graph with a loop is found (they are needed where a tensor is used after the loop, such as a residual)
    """

    operators: int = 11
    grid_dims: int = 3
    kernels: int = 1
    second_operators: int = 6
    saved: int = 2
    library: int = 0
    states: int = 5_000_000
    structures: int = 100_000
    candidates: int = 100_000
    seconds: float | None = None
    invariant_loads: bool = False


@dataclass
class Funnel:
    """Counts along the way from partial graphs to proved graphs; the only mutable record of a search."""

    counts: Counter[str] = field(default_factory=Counter)
    stopped_by: list[str] = field(default_factory=list)

    def count(self, what: str, by: int = 1) -> None:
        self.counts[what] += by

    def stop(self, why: str) -> None:
        """Record that a limit ended the search early."""
        if why not in self.stopped_by:
            self.stopped_by.append(why)

    @property
    def complete(self) -> bool:
        """Whether the space inside the limits was searched to its end."""
        return not self.stopped_by

    def to_dict(self) -> dict[str, object]:
        return {
            "counts": dict(sorted(self.counts.items())),
            "complete": self.complete,
            "stopped_by": list(self.stopped_by),
        }
