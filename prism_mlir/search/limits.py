"""Limits of a search, and the funnel that says what happened to every candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from prism_mlir.graph.errors import InputError

OUT_OF_TIME = "time limit"  # how the reason begins where the clock ended a search


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What a search may spend. Reaching a limit is reported in the funnel, with what was left unexplored.

    operators:  nodes of a block graph that are neither loads nor savers
    grid_dims:  parallel dims of the grid (0 to 3)
    kernels:    graph-defined operators of a kernel graph (1 or 2)
    second_operators: as ``operators``, for the second graph-defined operator
    saved:      results that a first kernel may leave for the second
    library:    library operators that may stand before or after a graph-defined operator
    states:     partial graphs visited
    structures: block graphs with symbolic mappings
    candidates: graphs with concrete mappings
    seconds:    wall clock, read by the caller's clock; ``None`` for no limit
    invariant_loads: also search graphs with loads outside the loop, from the start; without it they are searched only when
                     no graph with a loop is found (they are needed where a tensor is used after the loop, such as a residual),
                     or few graphs
    few:        a search that found fewer graphs of one kernel goes on to loads outside the loop
    """

    operators: int = 11
    grid_dims: int = 3
    kernels: int = 1
    second_operators: int = 6
    saved: int = 2
    library: int = 0
    states: int = 200_000
    structures: int = 100_000
    candidates: int = 100_000
    seconds: float | None = None
    invariant_loads: bool = False
    few: int = 10

    def suffice(self, looped: bool, graphs: int) -> bool:
        """Whether what was found so far is enough. looped: whether some graph has a loop."""
        return looped and graphs >= self.few


@dataclass
class Funnel:
    """Counts along the way from partial graphs to proved graphs; the only mutable record of a search.

    stopped_by: limits that ended the search early
    left:       what was not explored because of them, from the outside in
    """

    counts: Counter[str] = field(default_factory=Counter)
    stopped_by: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def count(self, what: str, by: int = 1) -> None:
        self.counts[what] += by

    def stop(self, why: str) -> None:
        """Record that a limit ended the search early."""
        if why not in self.stopped_by:
            self.stopped_by.append(why)

    def leave(self, what: str) -> None:
        """Record something that was not explored."""
        if what not in self.left:
            self.left.append(what)

    @property
    def complete(self) -> bool:
        """Whether the space inside the limits was searched to its end."""
        return not self.stopped_by

    def takes(self, part: Funnel, limits: SearchLimits) -> bool:
        """Whether a part that was searched on its own, from zero, would have gone the same way after what is counted here."""
        most = {"states": limits.states, "structures": limits.structures, "mappings": limits.candidates}
        return part.complete and all(self.counts[what] + part.counts[what] <= limit for what, limit in most.items())

    def add(self, part: Funnel) -> None:
        """Count what was counted elsewhere."""
        self.counts.update(part.counts)

    def part(self) -> Funnel:
        """An empty funnel for a part of the search that is counted on its own, under the same clock."""
        return Funnel()

    def seconds_left(self) -> float | None:
        """Seconds until time is up; ``None`` where there is no limit."""
        return None

    def expire(self) -> None:
        """Stop because time is up."""

    def to_dict(self) -> dict[str, object]:
        return {
            "counts": dict(sorted(self.counts.items())),
            "complete": self.complete,
            "stopped_by": list(self.stopped_by),
            "left": list(self.left),
        }

    @staticmethod
    def from_dict(data: Any) -> Funnel:
        """The inverse of :meth:`to_dict`. Raises :class:`InputError` where ``data`` is no funnel."""
        try:
            counts = Counter({str(k): int(n) for k, n in data["counts"].items()})
            return Funnel(counts, list(map(str, data["stopped_by"])), list(map(str, data["left"])))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not a funnel: {type(error).__name__} {error}") from None


class TimedFunnel(Funnel):
    """A funnel that stops a search when time is up. The clock is read once in a while, as partial graphs and cuts are counted.

    funnel: where counts go
    """

    def __init__(self, funnel: Funnel, clock: Callable[[], float], deadline: float, why: str) -> None:
        super().__init__(funnel.counts, funnel.stopped_by, funnel.left)
        self._clock, self._deadline, self._why, self._ticks = clock, deadline, why, 0

    def count(self, what: str, by: int = 1) -> None:
        super().count(what, by)
        if what in _TICKS:
            self._ticks += 1
            if (self._ticks % 64 == 0 or what == "structures") and self._clock() > self._deadline:
                self.expire()

    def part(self) -> Funnel:
        return TimedFunnel(Funnel(), self._clock, self._deadline, self._why)

    def seconds_left(self) -> float | None:
        return max(0.0, self._deadline - self._clock())

    def expire(self) -> None:
        self.stop(self._why)


_TICKS: Sequence[str] = ("states", "structures", "cuts tested alone", "pairs tested at size 1")
