"""Concrete mode is the oracle: maps chosen during generation give exactly the graphs of symbolic mode, for every workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import pytest
from brute_force import SMALL, Unpruned

from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.examples import attention, qk_attention, rms_norm, rms_norm_mlp, softmax_matmul, swiglu
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import AbstractTarget
from prism_mlir.search.concrete import FAMILIES, ConcreteGenerator, search_concrete
from prism_mlir.search.generate import Generator
from prism_mlir.search.instantiate import Accept, instantiate
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.search import search
from prism_mlir.verify.refute import Refuter
from prism_mlir.verify.verify import verify

ALL = frozenset(FAMILIES)
SUBSETS = [frozenset(c) for n in range(1, 4) for c in combinations(FAMILIES, n)]


def accept_with(program: Program) -> Accept:
    refuter = Refuter(program)
    return lambda graph, dim: refuter.refute_alone(graph, dim) is None


def symbolic(program: Program, limits: SearchLimits) -> list[KernelGraph]:
    accept, funnel = accept_with(program), Funnel()
    dims = dim_classes(program).of[: len(program.inputs)]
    structures = Generator(program, limits, funnel).run()
    return [graph for s in structures for graph in instantiate(s, accept, funnel, dims)]


def concrete(
    program: Program, limits: SearchLimits, families: Iterable[str], target: AbstractTarget | None = None
) -> list[KernelGraph]:
    accept, funnel = accept_with(program), Funnel()
    dims = dim_classes(program).of[: len(program.inputs)]
    structures = ConcreteGenerator(program, limits, funnel, frozenset(families), target=target).run_fixed()
    return [graph for s, fixed in structures for graph in instantiate(s, accept, funnel, dims, fixed=fixed)]


@pytest.mark.parametrize("families", SUBSETS, ids=lambda f: "+".join(n for n in FAMILIES if n in f))
@pytest.mark.parametrize(
    ("workload", "operators"),
    [(rms_norm, 7), (swiglu, 6), (attention, 7), (softmax_matmul, 6)],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_same_graphs_as_symbolic_mode(
    workload: Callable[[], Program], operators: int, families: frozenset[str]
) -> None:
    program, limits = workload(), SearchLimits(operators=operators, grid_dims=1)
    expected = symbolic(program, limits)
    found = concrete(program, limits, families)
    assert any(next(g.custom).block.loop is not None for g in expected)  # fmaps take part
    assert len(found) == len(set(found))
    assert set(found) == set(expected)


@pytest.mark.parametrize(
    ("workload", "operators", "families"),
    [
        (rms_norm_mlp, 7, ALL),  # all the way down only without a loop: with one it needs 11 operators
        (rms_norm_mlp, 11, {"omap"}),
        (qk_attention, 11, {"imap"}),
        (qk_attention, 11, {"fmap", "omap"}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_same_graphs_on_the_large_workloads(
    workload: Callable[[], Program], operators: int, families: set[str]
) -> None:
    program, limits = workload(), SearchLimits(operators=operators, grid_dims=1)
    expected, found = symbolic(program, limits), concrete(program, limits, families)
    assert expected
    assert len(found) == len(set(found))
    assert set(found) == set(expected)


def test_grid_dims_that_differ_by_a_permutation_are_one() -> None:
    """Two grid dims are enumerated in both orders and come out once."""
    program, limits = rms_norm(), SearchLimits(operators=5, grid_dims=2)
    found = concrete(program, limits, ALL)
    assert {len(next(g.custom).block.grid) for g in found} == {0, 1, 2}
    assert len(found) == len(set(found))
    assert set(found) == set(symbolic(program, limits))


@pytest.mark.parametrize(("program", "operators"), SMALL, ids=[p.name for p, _ in SMALL])
def test_brute_force_with_concrete_maps(program: Program, operators: int) -> None:
    """Neither pruning nor symbols: of all graphs within the limits exact arithmetic leaves those of the symbolic search."""
    limits = SearchLimits(operators=operators, grid_dims=1)
    refuter = Refuter(program)
    found = concrete(program, limits, ALL, Unpruned(program))
    assert {g for g in found if refuter.refute(g) is None} == set(symbolic(program, limits))


@pytest.mark.parametrize(
    ("workload", "operators"), [(swiglu, 4), (rms_norm, 5)], ids=lambda v: getattr(v, "__name__", "")
)
def test_brute_force_proves_the_same_graphs(workload: Callable[[], Program], operators: int) -> None:
    """Of all block graphs with a workload's operators, whatever their expressions, the proved ones are the symbolic search's."""
    program, limits, funnel = workload(), SearchLimits(operators=operators, grid_dims=1), Funnel()
    structures = list(Generator(program, limits, funnel, target=Unpruned(program)).run())
    accept, dims = accept_with(program), dim_classes(program).of[: len(program.inputs)]
    found = [graph for s in structures for graph in instantiate(s, accept, funnel, dims)]
    expected = symbolic(program, limits)
    assert len(structures) > 10 * len(expected) > 0
    proved = {g for g, verdict in zip(found, verify(program, found), strict=True) if verdict.proved}
    assert proved == set(expected)


def test_whole_search_goes_through_the_same_stages() -> None:
    """A residual needs loads outside the loop, which are searched only when nothing else is found."""
    program, limits = SMALL[3][0], SearchLimits(operators=4, grid_dims=1)
    accept = accept_with(program)
    expected = list(search(program, limits, Funnel(), accept))
    assert len(expected) == len(set(expected))
    for families in (frozenset[str](), ALL):
        found = list(search_concrete(program, limits, Funnel(), accept, families))
        assert len(found) == len(set(found))
        assert set(found) == set(expected)


def test_time_limit_is_honest() -> None:
    ticks = iter(range(1_000_000))
    funnel, limits = Funnel(), SearchLimits(operators=7, seconds=2)
    program = rms_norm()
    list(search_concrete(program, limits, funnel, accept_with(program), ALL, lambda: next(ticks)))
    assert funnel.stopped_by == ["time limit of 2 s"]
    assert (
        0 <= funnel.counts["states"] - 3 * 256 < 7
    )  # the clock is read at the start and after every 256 partial graphs


def test_unknown_maps_are_refused() -> None:
    with pytest.raises(InputError, match="no maps are called 'emap', known are imap, fmap, omap"):
        ConcreteGenerator(rms_norm(), SearchLimits(), Funnel(), {"emap"})
