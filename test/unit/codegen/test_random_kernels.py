"""Random kernels are right, or refused with a typed error. ``benchmarks/random_kernels.py`` runs as many as you like."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_trials import misjudged, trial
from random_programs import KINDS

from prism_mlir.compiler.accuracy import Reference
from prism_mlir.graph.dtypes import DType

PROGRAMS, KERNELS = 4, 9  # of each kind, and of each program
SEEDS = range(1000, 1000 + PROGRAMS * len(KINDS))
UNPROVED = 1  # programs of a kind of which the search may prove nothing


def test_there_are_three_hundred() -> None:
    assert (PROGRAMS * len(KINDS) - UNPROVED) * KERNELS >= 300


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_random_kernels(kind: int, part: int) -> None:
    """Kernels of random programs at random schedules, on three input sets each."""
    seeds = [seed for seed in SEEDS if seed % len(KINDS) == kind][part::2]
    tallies = [trial(seed, KERNELS) for seed in seeds]
    failures = [f for t in tallies for f in t.failures]
    assert not failures, "\n".join(failures)
    assert sum(t.kernels + sum(t.refused.values()) for t in tallies) >= KERNELS * (len(seeds) - UNPROVED)


def test_the_same_seed_does_the_same() -> None:
    assert trial(4, kernels=1) == trial(4, kernels=1)


def test_wrong_results_are_found() -> None:
    """The judge itself: errors beyond the bound, numbers where NaN or infinity is right, and the other way round."""
    exact, bound = np.array([1.0, 65519.0, np.nan, np.inf]), np.array([0.01, 2.0, np.nan, np.inf])
    reference = Reference(exact, bound)
    right = (np.array([1.005, 65504.0, np.nan, np.inf]), np.array([0.995, np.inf, np.nan, np.inf]))
    assert all(misjudged(value, reference, DType.F16) == "" for value in right)
    for place, value in [
        (0, 1.02),
        (0, np.nan),
        (0, np.inf),
        (1, -np.inf),
        (1, np.nan),
        (2, 1.0),
        (3, 1.0),
        (3, -np.inf),
    ]:
        wrong = right[0].copy()
        wrong[place] = value
        assert misjudged(wrong, reference, DType.F16).startswith(f"1 of 4 wrong, [{place}] is ")
