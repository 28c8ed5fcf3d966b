"""Uniform samples from the parameter spaces of many graphs.

Where the spaces are of bearable size, sizes that no other choice can save are struck out first, for all graphs together, and then
orientations that do not fit the sizes; what is left is drawn from without replacement. So every valid point of every graph is
equally likely.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.parameters import (
    ParameterSpace,
    Sizes,
    choice_rejection,
    orientation_rejection,
    parameter_space,
    rejection,
    size_rejection,
)
from prism_mlir.tune.targets import Target

MAX_SHAPES = 50_000  # combinations of sizes, over all graphs, up to which each is looked at
EXHAUSTIVE = 5_000  # points up to which each is looked at
TRIES_PER_SAMPLE = 200
LEAST_TRIES = 2_000


@dataclass(frozen=True, slots=True)
class Sample:
    """Schedules found, and what happened to the points looked at.

    raw:        points of all raw spaces together
    examined:   points looked at (each once; all of them where ``exhaustive``)
    exhaustive: whether every raw point was looked at
    rejected:   how many points each rule refused, as (rule, count) sorted by rule
    """

    points: tuple[ScheduledGraph, ...]
    raw: int
    examined: int
    exhaustive: bool
    rejected: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        """How many points there are, and the rules with their counts."""
        rules = ", ".join(f"{rule} {count:,}" for rule, count in self.rejected)
        return f"{len(self.points):,} of {self.examined:,} points looked at, of {self.raw:,}" + (
            f"; refused: {rules}" if rules else ""
        )


def sample(
    graphs: Sequence[KernelGraph],
    target: Target,
    count: int,
    seed: int = 0,
    program: Program | None = None,
    *,
    plain: bool = False,
) -> Sample:
    """Up to ``count`` different valid points over all graphs; all points are looked at where there are few.

    ``plain``: only points that ask for no orientation and no resident blocks.
    Each valid point of each graph is equally likely; the same arguments give the same points in the same order.
    Raises :class:`~prism_mlir.graph.errors.InputError` for a graph whose mappings are still symbols.
    """
    whole = (parameter_space(g, program) for g in graphs)
    spaces = [space.plain if plain else space for space in whole]
    refused: Counter[str] = Counter()
    population = _population(spaces, target, refused)
    struck, rng = sum(refused.values()), random.Random(seed)
    found: dict[int, ScheduledGraph] = {}
    examined = 0
    for index in _order(len(population), count, rng):
        if len(found) == count and len(population) > EXHAUSTIVE:
            break
        examined += 1
        space, point = population[index]
        reason = (choice_rejection if population.listed else rejection)(space, point, target)
        if reason is None:
            found[index] = ScheduledGraph(space.graph, point)
        else:
            refused[reason] += 1
    kept = sorted(found) if len(found) <= count else sorted(rng.sample(sorted(found), count))
    raw, examined = sum(s.raw_size for s in spaces), examined + struck
    return Sample(tuple(found[k] for k in kept), raw, examined, examined == raw, tuple(sorted(refused.items())))


def _order(population: int, count: int, rng: random.Random) -> Sequence[int]:
    """Which points to look at, and in which order: all as they come, or some at random, none twice."""
    if population <= EXHAUSTIVE:
        return range(population)
    return rng.sample(range(population), min(population, max(LEAST_TRIES, count * TRIES_PER_SAMPLE)))


@dataclass(frozen=True, slots=True)
class _Population:
    """Numbered points: the listed sizes of spaces with every choice of one orientation, or whole raw spaces.

    rows:   a space, and for a part of it its sizes and the number of its first choice
    starts: the number of the first point of each row of ``rows``, and the number of all points at the end
    """

    rows: tuple[tuple[ParameterSpace, tuple[Sizes, int] | None], ...]
    starts: tuple[int, ...]

    @property
    def listed(self) -> bool:
        """Whether sizes and orientations that break a rule are struck out already."""
        return not self.rows or self.rows[0][1] is not None

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, index: int) -> tuple[ParameterSpace, Schedule]:
        row = bisect_right(self.starts, index) - 1
        space, part = self.rows[row]
        rest = index - self.starts[row]
        return space, space.point(rest) if part is None else space.with_choice(part[0], part[1] + rest)


def _population(spaces: Sequence[ParameterSpace], target: Target, refused: Counter[str]) -> _Population:
    """Points to draw from. Sizes that break a rule, and orientations of sizes, are struck out, and counted, unless there are too
    many sizes to look at each."""
    rows: list[tuple[ParameterSpace, tuple[Sizes, int] | None]] = []
    if sum(s.shape_count for s in spaces) > MAX_SHAPES:
        rows += [(space, None) for space in spaces]
    else:
        for space in spaces:
            for sizes in space.shapes:
                reason = size_rejection(space, sizes, target)
                if reason is not None:
                    refused[reason] += space.choices
                    continue
                for k, orientation in enumerate(space.orientations):
                    turned = orientation_rejection(space, sizes, orientation)
                    if turned is None:
                        rows.append((space, (sizes, k * space.oriented_choices)))
                    else:
                        refused[turned] += space.oriented_choices
    counts = (space.raw_size if part is None else space.oriented_choices for space, part in rows)
    return _Population(tuple(rows), tuple(accumulate(counts, initial=0)))
