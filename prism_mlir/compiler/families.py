"""Search and proof once for a whole family of programs, and never again where that is on record.

A search is for the family's representative (``graph.family``); what it proved is kept as a record under a key that names the
family, the limits, the axioms and the code. A program of the family takes the graphs from there, at its own sizes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from prism_mlir.compiler.discover import Discovery, discover
from prism_mlir.compiler.resume import Steps
from prism_mlir.compiler.source_digest import PROOF_AREAS, PROOF_LIBRARIES, hash_of, source_digest
from prism_mlir.compiler.task_pool import TaskPool
from prism_mlir.graph.data import graph_from_data, graph_to_data
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.family import Family, family_of
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.tune.records.store import Records
from prism_mlir.verify.axioms import DEFAULT, axiom_hash, known_functions
from prism_mlir.verify.verdict import Verdict

FORMAT = 1


@dataclass(frozen=True, slots=True)
class FamilyResult:
    """Graphs of a program, and the key under which its family is on record; empty for a program that has no family."""

    key: str
    discovery: Discovery


def discover_family(
    program: Program,
    limits: SearchLimits,
    records: Records,
    *,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    pool: TaskPool | None = None,
) -> FamilyResult:
    """The graphs of a program: from the record of its family, or by a search that is recorded.

    A search that was interrupted, or stopped by the clock, is not recorded as a family: another one might find more. What it
    did is kept, and the next one goes on from there.
    pool: where to search and prove; in this process where not given

    Raises as :func:`~prism_mlir.compiler.discover.discover`.
    """
    try:
        family = family_of(program, known_functions(DEFAULT))
    except InputError:  # a reshape whose dims have no classes: searched at the program's own sizes, for itself
        return FamilyResult("", discover(program, limits, seed=seed, progress=progress, pool=pool))
    key = family_key(family, limits, seed)
    known = _read(records.family(key), family)
    if known is not None:
        return FamilyResult(key, known)
    steps = None if records.path is None else Steps(records, key)
    found = discover(family.representative, limits, seed=seed, progress=progress, pool=pool, steps=steps)
    if found.interrupted or found.out_of_time:
        if steps is not None:
            steps.flush()
    else:
        about_it = about(program, limits) | {"graphs": len(found.proved)}
        records.add_family(key, json.dumps(_payload(found, family)), about_it)
        if steps is not None:
            steps.drop()
    return FamilyResult(key, at_program(found, family))


def is_on_record(program: Program, limits: SearchLimits, records: Records, seed: int = 0) -> bool:
    """Whether the family of a program is on record, so that it needs no search."""
    try:
        family = family_of(program, known_functions(DEFAULT))
    except InputError:
        return False
    return records.family(family_key(family, limits, seed)) is not None


def family_key(family: Family, limits: SearchLimits, seed: int) -> str:
    """What the graphs of a program depend on, as a hash. A search that went to its end does not depend on the clock."""
    return hash_of(
        {
            "format": FORMAT,
            "family": family.key,
            "limits": _limits(limits),
            "seed": seed,
            "axioms": axiom_hash(DEFAULT),
            "code": source_digest(PROOF_AREAS, PROOF_LIBRARIES),
        }
    )


def about(program: Program, limits: SearchLimits) -> dict[str, Any]:
    """What a reader of a list of families wants to see."""
    return {
        "program": program.name,
        "operators": [str(n.op) for n in program.nodes],
        "inputs": [list(i.shape) for i in program.inputs],
        "limits": {k: v for k, v in _limits(limits).items() if v != getattr(SearchLimits(), k)},
    }


def at_program(found: Discovery, family: Family) -> Discovery:
    """What was found for a family's representative, for one of its programs. Graphs that coincide there are one."""
    return _instantiated(found, family.at_program)


def _instantiated(found: Discovery, instantiate: Callable[[KernelGraph], KernelGraph | None]) -> Discovery:
    verdicts: dict[KernelGraph, Verdict] = {}
    for graph, verdict in zip(found.candidates, found.verdicts, strict=True):
        own = instantiate(graph)
        if own is not None and not (own in verdicts and verdicts[own].proved):
            verdicts[own] = verdict
    return replace(found, candidates=tuple(verdicts), verdicts=tuple(verdicts.values()))


def _limits(limits: SearchLimits) -> dict[str, Any]:
    return {f.name: getattr(limits, f.name) for f in fields(limits) if f.name != "seconds"}


def _payload(found: Discovery, family: Family) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "family": family.description,
        "graphs": [graph_to_data(family.general(g)) for g in found.candidates],
        "verdicts": [v.to_dict() for v in found.verdicts],
        "funnel": found.funnel.to_dict(),
        "seconds": [found.search_seconds, found.proof_seconds],
    }


def _read(payload: str | None, family: Family) -> Discovery | None:
    """What is on record, at a program's sizes; ``None`` where there is no record, or one that nobody can read."""
    if payload is None:
        return None
    try:
        data = json.loads(payload)
        if data["format"] != FORMAT or data["family"] != json.loads(json.dumps(family.description)):
            return None
        graphs = tuple(graph_from_data(g) for g in data["graphs"])
        verdicts = tuple(Verdict.from_dict(v) for v in data["verdicts"])
        funnel = Funnel.from_dict(data["funnel"])
        search_seconds, proof_seconds = map(float, data["seconds"])
        if len(graphs) != len(verdicts):
            return None
        found = Discovery(graphs, verdicts, funnel, search_seconds, proof_seconds, recorded=True)
        return _instantiated(found, family.special)
    except (InputError, KeyError, TypeError, ValueError):
        return None
