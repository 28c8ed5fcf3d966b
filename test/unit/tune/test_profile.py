"""Profiling with measurements from a script."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from tune_graphs import pointwise

from prism_mlir.graph.errors import CodegenError, ExecutionError, MissingToolError
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.profile import Samples, Timing, profile

CANDIDATES = tuple(ScheduledGraph(pointwise(64, 64), Schedule.of({"x": n}, 1, 1)) for n in (1, 2, 4))


@dataclass
class Script:
    """Times by number of blocks, or what is wrong; every call is logged as (blocks, best so far)."""

    answers: dict[int, tuple[float, ...] | Exception]
    log: list[tuple[int, float | None]] = field(default_factory=list)

    def __call__(self, candidate: ScheduledGraph, best: float | None) -> Samples:
        blocks = candidate.schedule.size_of["x"]
        self.log.append((blocks, best))
        answer = self.answers[blocks]
        if isinstance(answer, Exception):
            raise answer
        return Samples(answer, (1.0,))


def test_the_median_of_cold_times_decides() -> None:
    found = profile(CANDIDATES, Script({1: (5, 1, 100), 2: (4, 4, 4), 4: (6, 6, 6)}))
    assert [(t.scheduled.schedule.size_of["x"], t.median_us) for t in found.timings] == [(2, 4), (1, 5), (4, 6)]
    assert found.best.samples == (4, 4, 4)
    assert found.best.warm == (1.0,)


def test_each_candidate_is_told_the_best_median_so_far() -> None:
    script = Script({1: (5.0,), 2: (7.0,), 4: (6.0,)})
    profile(CANDIDATES, script)
    assert script.log == [(1, None), (2, 5.0), (4, 5.0)]


def test_a_candidate_that_fails_is_kept_with_its_reason_and_is_no_best() -> None:
    script = Script({1: CodegenError("1 blocks spill"), 2: (2.0,), 4: ExecutionError("an illegal address")})
    found = profile(CANDIDATES, script)
    assert [t.scheduled.schedule.size_of["x"] for t in found.timings] == [2]
    assert [f.reason for f in found.failures] == ["1 blocks spill", "an illegal address"]
    assert script.log == [(1, None), (2, None), (4, 2.0)]


def test_when_nothing_runs_the_first_reason_is_told() -> None:
    script = Script(dict.fromkeys((1, 2, 4), CodegenError("all spill")))
    with pytest.raises(ExecutionError, match="none of 3 candidates could be timed: all spill"):
        profile(CANDIDATES, script)
    with pytest.raises(ExecutionError, match="none of 0 candidates"):
        profile((), Script({}))


def test_a_missing_driver_is_no_candidates_fault() -> None:
    script = Script(dict.fromkeys((1, 2, 4), MissingToolError("no CUDA driver found")))
    with pytest.raises(MissingToolError, match="no CUDA driver found"):
        profile(CANDIDATES, script)


def test_the_spread_is_the_interquartile_range() -> None:
    samples = tuple(map(float, np.random.default_rng(1).lognormal(size=21)))
    low, high = np.percentile(samples, [25, 75])
    assert Timing(CANDIDATES[0], samples).iqr_us == pytest.approx(high - low)
    assert Timing(CANDIDATES[0], (3.0,)).iqr_us == 0
