"""A verdict for each candidate: refuted by exact arithmetic, else proved by the e-graph, else unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.verify.axioms import DEFAULT, axiom_hash
from prism_mlir.verify.prove import ProofLimits, prove
from prism_mlir.verify.refute import Refuter, trial_sizes
from prism_mlir.verify.rule import Rule
from prism_mlir.verify.verdict import Counterexample, Status, Verdict


def verify(
    program: Program,
    graphs: Sequence[KernelGraph],
    *,
    seed: int = 0,
    limits: ProofLimits | None = None,
    axioms: Sequence[Rule] = DEFAULT,
    refuter: Refuter | None = None,
) -> list[Verdict]:
    """One verdict for each graph, in order. Graphs that do not fit the program are refuted, with the reason.

    refuter: one made for this program, to be shared between calls

    Raises :class:`InputError` for a graph whose mappings are symbols, :class:`SoundnessError` where an axiom is wrong.
    """
    refuter = refuter or Refuter(program, seed=seed)
    name = axiom_hash(axioms)
    verdicts: dict[int, Verdict] = {}
    for k, graph in enumerate(graphs):
        found = refuter.refute(graph)
        if found is not None:
            verdicts[k] = _refuted(found, name)
    waiting = [k for k in range(len(graphs)) if k not in verdicts]
    proofs = prove(program, [graphs[k] for k in waiting], limits=limits, axioms=axioms) if waiting else []
    for k, verdict in zip(waiting, proofs, strict=True):
        tried = trial_sizes(graphs[k].parallel_dims)
        seeds = tuple(refuter.seed + n for n in range(len(tried)))
        verdicts[k] = replace(verdict, seeds=seeds, sizes_tried=tried)
    return [verdicts[k] for k in range(len(graphs))]


def _refuted(found: Counterexample, axioms: str) -> Verdict:
    tried = (found.sizes,) if found.sizes else ()
    return Verdict(
        Status.REFUTED, axioms, seeds=(found.seed,), sizes_tried=tried, counterexample=found, reason=found.reason
    )
