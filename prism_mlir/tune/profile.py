"""Let the machine decide between the best few: time candidates instead of modelling them.

How a candidate becomes something that runs is passed in, since tuning knows neither code generation nor drivers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from prism_mlir.graph.errors import CodegenError, ExecutionError
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.schedule import ScheduledGraph

WARM_UP = 3
REPEATS = 20


class Timer(Protocol):
    """Something that runs."""

    def run_once(self, rotation: int) -> float:
        """Run on input copy ``rotation`` (any number), and return microseconds."""


Prepare = Callable[[ScheduledGraph], AbstractContextManager[Timer]]


@dataclass(frozen=True, slots=True)
class Timing:
    """A candidate and its measured times in microseconds, in the order in which they were taken."""

    scheduled: ScheduledGraph
    samples: tuple[float, ...]

    @property
    def median_us(self) -> float:
        return median(self.samples)


@dataclass(frozen=True, slots=True)
class Failure:
    """A candidate that could not be built or run, and why."""

    scheduled: ScheduledGraph
    reason: str


@dataclass(frozen=True, slots=True)
class Profile:
    """Candidates that ran, fastest first, and those that did not, in the order given."""

    timings: tuple[Timing, ...]
    failures: tuple[Failure, ...]

    @property
    def best(self) -> Timing:
        return self.timings[0]


def profile(
    candidates: Sequence[ScheduledGraph], prepare: Prepare, *, warm_up: int = WARM_UP, repeats: int = REPEATS
) -> Profile:
    """Time candidates one after the other; each by the median of ``repeats`` runs on rotating inputs after ``warm_up``.

    A candidate that cannot be built or run is kept with its reason. Raises :class:`ExecutionError` where none ran; errors about
    the machine itself, such as a missing driver, pass through.
    """
    timings: list[Timing] = []
    failures: list[Failure] = []
    for candidate in candidates:
        try:
            timings.append(_time(candidate, prepare, warm_up, repeats))
        except (CodegenError, ExecutionError, ScheduleError) as error:
            failures.append(Failure(candidate, error.message))
    if not timings:
        reason = failures[0].reason if failures else "there are none"
        raise ExecutionError(f"none of {len(candidates)} candidates could be timed: {reason}")
    return Profile(tuple(sorted(timings, key=lambda t: t.median_us)), tuple(failures))


def _time(candidate: ScheduledGraph, prepare: Prepare, warm_up: int, repeats: int) -> Timing:
    with prepare(candidate) as timer:
        for k in range(warm_up):
            timer.run_once(k)
        return Timing(candidate, tuple(timer.run_once(warm_up + k) for k in range(repeats)))
