"""Parts of a search in other processes: who asks for them, and what those who search them do.

The parts are branches of the depth-first search (``branches``) and saved sets of the two-kernel search. Each is searched from
zero, with all limits; whoever puts the parts together counts them in order and searches a part again in which a limit falls. So
the number of processes changes nothing but the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from prism_mlir.graph.block import BlockGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import abstract_target
from prism_mlir.search.branches import Part, Walk, search_branches
from prism_mlir.search.instantiate import Accept
from prism_mlir.search.kernel_generate import Saved
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.stages import Stage, Task, make_walk, search_set, use_of

TASKS_A_JOB = 24  # small enough that nobody waits for the last one for long


class Pool(Protocol):
    """Processes, each with a :class:`Searcher` of the program that is searched."""

    @property
    def jobs(self) -> int:
        """How many processes."""
        ...

    def ordered(
        self,
        function: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        seconds_left: Callable[[], float | None] = lambda: None,
    ) -> Iterator[Any]:
        """Results of ``function(searcher, *arguments)``, in order, computed ahead. Raises :class:`TimeoutError` when no seconds
        are left."""
        ...


def parts_of_branches(pool: Pool, stage: Stage, funnel: Funnel, branches: int) -> Iterator[Part]:
    """All branches of a stage, in order; fewer where time is up."""
    size = max(1, branches // (TASKS_A_JOB * pool.jobs))
    calls = ((stage, start, min(start + size, branches)) for start in range(0, branches, size))
    try:
        for parts in pool.ordered(_branches, calls, funnel.seconds_left):
            yield from parts
    except TimeoutError:
        funnel.expire()


def parts_of_sets(
    pool: Pool, limits: SearchLimits, funnel: Funnel, sets: Sequence[tuple[tuple[Saved, ...], tuple[BlockGraph, ...]]]
) -> Iterator[Part]:
    """All saved sets, in order; fewer where time is up."""
    try:
        yield from pool.ordered(_saved_set, ((limits, saved, first) for saved, first in sets), funnel.seconds_left)
    except TimeoutError:
        funnel.expire()


class Searcher:
    """What a process keeps between parts of one search."""

    def __init__(self, program: Program, accept: Accept) -> None:
        self.program, self.accept = program, accept
        self._task: Task | None = None
        self._walks: dict[Stage, Walk] = {}

    @property
    def task(self) -> Task:
        if self._task is None:
            self._task = Task(self.program, self.accept, abstract_target(self.program))
        return self._task

    def walk(self, stage: Stage) -> Walk:
        if stage not in self._walks:
            self._walks[stage] = make_walk(self.task, stage, Funnel())
        self._walks[stage].renew()
        return self._walks[stage]


def _branches(searcher: Searcher, stage: Stage, start: int, end: int) -> list[Part]:
    return search_branches(searcher.walk(stage), start, end, use_of(searcher.task, stage))


def _saved_set(
    searcher: Searcher, limits: SearchLimits, saved: tuple[Saved, ...], first: tuple[BlockGraph, ...]
) -> Part:
    funnel = Funnel()
    found = tuple(search_set(searcher.task, limits, funnel, saved, first))
    return Part(found, funnel)
