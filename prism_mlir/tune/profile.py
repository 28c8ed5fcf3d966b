"""Let the machine decide between the best few: measure candidates instead of modelling them.

How a candidate becomes something that is measured is passed in, since tuning knows neither code generation nor drivers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from prism_mlir.graph.errors import CodegenError, ExecutionError
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.schedule import ScheduledGraph


@dataclass(frozen=True, slots=True)
class Samples:
    """Measured times of a candidate in microseconds, in the order in which they were taken.

    cold: with nothing of its inputs in the L2; warm: with all that fits
    """

    cold: tuple[float, ...]
    warm: tuple[float, ...] = ()


Measure = Callable[[ScheduledGraph, float | None], Samples]
"""Builds and measures a candidate, given the best median so far, which it may use to give up early.

Raises :class:`CodegenError` or :class:`ScheduleError` for one that cannot be built, :class:`ExecutionError` for one that fails,
is wrong, or takes so long that it was given up.
"""


@dataclass(frozen=True, slots=True)
class Timing:
    """A candidate and its measured times in microseconds; ``samples`` are the cold ones, by which it is judged."""

    scheduled: ScheduledGraph
    samples: tuple[float, ...]
    warm: tuple[float, ...] = ()

    @property
    def median_us(self) -> float:
        return median(self.samples)

    @property
    def iqr_us(self) -> float:
        """Interquartile range."""
        if len(self.samples) < 2:
            return 0.0
        low, _, high = quantiles(self.samples, n=4, method="inclusive")
        return high - low


@dataclass(frozen=True, slots=True)
class Failure:
    """A candidate that could not be built or run, was wrong, or was given up, and why."""

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


def profile(candidates: Sequence[ScheduledGraph], measure: Measure) -> Profile:
    """Measure candidates one after the other; the median of the cold times decides.

    A candidate that fails is kept with its reason. Raises :class:`ExecutionError` where none ran; errors about the machine
    itself, such as a missing driver, pass through.
    """
    timings: list[Timing] = []
    failures: list[Failure] = []
    for candidate in candidates:
        best = min((t.median_us for t in timings), default=None)
        try:
            samples = measure(candidate, best)
        except (CodegenError, ExecutionError, ScheduleError) as error:
            failures.append(Failure(candidate, error.message))
        else:
            timings.append(Timing(candidate, samples.cold, samples.warm))
    if not timings:
        reason = failures[0].reason if failures else "there are none"
        raise ExecutionError(f"none of {len(candidates)} candidates could be timed: {reason}")
    return Profile(tuple(sorted(timings, key=lambda t: t.median_us)), tuple(failures))
