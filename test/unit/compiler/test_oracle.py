"""The search finds what brute force finds: all windows of the paper's workloads, and whole programs that are small enough.

Whole workloads need more operators than brute force can try. A window is a part of a workload that the search could lose a graph
of; what it does in one window it does wherever that window occurs.
"""

from __future__ import annotations

from itertools import combinations

import pytest

from prism_mlir.compiler.oracle import Oracle, small_workloads
from prism_mlir.graph.errors import LimitError
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.ops import ADD, MATMUL
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import abstract_target
from prism_mlir.search.concrete import FAMILIES
from prism_mlir.search.limits import SearchLimits
from prism_mlir.search.prune import dead_end
from prism_mlir.search.windows import windows

WINDOWS = list(windows(small_workloads(), 3))
BY_NAME = {w.name: w for w in windows(small_workloads(), 4)}


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: w.name.replace(" ", "-"))
def test_every_window_has_the_same_proved_graphs(window: Program) -> None:
    found = Oracle(window, SearchLimits(operators=len(window.nodes) + 1, grid_dims=2)).compare()
    assert found.brute > 0
    assert (found.lost, found.extra) == ((), ())
    assert found.search == found.brute
    target = abstract_target(window)
    assert [dead_end(window, graph, target) for graph in found.proved] == [None] * len(found.proved)


def test_windows_come_from_every_workload() -> None:
    """A window that several workloads have is listed for the first of them, so the last ones have the fewest."""
    assert {w.name.split()[0] for w in WINDOWS} == {w.name for w in small_workloads()}
    assert any(len(w.outputs) == 2 for w in WINDOWS)


def test_a_whole_workload_has_the_same_proved_graphs() -> None:
    """SwiGLU with one operator more than it has."""
    found = Oracle(BY_NAME["swiglu 0+1+2+3"], SearchLimits(operators=5, grid_dims=1)).compare()
    assert found.same and found.brute > 0


@pytest.mark.parametrize("name", ["rms_norm 1+2+3", "rms_norm_mlp 4+6", "attention 1+2"])
def test_concrete_modes_have_the_same_proved_graphs(name: str) -> None:
    """Whichever maps are enumerated while graphs are generated."""
    oracle = Oracle(BY_NAME[name], SearchLimits(operators=4, grid_dims=1))
    for families in (frozenset(c) for n in range(4) for c in combinations(FAMILIES, n)):
        found = oracle.compare(families)
        assert found.same and found.brute > 0, families


RESIDUAL = build_program("residual", {"X": (8, 12), "W": (12, 6), "R": (8, 6)}, [(MATMUL, (0, 1)), (ADD, (3, 2))])


@pytest.mark.parametrize(
    ("program", "operators"), [(RESIDUAL, 3), (BY_NAME["attention 1+2"], 4)], ids=["residual", "attention-1+2"]
)
def test_all_places_of_loads_at_once(program: Program, operators: int) -> None:
    """Loads inside the loop, outside, and both, without stages."""
    limits = SearchLimits(operators=operators, grid_dims=1, invariant_loads=True)
    found = Oracle(program, limits).compare()
    assert found.same and found.brute > 0


def test_a_search_that_is_stopped_is_no_answer() -> None:
    with pytest.raises(LimitError, match="stopped by its states limit of 2"):
        Oracle(BY_NAME["rms_norm 0"], SearchLimits(operators=2, grid_dims=1, states=2)).compare()
