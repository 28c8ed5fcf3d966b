"""A compilation in rounds: whenever its time is up, there is a complete and checked result.

The first round searches little, ranks few schedules and takes the first way that works, so that there is something soon. The
second one searches with the options as given for the time that is left, less what building and checking took the first time. Its
result replaces the first where the model finds it faster and it has been checked as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Generic, Protocol, TypeVar

from prism_mlir.compiler.options import CompileOptions
from prism_mlir.graph.errors import CodegenError

QUICK_STATES, QUICK_SAMPLES = 2000, 256
LEAST = 0.2  # seconds of search that make a second round worth while
CAUTION = 1.2  # times what the first round took after its search


@dataclass(frozen=True, slots=True)
class Effort:
    """Seconds that a round took to search and prove, to choose and build, and to check."""

    search: float
    build: float
    check: float


class Candidate(Protocol):
    """A program that was built."""

    @property
    def model_us(self) -> float: ...

    @property
    def search_seconds(self) -> float: ...


C = TypeVar("C", bound=Candidate)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Round:
    """One round, for the report. outcome: ``best so far``, or why its result was not taken; seconds: since the beginning."""

    name: str
    model_us: float | None
    seconds: float
    outcome: str


@dataclass(frozen=True)
class Rounds(Generic[C, R]):
    """How a program is built and checked, in rounds.

    build: a candidate under some options; raises :class:`CodegenError` where there is none
    check: what remains to be done with it, which makes it a result
    told:  is called with the modelled time of each new best result
    """

    build: Callable[[CompileOptions], C]
    check: Callable[[C], R]
    told: Callable[[float], None] = lambda _: None
    clock: Callable[[], float] = monotonic

    def run(self, options: CompileOptions, seconds: float, *, known: bool = False) -> tuple[R, tuple[Round, ...]]:
        """The best result in some seconds. known: whether the second round needs no search, so that no first one is needed.

        The first round that yields something is always finished, even if that takes longer.
        Ctrl-C in the second round ends it with the first one's result if ``options.keep_partial``.
        Raises :class:`CodegenError` where no round yields anything.
        """
        start = self.clock()
        done: list[Round] = []
        best: tuple[float, R] | None = None
        effort = Effort(0.0, 0.0, 0.0)
        if not known:
            try:
                candidate, result, effort = self._round(_quick(options), None, start + seconds)
                assert result is not None
                best = (candidate.model_us, result)
                self.told(candidate.model_us)
                done.append(Round("quick", candidate.model_us, self.clock() - start, "best so far"))
            except CodegenError as error:
                done.append(Round("quick", None, self.clock() - start, error.message))
        left = seconds - (self.clock() - start) - CAUTION * _after_search(effort, options)
        if best is not None and left < LEAST:
            done.append(Round("full", None, self.clock() - start, "no time left for it"))
            return best[1], tuple(done)
        limits = replace(options.limits, seconds=_least(options.limits.seconds, max(left, LEAST)))
        try:
            full, result, _ = self._round(replace(options, limits=limits), best, start + seconds - effort.check)
        except CodegenError as error:
            if best is None:
                raise
            done.append(Round("full", None, self.clock() - start, error.message))
            return best[1], tuple(done)
        except KeyboardInterrupt:
            if best is None or not options.keep_partial:
                raise
            done.append(Round("full", None, self.clock() - start, "interrupted"))
            return best[1], tuple(done)
        if result is not None:
            self.told(full.model_us)
            done.append(Round("full", full.model_us, self.clock() - start, "best so far"))
            return result, tuple(done)
        assert best is not None
        reason = "no faster" if full.model_us >= best[0] else "no time left to check it"
        done.append(Round("full", full.model_us, self.clock() - start, reason))
        return best[1], tuple(done)

    def _round(
        self, options: CompileOptions, best: tuple[float, R] | None, latest: float
    ) -> tuple[C, R | None, Effort]:
        """A candidate, and its result if it is faster than the best one and there is time to check it until ``latest``."""
        started = self.clock()
        candidate = self.build(options)
        built = self.clock()
        worth = best is None or (candidate.model_us < best[0] and built <= latest)
        result = self.check(candidate) if worth else None
        search = candidate.search_seconds
        return candidate, result, Effort(search, built - started - search, self.clock() - built)


def _quick(options: CompileOptions) -> CompileOptions:
    """Options of the first round, which ends soon, whatever time there is."""
    limits = replace(options.limits, states=min(options.limits.states, QUICK_STATES), kernels=1)
    return replace(options, limits=limits, samples=min(options.samples, QUICK_SAMPLES), alternatives=False)


def _after_search(effort: Effort, options: CompileOptions) -> float:
    """Seconds that the second round needs after its search: ranking is longer by the schedules, at most."""
    return effort.build * max(1.0, options.samples / QUICK_SAMPLES) + effort.check


def _least(a: float | None, b: float) -> float:
    return b if a is None else min(a, b)
