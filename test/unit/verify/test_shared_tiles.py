"""Candidates that share tiles must give, bit for bit, what each gives by itself."""

from __future__ import annotations

import numpy as np
import pytest

from prism_mlir.compiler.discover import discover
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.examples import attention, rms_norm, softmax_matmul, swiglu
from prism_mlir.graph.fields import PrimeField
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits
from prism_mlir.verify.fit import Fitter
from prism_mlir.verify.mutants import mutants
from prism_mlir.verify.refute import Refuter, trial_sizes
from prism_mlir.verify.shared_tiles import SharedTiles


@pytest.mark.parametrize(
    "program",
    [softmax_matmul(8, 12, 6), rms_norm(8, 16, 8), swiglu(8, 16, 8), attention(2, 8, 4)],
    ids=lambda p: p.name,
)
def test_sharing_changes_no_value(program: Program) -> None:
    refuter, fitter, compared, refused = Refuter(program), Fitter(program), 0, 0
    rng = np.random.default_rng(5)
    candidates = discover(program, SearchLimits(operators=6, grid_dims=2)).candidates
    assert candidates
    shared: dict[object, tuple[SharedTiles, list[np.ndarray], PrimeField]] = {}
    for graph in [*candidates, *(m.graph for c in candidates for m in mutants(c, rng, 15))]:
        try:
            fitted = fitter.fit(graph)
        except PrismError:
            continue
        for k, sizes in enumerate(trial_sizes(graph.parallel_dims)):
            run = refuter._resize(fitted, sizes, k)
            inputs, _, _ = refuter._evaluate(run, 0)
            domain = PrimeField(seed=k)
            tiles = shared.setdefault((sizes, run.dims, k), (SharedTiles(dict(sizes), inputs, domain), inputs, domain))
            assert tiles[1] is inputs
            try:
                expected = evaluate_graph(run.graph(), dict(sizes), inputs, domain)
            except (PrismError, ValueError) as error:
                refused += 1
                with pytest.raises(type(error)):
                    tiles[0].outputs(run.graph())
                continue
            compared += 1
            for a, b in zip(expected, tiles[0].outputs(run.graph()), strict=True):
                assert np.array_equal(a, b)
    assert compared > 100 and refused > 10
