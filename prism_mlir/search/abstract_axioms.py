"""The abstract axioms: equalities of real-number algebra that forget the order of dims (Mirage, section 4.3).

Each is read as "this node also equals that term". They hold wherever the prover's own axioms do, and equate at least what those
equate, so that pruning by them never loses a graph the prover would accept.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_mlir.graph.ops import OPS, Kind, keep
from prism_mlir.search.egraph import EGraph, ENode, Label

LINEAR_PAIRS = ("add", "sub")
COMMUTATIVE = ("add", "mul", "max", "min")
REDUCTIONS = frozenset(name for name, spec in OPS.items() if spec.kind is Kind.REDUCE)
KEEP_OR_ZERO = str(keep(0.0))  # linear in what it keeps


@dataclass(frozen=True, slots=True)
class AbstractAxioms:
    """The axioms, applied to one node at a time.

    ambiguous: dim classes that occur twice in some value; of them it is not known which dim a sum reduces, so what depends on
               them counts as independent (more is equated, less is pruned)
    """

    ambiguous: frozenset[int]

    def __call__(self, graph: EGraph, node: ENode, c: int) -> None:
        """Add what follows from the axioms for ``node`` of e-class ``c``."""
        name = node.label[0]
        if name in COMMUTATIVE:
            a, b = node.children
            _equal(graph, c, node.label, b, a)
            for inner in graph.nodes_of(a):
                if inner.label == node.label:  # (p.q).b = p.(q.b)
                    _equal(graph, c, node.label, inner.children[0], graph.add(node.label, inner.children[1], b))
        if name == "mul":
            self._mul(graph, node, c)
        elif name == "div":
            self._div(graph, node, c)
        elif name in LINEAR_PAIRS:
            self._factor(graph, node, c)
        elif name == "sum":
            self._sum(graph, node, c)
        elif name == KEEP_OR_ZERO:
            self._keep(graph, node, c)
        elif name in REDUCTIONS:
            self._commute(graph, node, c)

    def _keep(self, graph: EGraph, node: ENode, c: int) -> None:
        mask, a = node.children
        for inner in graph.nodes_of(a):
            if inner.label[0] == "sum" and self._independent(
                graph, mask, inner.label[1]
            ):  # keep(m, sum(p)) = sum(keep(m, p))
                _equal(graph, c, inner.label, graph.add(node.label, mask, inner.children[0]))

    def _commute(self, graph: EGraph, node: ENode, c: int) -> None:
        for inner in graph.nodes_of(node.children[0]):
            if inner.label[0] == node.label[0]:
                _equal(graph, c, inner.label, graph.add(node.label, inner.children[0]))

    def _mul(self, graph: EGraph, node: ENode, c: int) -> None:
        a, b = node.children
        for inner in graph.nodes_of(a):
            if inner.label[0] in LINEAR_PAIRS:  # (p+q).b = p.b + q.b
                left, right = (graph.add(("mul",), p, b) for p in inner.children)
                _equal(graph, c, inner.label, left, right)
            elif inner.label[0] == "div":  # (p/q).b = (p.b)/q
                p, q = inner.children
                _equal(graph, c, ("div",), graph.add(("mul",), p, b), q)
            elif inner.label[0] == "sum" and self._independent(graph, b, inner.label[1]):  # sum(p).b = sum(p.b)
                _equal(graph, c, inner.label, graph.add(("mul",), inner.children[0], b))

    def _div(self, graph: EGraph, node: ENode, c: int) -> None:
        a, b = node.children
        for inner in graph.nodes_of(a):
            if inner.label[0] == "mul":  # (p.q)/b = (p/b).q
                p, q = inner.children
                _equal(graph, c, ("mul",), graph.add(("div",), p, b), q)
            elif inner.label[0] == "div":  # (p/q)/b = p/(q.b)
                p, q = inner.children
                _equal(graph, c, ("div",), p, graph.add(("mul",), q, b))
            elif inner.label[0] in LINEAR_PAIRS:  # (p+q)/b = p/b + q/b
                left, right = (graph.add(("div",), p, b) for p in inner.children)
                _equal(graph, c, inner.label, left, right)
            elif inner.label[0] == "sum" and self._independent(graph, b, inner.label[1]):  # sum(p)/b = sum(p/b)
                _equal(graph, c, inner.label, graph.add(("div",), inner.children[0], b))
        for inner in graph.nodes_of(b):
            if inner.label[0] == "mul":  # a/(p.q) = (a/p)/q
                p, q = inner.children
                _equal(graph, c, ("div",), graph.add(("div",), a, p), q)
            elif inner.label[0] == "div":  # a/(p/q) = (a.q)/p
                p, q = inner.children
                _equal(graph, c, ("div",), graph.add(("mul",), a, q), p)

    def _factor(self, graph: EGraph, node: ENode, c: int) -> None:
        a, b = node.children
        for left in graph.nodes_of(a):
            for right in graph.nodes_of(b):
                if left.label != right.label:
                    continue
                if left.label[0] in ("mul", "div") and graph.find(left.children[1]) == graph.find(right.children[1]):
                    inner = graph.add(node.label, left.children[0], right.children[0])
                    _equal(graph, c, left.label, inner, left.children[1])
                elif left.label[0] == "sum" and _same_dims(graph, left, right):
                    _equal(graph, c, left.label, graph.add(node.label, left.children[0], right.children[0]))

    def _sum(self, graph: EGraph, node: ENode, c: int) -> None:
        for inner in graph.nodes_of(node.children[0]):
            name = inner.label[0]
            if name == "sum":  # sums commute
                _equal(graph, c, inner.label, graph.add(node.label, inner.children[0]))
            elif name == "mul" and self._independent(graph, inner.children[1], node.label[1]):  # sum(p.q) = sum(p).q
                _equal(graph, c, ("mul",), graph.add(node.label, inner.children[0]), inner.children[1])
            elif name == "div" and self._independent(graph, inner.children[1], node.label[1]):
                _equal(graph, c, ("div",), graph.add(node.label, inner.children[0]), inner.children[1])
            elif name == KEEP_OR_ZERO and self._independent(graph, inner.children[0], node.label[1]):
                _equal(graph, c, inner.label, inner.children[0], graph.add(node.label, inner.children[1]))
            elif name in LINEAR_PAIRS and all(int(node.label[1]) in graph.data[graph.find(x)] for x in inner.children):
                left, right = (graph.add(node.label, x) for x in inner.children)
                _equal(graph, c, inner.label, left, right)

    def _independent(self, graph: EGraph, e: int, dim_class: str) -> bool:
        return int(dim_class) in self.ambiguous or int(dim_class) not in graph.data[graph.find(e)]


def _equal(graph: EGraph, c: int, label: Label, *children: int) -> None:
    graph.union(c, graph.add(label, *children))


def _same_dims(graph: EGraph, left: ENode, right: ENode) -> bool:
    return all(int(n.label[1]) in graph.data[graph.find(n.children[0])] for n in (left, right))
