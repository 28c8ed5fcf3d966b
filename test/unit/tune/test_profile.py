"""Profiling with runners that answer from a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from tune_graphs import pointwise

from prism_mlir.graph.errors import CodegenError, ExecutionError, MissingToolError
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.profile import profile

CANDIDATES = tuple(ScheduledGraph(pointwise(64, 64), Schedule.of({"x": n}, 1, 1)) for n in (1, 2, 4))


@dataclass
class Script:
    """Times by number of blocks; every run is logged as (blocks, rotation), every release as (blocks, None)."""

    times: dict[int, Sequence[float]]
    log: list[tuple[int, int | None]] = field(default_factory=list)

    @contextmanager
    def prepare(self, candidate: ScheduledGraph) -> Iterator[_Runner]:
        blocks = candidate.schedule.size_of["x"]
        if not self.times[blocks]:
            raise CodegenError(f"{blocks} blocks spill")
        try:
            yield _Runner(self, blocks)
        finally:
            self.log.append((blocks, None))


@dataclass
class _Runner:
    script: Script
    blocks: int
    runs: int = 0

    def run_once(self, rotation: int) -> float:
        self.script.log.append((self.blocks, rotation))
        self.runs += 1
        return self.script.times[self.blocks][self.runs - 1]


def test_the_median_decides_and_warm_up_does_not_count() -> None:
    script = Script({1: [99, 99, 5, 1, 100], 2: [0, 0, 4, 4, 4], 4: [0, 0, 6, 6, 6]})
    found = profile(CANDIDATES, script.prepare, warm_up=2, repeats=3)
    assert [(t.scheduled.schedule.size_of["x"], t.median_us) for t in found.timings] == [(2, 4), (1, 5), (4, 6)]
    assert found.best.samples == (4, 4, 4)


def test_every_run_has_the_next_rotation_and_every_candidate_is_released() -> None:
    script = Script({n: [1.0] * 5 for n in (1, 2, 4)})
    profile(CANDIDATES, script.prepare, warm_up=2, repeats=3)
    assert script.log == [(n, k) for n in (1, 2, 4) for k in (0, 1, 2, 3, 4, None)]


def test_a_candidate_that_fails_is_kept_with_its_reason() -> None:
    found = profile(CANDIDATES, Script({1: [], 2: [2.0], 4: [1.0]}).prepare, warm_up=0, repeats=1)
    assert [t.scheduled.schedule.size_of["x"] for t in found.timings] == [4, 2]
    assert [f.reason for f in found.failures] == ["1 blocks spill"]


def test_when_nothing_runs_the_first_reason_is_told() -> None:
    with pytest.raises(ExecutionError, match="none of 3 candidates could be timed: 1 blocks spill"):
        profile(CANDIDATES, Script({1: [], 2: [], 4: []}).prepare)
    with pytest.raises(ExecutionError, match="none of 0 candidates"):
        profile((), Script({}).prepare)


def test_a_missing_driver_is_no_candidates_fault() -> None:
    def prepare(_: ScheduledGraph) -> Iterator[_Runner]:
        raise MissingToolError("no CUDA driver found")

    with pytest.raises(MissingToolError, match="no CUDA driver found"):
        profile(CANDIDATES, contextmanager(prepare))
