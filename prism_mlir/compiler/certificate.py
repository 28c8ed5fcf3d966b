"""Certificates: what the verifier proved, written down so that somebody else can check it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.certify.check import FORMAT, evidence_for
from prism_mlir.certify.sizes import Disagrees, Refused
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.verify.axioms import axiom_hash, select
from prism_mlir.verify.explain import explain, graph_data, program_data
from prism_mlir.verify.verdict import SoundnessError


@dataclass(frozen=True, slots=True)
class Certified:
    """One graph's part of a certificate. chain: its length, ``None`` where none was recovered (``reason`` says why)."""

    name: str
    data: dict[str, Any]
    chain: int | None
    rules: tuple[str, ...]
    reason: str


def certify(
    program: Program, graphs: Mapping[str, KernelGraph], groups: Sequence[str], *, seed: int = 0
) -> list[Certified]:
    """Chain and evidence for proved graphs, under the named groups of axioms.

    A graph gets exact arithmetic at many sizes with its error bound, and its chain where one can be recovered within the limits.

    Raises :class:`SoundnessError` where the checker's arithmetic contradicts a proof under axioms that are exact.
    """
    axioms, whole = select(groups), program_data(program)
    found: list[Certified] = []
    for name, graph in graphs.items():
        why, data = explain(program, graph, axioms=axioms), graph_data(graph)
        row: dict[str, Any] = {"name": name, "fingerprint": graph.fingerprint, "graph": data, "chain": why.data}
        if why.data is None:
            row["no_chain"] = why.reason
        try:
            row["evidence"] = evidence_for(whole, data, seed=seed).to_dict()
        except Refused as error:  # arithmetic knows nothing about exp, and the axioms may
            if isinstance(error, Disagrees) and all(r.exact for r in axioms):
                raise SoundnessError(
                    f"@{name} was proved, but {error.message}; this is a bug in the verifier"
                ) from error
            row["evidence"] = {"none": error.message}
        steps = None if why.data is None else why.steps
        found.append(Certified(name, row, steps, why.rules, why.reason))
    return found


def certificate(program: Program, parts: Iterable[Certified], groups: Sequence[str]) -> dict[str, Any]:
    """The certificate as JSON-able data."""
    return {
        "format": FORMAT,
        "program": program_data(program),
        "axioms": {"groups": list(groups), "hash": axiom_hash(select(groups))},
        "graphs": [p.data for p in parts],
    }
