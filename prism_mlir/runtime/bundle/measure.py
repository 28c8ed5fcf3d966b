"""Measure one candidate: check it, time it with and without what it reads in the L2, check it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Any, Protocol

from .check import Expected, Judgement, judge
from .driver import Overdue, TooSlow, clocks
from .gpu import Gpu
from .inputs import Array

FIRST_S = 10.0  # for the first run of the first candidate, when nothing is known


class Wrong(Exception):
    """Outputs are not what they should be, or not written."""


class Task(Protocol):
    """Something that can be run on any of some sets of buffers."""

    sets: int
    as_source: bool  # whether its outputs may err as the source program does

    def poison(self) -> None: ...

    def enqueue(self, which: int) -> None: ...

    def outputs(self, which: int) -> list[Array]: ...


@dataclass(frozen=True)
class Settings:
    """How to measure.

    warm_up, repeats: runs that do not count, and that do, each with the L2 flushed and with it warm
    cold_bytes:       all sets of buffers together exceed this, several times any L2, up to ``most_sets``
    wake_s:           the device is kept busy for so long before anything is timed
    slower:           a candidate is given up when a run takes so many times the best median of its kind
    grace_s:          what the host may lose meanwhile, before a run that has not ended is given up
    """

    warm_up: int = 5
    repeats: int = 100
    cold_bytes: int = 256 << 20
    most_sets: int = 16
    wake_s: float = 0.1
    slower: float = 10.0
    grace_s: float = 1.0

    def sets(self, size: int) -> int:
        """How many sets of buffers, of ``size`` bytes each."""
        return min(self.most_sets, max(1, -(-self.cold_bytes // max(1, size))))

    def deadline_s(self, best_us: float | None) -> float:
        return FIRST_S if best_us is None else self.grace_s + self.slower * best_us * 1e-6

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(
    gpu: Gpu, task: Task, expected: list[Expected], settings: Settings, best_us: float | None = None
) -> dict[str, Any]:
    """Times and accuracy of a task, as JSON values.

    best_us: the best median of its kind so far, in microseconds

    Raises :class:`Wrong`, :class:`TooSlow`, :class:`Overdue` (it may run for ever), :class:`CudaError`.
    """
    deadline = settings.deadline_s(best_us)

    def timed(which: int, flush: bool) -> float:
        us = _time(gpu, task, which, deadline, flush, best_us)
        if best_us is None or us <= settings.slower * best_us:
            return us
        us = _time(gpu, task, which, deadline, flush, best_us)  # something else may have had the device
        if us > settings.slower * best_us:
            raise TooSlow(f"a run takes {us:.1f} us, over {settings.slower:g} times the best, {best_us:.1f} us")
        return us

    first = _checked(gpu, task, expected, deadline, "before timing")
    gpu.wake(settings.wake_s)
    before, late = clocks(gpu.driver, gpu.device), gpu.late
    rotation = iter(range(1 << 62))
    cold = _samples(lambda: timed(next(rotation) % task.sets, True), settings)
    warm = _samples(lambda: timed(0, False), settings)
    for which in range(task.sets):  # what timed runs left is judged too, without help from the poison
        _judged(task, expected, which, "after timing")
    second = _checked(gpu, task, expected, deadline, "in a run after timing")
    return {
        "cold": summary(cold),
        "warm": summary(warm),
        "used": max(first, second),
        "late": gpu.late - late,
        "sets": task.sets,
        "clocks": {"before": before, "after": clocks(gpu.driver, gpu.device)},
    }


def summary(samples: list[float]) -> dict[str, Any]:
    """Median and spread of times in microseconds: interquartile range, median absolute deviation, extremes, and all of them."""
    middle = median(samples)
    low, _, high = quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else (middle, middle, middle)
    return {
        "median_us": middle,
        "iqr_us": high - low,
        "mad_us": median(abs(s - middle) for s in samples),
        "min_us": min(samples),
        "max_us": max(samples),
        "samples": [round(s, 4) for s in samples],
    }


def _samples(run: Callable[[], float], settings: Settings) -> list[float]:
    for _ in range(settings.warm_up):
        run()
    return [run() for _ in range(settings.repeats)]


def _checked(gpu: Gpu, task: Task, expected: list[Expected], deadline: float, when: str) -> float:
    """Poison all outputs, run on every set, and judge each; returns the largest share of the allowed error."""
    task.poison()
    used = 0.0
    for which in range(task.sets):
        gpu.run(lambda which=which: task.enqueue(which), deadline)  # type: ignore[misc]
        used = max(used, _judged(task, expected, which, when).used)
    return used


def _judged(task: Task, expected: list[Expected], which: int, when: str) -> Judgement:
    found = judge(task.outputs(which), expected, task.as_source)
    if found.reason:
        raise Wrong(f"{found.reason} ({when}, buffers {which})")
    return found


def _time(gpu: Gpu, task: Task, which: int, deadline: float, flush: bool, best_us: float | None) -> float:
    try:
        return gpu.time(lambda: task.enqueue(which), deadline, flush)
    except Overdue as late:
        raise Overdue(f"{late}" if best_us is None else f"{late}; the best takes {best_us:.1f} us") from None
