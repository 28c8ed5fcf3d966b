"""Take proved graphs, change one thing: what exact arithmetic refutes must never be proved, and the rest must be."""

from __future__ import annotations

import numpy as np
import pytest
from candidates import PROGRAMS, all_candidates
from mutants import mutants

from prism_mlir.verify.prove import prove
from prism_mlir.verify.refute import Refuter

MUTANTS = 120  # a workload


@pytest.mark.parametrize("workload", PROGRAMS)
def test_no_mutant_that_arithmetic_refutes_is_proved(workload):
    program, rng = PROGRAMS[workload], np.random.default_rng(7)
    refuter = Refuter(program)
    correct = [g for _, g in all_candidates(workload, refuter)]
    changed = [m for g in correct for m in mutants(g, rng, -(-MUTANTS // len(correct)))]
    verdicts = prove(program, changed)
    found = [refuter.refute(m) for m in changed]
    refuted = [f is not None for f in found]
    wrong = [str(m) for m, v, r in zip(changed, verdicts, refuted, strict=True) if r and v.proved]
    assert wrong == []
    assert sum(f is not None and f.reason == "an element differs" for f in found) > len(changed) / 5
    missed = [str(m) for m, v, r in zip(changed, verdicts, refuted, strict=True) if not r and not v.proved]
    assert missed == []
