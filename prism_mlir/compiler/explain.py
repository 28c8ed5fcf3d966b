"""Why is a graph found, or not? Search rules first (``search.why``), then what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from prism_mlir.compiler.discover import Discovery
from prism_mlir.compiler.workers import Judge
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import abstract_target
from prism_mlir.search.limits import SearchLimits
from prism_mlir.search.normal_form import Form, normal_form
from prism_mlir.search.why import Reached, Rejected, explain
from prism_mlir.verify.verdict import Counterexample, Verdict


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a graph.

    found:      whether the search yields it (a symbolic graph: whether it yields one of its mappings)
    rule:       which rule rejects it (a name of ``search.why.RULES``, ``late load``, ``limit``, ``same``); empty where found
    text:       in words
    candidates: numbers of the candidates that it is
    verdict:    the graph's own, where its mappings are concrete
    """

    name: str
    found: bool
    rule: str
    text: str
    candidates: tuple[int, ...] = ()
    verdict: Verdict | None = None

    def to_dict(self) -> dict[str, object]:
        return {
            "graph": self.name,
            "found": self.found,
            "rule": self.rule,
            "text": self.text,
            "candidates": list(self.candidates),
            "verdict": None if self.verdict is None else self.verdict.status.value,
        }


def why(
    program: Program,
    graphs: Iterable[tuple[str, KernelGraph]],
    limits: SearchLimits,
    discovery: Discovery,
    judge: Judge,
) -> list[Answer]:
    """An answer for each graph (name, graph), in order.

    discovery: what the search of the program found within the limits
    """
    explainer = _Explainer(program, limits, discovery, judge)
    return [explainer.answer(name, graph) for name, graph in graphs]


class _Explainer:
    def __init__(self, program: Program, limits: SearchLimits, discovery: Discovery, judge: Judge) -> None:
        self.program, self.limits, self.discovery, self.judge = program, limits, discovery, judge
        self.target = abstract_target(program)
        self.number: dict[Form, int] = {}
        self.mapped: dict[Form, list[int]] = {}
        for k, graph in enumerate(discovery.candidates):
            self.number[normal_form(graph)] = k
            self.mapped.setdefault(normal_form(symbolic(graph)), []).append(k)
        self.seen: dict[Form, str] = {}

    def answer(self, name: str, graph: KernelGraph) -> Answer:
        reached = explain(self.program, graph, self.limits, self._refute, self.target)
        if isinstance(reached, Rejected):
            return self._with_verdict(Answer(name, False, reached.rule, reached.where), graph)
        before = self.seen.setdefault(reached.form, name)
        found = self._found(name, graph, reached)
        notes = [*reached.notes, *([f"the same graph as {before}"] if before != name else [])]
        return replace(found, text="; ".join([found.text, *notes]))

    def _found(self, name: str, graph: KernelGraph, reached: Reached) -> Answer:
        if not graph.is_concrete:
            numbers = tuple(self.mapped.get(reached.form, ()))
            if numbers:
                return Answer(name, True, "", f"found, with {len(numbers)} mappings: {_listed(numbers)}", numbers)
        elif (k := self.number.get(reached.form)) is not None:
            verdict = self.discovery.verdicts[k]
            reason = "" if verdict.proved else f" ({verdict.reason})"
            return Answer(name, True, "", f"{verdict.status.value}{reason}, and found as candidate {k}", (k,), verdict)
        return self._with_verdict(self._not_found(name, graph, reached), graph)

    def _not_found(self, name: str, graph: KernelGraph, reached: Reached) -> Answer:
        if reached.late:
            return Answer(name, False, "late load", reached.late)
        if not self.discovery.funnel.complete:
            stopped = "; ".join(self.discovery.funnel.stopped_by)
            return Answer(name, False, "limit", f"no rule rejects it, but the search ended before it: {stopped}")
        return Answer(name, False, "same", "no rule rejects it, but the search keeps another graph that is the same")

    def _with_verdict(self, answer: Answer, graph: KernelGraph) -> Answer:
        """The graph's own verdict, whether the search finds it or not."""
        if not graph.is_concrete:
            return answer
        (verdict,) = self.judge.judge([graph])
        what = f": {verdict.reason}" if verdict.reason and verdict.reason not in answer.text else ""
        return replace(answer, text=f"{answer.text}; by itself it is {verdict.status.value}{what}", verdict=verdict)

    def _refute(self, graph: KernelGraph, dim: str) -> str | None:
        found = self.judge.refuter.refute_alone(graph, dim)
        return None if found is None else counterexample_text(found)


def counterexample_text(found: Counterexample) -> str:
    """``an element differs: output 0 at [0, 1] is 7, should be 3, with d_x = 2``"""
    sizes = ", ".join(f"d_{p} = {n}" for p, n in found.sizes if n > 1)
    place = f": output {found.output} at {list(found.index)} is {found.got}, should be {found.expected}"
    with_sizes = f", with {sizes}" if sizes else ""
    return f"counterexample ({found.reason}){place if found.got is not None else ''}{with_sizes}"


def symbolic(graph: KernelGraph) -> KernelGraph:
    """The graph's structure: mappings are symbols again, so nothing is known to be stored in parts."""
    return replace(graph, nodes=tuple(_symbolic(n) if isinstance(n, CustomNode) else n for n in graph.nodes))


def _symbolic(node: CustomNode) -> CustomNode:
    inputs = tuple(replace(t, expanded=()) for t in node.block.inputs)
    return replace(node, block=replace(node.block, inputs=inputs), mapping=None)


def _listed(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"candidates {shown}{', ...' if len(numbers) > 8 else ''}"
