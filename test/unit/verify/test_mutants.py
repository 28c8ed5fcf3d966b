"""Take proved graphs, change one thing: what exact arithmetic refutes must never be proved, and the rest must be.

This is the reduced form of ``make mutation``.
"""

from __future__ import annotations

import numpy as np
import pytest
from candidates import PROGRAMS, all_candidates

from prism_mlir.certify.check import evidence_for
from prism_mlir.certify.sizes import Refused
from prism_mlir.graph import examples
from prism_mlir.verify.explain import graph_data, program_data
from prism_mlir.verify.mutants import all_mutants, mutants, well_formed
from prism_mlir.verify.prove import prove
from prism_mlir.verify.refute import Refuter

MUTANTS = 50  # a workload


@pytest.mark.parametrize("workload", PROGRAMS)
def test_no_mutant_that_arithmetic_refutes_is_proved(workload):
    program, rng = PROGRAMS[workload], np.random.default_rng(7)
    refuter = Refuter(program)
    correct = [g for _, g in all_candidates(workload, refuter)]
    changed = [m for g in correct for m in mutants(g, rng, -(-MUTANTS // len(correct)))]
    verdicts = prove(program, [m.graph for m in changed])
    found = [refuter.refute(m.graph) for m in changed]
    wrong = [str(m.graph) for m, v, f in zip(changed, verdicts, found, strict=True) if f is not None and v.proved]
    assert wrong == []
    assert sum(f is not None and f.reason == "an element differs" for f in found) > len(changed) / 4
    assert sum(m.well_formed for m in changed) > 0.6 * len(changed)
    missed = [m for m, v, f in zip(changed, verdicts, found, strict=True) if f is None and not v.proved]
    assert [
        str(m.graph) for m in missed if "2*exp" not in str(m.graph)
    ] == []  # 2*exp cancels in a softmax: real numbers only


@pytest.mark.parametrize("workload", ["rms_norm", "attention_rows"])
def test_two_evaluators_that_share_no_code_agree_on_every_mutant(workload):
    """Arrays with parallel axes modulo one prime, and block after block modulo another."""
    program, rng = PROGRAMS[workload], np.random.default_rng(5)
    refuter, whole = Refuter(program), program_data(program)
    (graph,) = [g for _, g in all_candidates(workload, refuter, (1,))][:1]
    agreed = {True: 0, False: 0}
    for mutant in mutants(graph, rng, 60):
        refuted = refuter.refute(mutant.graph)
        try:
            evidence_for(whole, graph_data(mutant.graph), trials=4)
            passes = True
        except Refused:
            passes = False
        known = "2*exp" in str(mutant.graph)
        assert passes == (refuted is None) or (known and refuted is None), mutant
        agreed[passes] += 1
    assert min(agreed.values()) > 0


def test_every_kind_of_mistake_is_made():
    graph = examples.softmax_matmul_block()
    found = list(all_mutants(graph))
    assert {kind for kind, _ in found} == {
        "imap", "omap", "imap and omap", "fmap", "fmaps exchanged", "operand", "operand order", "operator", "reduction dim",
        "dropped accumulator", "dropped operator", "inputs exchanged", "source of a load", "stage", "saved tile",
    }  # fmt: skip
    fingerprints = [g.fingerprint for _, g in found]
    assert len(set(fingerprints)) == len(fingerprints) and graph.fingerprint not in fingerprints
    assert sum(well_formed(g) for _, g in found) > 10
