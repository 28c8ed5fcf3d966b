"""A search put together from parts is the search in one piece: same graphs, same order, same counts, same stop at every limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from prism_mlir.graph.examples import attention, rms_norm, rms_norm_mlp
from prism_mlir.graph.program import Program
from prism_mlir.search import parallel
from prism_mlir.search.abstract import abstract_target
from prism_mlir.search.branches import Walk, count_branches
from prism_mlir.search.generate import Generator
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.search import search
from prism_mlir.verify.refute import Refuter

TWO = SearchLimits(operators=7, kernels=2, second_operators=4)


class Here:
    """A pool that does everything in this process. ``jobs`` only decides how the work is cut up."""

    searcher: parallel.Searcher

    def __init__(self, jobs: int) -> None:
        self.jobs, self.calls = jobs, 0

    def ordered(
        self,
        function: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        seconds_left: Callable[[], float | None] = lambda: None,
    ) -> Iterator[Any]:
        for call in arguments:
            if seconds_left() == 0:
                raise TimeoutError
            self.calls += 1
            yield function(self.searcher, *call)


def outcome(program: Program, limits: SearchLimits, pool: Here | None) -> tuple[object, ...]:
    refuter, funnel = Refuter(program), Funnel()

    def accept(graph: Any, dim: str) -> bool:
        return refuter.refute_alone(graph, dim) is None

    if pool is not None:
        pool.searcher = parallel.Searcher(program, accept)
    found = [g.sort_key for g in search(program, limits, funnel, accept, pool=pool)]
    return found, funnel.to_dict()


@pytest.mark.parametrize(
    "limits",
    [
        SearchLimits(),
        SearchLimits(operators=1),
        SearchLimits(operators=9, invariant_loads=True),
        *(SearchLimits(states=n) for n in (1, 2, 7, 100, 333)),
        *(SearchLimits(structures=n) for n in (0, 1, 5)),
        *(SearchLimits(candidates=n) for n in (0, 1, 6)),
        TWO,
    ],
    ids=repr,
)
def test_attention_in_parts(limits: SearchLimits) -> None:
    whole = outcome(attention(), limits, None)
    for jobs in (1, 3):
        assert outcome(attention(), limits, Here(jobs)) == whole


@pytest.mark.parametrize("most", [{"states": 400}, {"states": 900}, {"candidates": 25}, {"structures": 60}], ids=str)
def test_two_kernels_in_parts_stop_at_the_same_graph(most: dict[str, int]) -> None:
    limits = replace(TWO, **most)  # type: ignore[arg-type]
    whole = outcome(rms_norm(), limits, None)
    assert outcome(rms_norm(), limits, Here(2)) == whole


def test_parts_are_really_used() -> None:
    pool = Here(2)
    outcome(rms_norm(), TWO, pool)
    assert pool.calls > 20


def test_branches_cover_the_walk_exactly() -> None:
    """Structures found above the branches and in them, counted by two independent ways."""
    program, limits = rms_norm_mlp(), SearchLimits(operators=11)
    target = abstract_target(program)
    walk = Walk(program, limits, Funnel(), target=target)
    assert count_branches(walk) > 10
    found = Funnel()
    total = sum(1 for _ in Generator(program, limits, found, target=target).run())
    walk = Walk(program, limits, funnel := Funnel(), target=target)
    below: list[int] = []

    def hand(number: int, go: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        below.append(sum(1 for _ in go()))
        return iter(())

    walk.hand = hand
    above = sum(1 for _ in walk.run())
    assert above + sum(below) == total
    assert funnel.counts == found.counts


@pytest.mark.parametrize("pool", [None, Here(2)], ids=["one process", "parts"])
def test_what_a_limit_left_is_told(pool: Here | None) -> None:
    """RMSNorm has two load sets (loop, no loop); with 50 states the search is still in the first."""
    _, funnel = outcome(rms_norm(), SearchLimits(states=50), pool)
    assert isinstance(funnel, dict)
    assert funnel["stopped_by"] == ["states limit of 50"]
    assert funnel["left"][0] == "1 of 2 load sets"
    assert "first operators of load set 1" in funnel["left"][1]
    _, funnel = outcome(rms_norm(), SearchLimits(states=50, kernels=2), pool)
    assert isinstance(funnel, dict) and funnel["left"][-1].startswith(
        "all graphs of two kernels or with library operators"
    )


def test_saved_sets_that_a_limit_left_are_told() -> None:
    _, whole = outcome(rms_norm(), TWO, None)
    _, funnel = outcome(rms_norm(), SearchLimits(operators=7, kernels=2, second_operators=4, candidates=20), None)
    assert isinstance(funnel, dict) and isinstance(whole, dict)
    (left,) = funnel["left"]
    assert left.split()[2] == str(whole["counts"]["saved sets"])
    assert 0 < int(left.split()[0]) <= whole["counts"]["saved sets"]
    assert whole["left"] == []


def test_time_is_up_in_the_middle_of_parts() -> None:
    program, funnel, refuter = rms_norm(), Funnel(), Refuter(rms_norm())

    def accept(graph: Any, dim: str) -> bool:
        return refuter.refute_alone(graph, dim) is None

    ticks = iter(range(100_000))
    pool = Here(2)
    pool.searcher = parallel.Searcher(program, accept)
    found = list(search(program, SearchLimits(seconds=4), funnel, accept, lambda: next(ticks), pool))
    assert funnel.stopped_by == ["time limit of 4 s"]
    assert funnel.left
    whole, _ = outcome(program, SearchLimits(), None)
    assert isinstance(whole, list)
    assert [g.sort_key for g in found] == whole[: len(found)]
