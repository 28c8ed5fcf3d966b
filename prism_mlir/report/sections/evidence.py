"""The verdict of the chosen graph and its evidence: what the refuter tried, what the prover used, and a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from prism_mlir.graph.errors import InputError
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.words import plural

MOST_STEPS = 400


@dataclass(frozen=True, slots=True)
class ProofStep:
    """A step of a chain: a rule, read from left to right or back, applied at a place of the term."""

    number: int
    rule: str
    forward: bool
    place: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a certificate says of the chosen graph. steps: the first of ``length``; ``note``: why there is no chain."""

    steps: tuple[ProofStep, ...]
    length: int
    note: str
    evidence: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """sizes: parallel sizes that were tried, one row a trial; ``dims``: their names.

    together: candidates in the e-graph that decided
    without: why there is no certificate to show
    """

    status: str
    reason: str
    fingerprint: str
    rules: tuple[str, ...]
    axioms: str
    iterations: int
    nodes: int
    together: int
    seeds: tuple[int, ...]
    dims: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...]
    counterexample: tuple[tuple[str, str], ...]
    certificate: Certificate | None
    without: str
    recorded: bool


def view(contents: Contents, k: int) -> Evidence:
    """The evidence of part ``k``."""
    part = contents.parts[k]
    verdict, graph = part["verdict"], part["graph"]["fingerprint"].text()
    tried = [dict(s.items()) for s in verdict["sizes_tried"].list()]
    dims = tuple(dict.fromkeys(p for sizes in tried for p in sizes))
    wrong = verdict.get("counterexample")
    certificate, without = _certificate(contents, graph)
    return Evidence(
        status=verdict["status"].text(),
        reason=verdict["reason"].text(),
        fingerprint=graph,
        rules=verdict["rules_fired"].texts(),
        axioms=verdict["axiom_hash"].text(),
        iterations=verdict["iterations"].count(),
        nodes=verdict["nodes"].count(),
        together=verdict["together"].count(),
        seeds=verdict["seeds"].counts(),
        dims=dims,
        sizes=tuple(tuple(sizes[p].count() if p in sizes else 1 for p in dims) for sizes in tried),
        counterexample=() if wrong is None else tuple((name, str(v.value)) for name, v in wrong.items()),
        certificate=certificate,
        without=without,
        recorded=part["on record"]["proof"].flag(),
    )


def _certificate(contents: Contents, fingerprint: str) -> tuple[Certificate | None, str]:
    """What the folder's certificate says of a graph, or why it says nothing."""
    if contents.certificate is None:
        return None, contents.absent.get("certificate.json", "the folder has no certificate.json")
    try:
        for row in contents.certificate["graphs"].list():
            if row["fingerprint"].text() == fingerprint:
                return _read(row), ""
    except InputError as error:
        return None, error.message
    return None, "certificate.json is about other graphs"


def _read(row: Data) -> Certificate:
    chain, evidence, found = row.get("chain"), row["evidence"], []
    if chain is not None:
        for output in chain["outputs"].list():
            found += output.list()
    steps = tuple(
        ProofStep(n, s["rule"].text(), s["forward"].flag(), _place(s["at"]))
        for n, s in enumerate(found[:MOST_STEPS], 1)
    )
    note = "" if chain is not None else row["no_chain"].text()
    return Certificate(steps, len(found), note, tuple(_fact(name, v) for name, v in evidence.items()))


def _fact(name: str, value: Data) -> tuple[str, str]:
    """A part of the evidence, in words."""
    if name == "trials" and isinstance(value.value, list):
        return "exact arithmetic", plural(len(value.value), "trial")
    if name == "log10_error_bound":
        bound = "no theorem covers it" if value.value is None else f"at most 10^{ceil(value.number())}"
        return "chance that a wrong graph passes", bound
    return name, _short(value.value)


def _place(at: Data) -> str:
    return ".".join(map(str, at.counts())) or "the whole"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 200 else text[:199] + "…"
