"""Check a certificate: is it about this program and these graphs, and is what it says true?

A certificate is a JSON object::

    format   "prism certificate 1"
    program  what is computed: inputs (shapes), nodes (operator, operands, attributes), outputs (values); see ``model``
    axioms   groups, and the hash that names the axioms in them
    graphs   for each graph its name, its fingerprint, the graph (kernels, maps), and

             chain     terms: rows [symbol, operand rows, attributes]; outputs: for each output the steps that turn the program's
                       term into the graph's: rule, forward (left to right), at (operand positions from the root), with (what
                       the rule's variables stand for; tensors are rows of terms). null where no chain was recovered
             no_chain  why there is none
             evidence  prime, sizes and seeds of the trials in exact arithmetic, and the bound on their error (log10)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prism_mlir.certify.axioms import Axiom, digest
from prism_mlir.certify.encode import encode_graph, encode_program
from prism_mlir.certify.evidence import Evidence, Tester
from prism_mlir.certify.model import read_graph, read_program
from prism_mlir.certify.replay import Replay
from prism_mlir.certify.sizes import Refused
from prism_mlir.certify.terms import Terms
from prism_mlir.certify.typing import Dims, Typer

FORMAT = "prism certificate 1"


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found about one graph.

    chain:    number of steps that lead from the program to the graph, all of them checked; ``None`` where there is no chain
    rules:    axioms used, sorted
    evidence: exact arithmetic that agreed; ``None`` where it does not apply
    note:     why there is no chain, or no evidence
    """

    name: str
    chain: int | None
    rules: tuple[str, ...]
    evidence: Evidence | None
    note: str = ""


def evidence_for(program: Any, graph: Any, trials: int = 8, seed: int = 0) -> Evidence:
    """Evidence for a graph, given as plain data. Raises :class:`Refused` where it does not compute the program."""
    whole, terms = read_program(program), Terms()
    return Tester(whole, Dims(whole), terms).test(read_graph(graph, whole), encode_program(whole, terms), trials, seed)


def check_certificate(
    certificate: Any, program: Any, graphs: Mapping[str, Any], *, trials: int = 8, seed: int = 0
) -> list[Checked]:
    """One result for each graph of the certificate.

    program, graphs: what the certificate must be about, as plain data

    Raises :class:`Refused`, with the graph's name, at the first claim that is not true.
    """
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        raise Refused(f"this is no certificate of the form '{FORMAT}'")
    if certificate.get("program") != program:
        raise Refused("the certificate is about another program")
    claims = certificate.get("graphs")
    if not isinstance(claims, list):
        raise Refused("the certificate names no graphs")
    match certificate.get("axioms"):
        case {"groups": list() as groups, "hash": str() as name} if all(isinstance(g, str) for g in groups):
            pass
        case _:
            raise Refused("the certificate names no axioms")
    if name != digest(groups):
        raise Refused("the certificate was made with other axioms than the checker's")
    checker = _Checker(program, set(groups), trials, seed)
    return [checker.check(claim, graphs) for claim in claims]


class _Checker:
    def __init__(self, program: Any, groups: set[str], trials: int, seed: int) -> None:
        self._program, self._groups = read_program(program), groups
        self._trials, self._seed = trials, seed
        self._terms, self._dims = Terms(), Dims(self._program)
        self._type = Typer(self._dims)
        self._tester = Tester(self._program, self._dims, self._terms)
        self._wanted = encode_program(self._program, self._terms)

    def check(self, claim: Any, graphs: Mapping[str, Any]) -> Checked:
        name = str(claim.get("name")) if isinstance(claim, dict) else "?"
        try:
            if name not in graphs:
                raise Refused("there is no such graph")
            if claim.get("graph") != graphs[name]:
                raise Refused("the certificate is about another graph of this name")
            return self._check(name, claim, graphs[name])
        except Refused as error:
            raise Refused(f"@{name}: {error.message}") from None

    def _check(self, name: str, claim: Mapping[str, Any], known: Any) -> Checked:
        graph = read_graph(known, self._program)
        used, note = self._follow(claim.get("chain"), encode_graph(graph, self._terms)), ""
        if used is None:
            note = str(claim.get("no_chain", "no chain"))
        rules = tuple(sorted({a.name for a in used or ()}))
        steps = None if used is None else len(used)
        known = [a.name for a in used or () if not a.exact]
        if known:
            return Checked(
                name, steps, rules, None, f"{known[0]} is about a known function; exact arithmetic knows none"
            )
        return Checked(name, steps, rules, self._tester.test(graph, self._wanted, self._trials, self._seed), note)

    def _follow(self, chain: Any, offered: tuple[Any, ...]) -> list[Axiom] | None:
        if chain is None:
            return None
        if not isinstance(chain, dict) or not isinstance(chain.get("outputs"), list):
            raise Refused("a chain has terms and, for each output, steps")
        replay = Replay(self._terms, self._type, self._terms.table(chain.get("terms")))
        if len(chain["outputs"]) != len(offered):
            raise Refused("the chain does not reach every output")
        used: list[Axiom] = []
        for start, end, steps in zip(self._wanted, offered, chain["outputs"], strict=True):
            used += replay.follow(start, end, steps)
        foreign = [a.name for a in used if a.group not in self._groups]
        if foreign:
            raise Refused(f"{foreign[0]} is not among the axioms the certificate names")
        return used
