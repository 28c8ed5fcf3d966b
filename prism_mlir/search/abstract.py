"""Abstract expressions and expression-guided pruning (paper, section 3.3; Mirage, section 4.3).

At d = 1 tiles are whole tensors, whatever the mappings. A tensor's abstract expression forgets the order of its dims and keeps
the algebra: a matmul is a sum of products, a transpose or an accumulator is nothing. The output's expression is saturated once
under axioms that hold for real numbers; a tile can be part of a correct graph only if its expression is one of the
subexpressions found there. The check for a new operator is one dictionary look-up.

The axioms equate at least what the prover can prove, so pruning never loses a graph the prover would accept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from prism_mlir.graph.dims import DimClass, DimClasses, dim_classes
from prism_mlir.graph.ops import OPS, Kind, Op, keep
from prism_mlir.graph.program import Program
from prism_mlir.search.egraph import EGraph, ENode, Label

MAX_NODES = 60_000

_LINEAR_PAIRS = ("add", "sub")
_COMMUTATIVE = ("add", "mul", "max", "min")
_REDUCTIONS = frozenset(name for name, spec in OPS.items() if spec.kind is Kind.REDUCE)
_KEEP_OR_ZERO = str(keep(0.0))  # linear in what it keeps


def label_of(op: Op) -> Label:
    """The label of an elementwise operator; what it is on two operands is told by the label's first word."""
    return (op.name, str(op.fn)) if op.fn is not None else (str(op),)


def constant_label(op: Op) -> Label:
    return ("constant", repr(op.value))


def sum_label(kind: str, dim_class: int) -> Label:
    return (kind, str(dim_class))


@dataclass
class AbstractTarget:
    """The saturated expressions of a program's outputs.

    inputs:    e-class of each program input
    roots:     e-class of each program output
    distance:  for each e-class, the fewest operators that lead from it to an output
    single:    likewise, the fewest operators of one operand (those of two operands join tiles, and are counted by them)
    saturated: whether saturation finished; where it did not, the tables are too small and must not prune
    above, pairs: look-up tables, see :meth:`on_one` and :meth:`on_two`
    """

    graph: EGraph
    inputs: tuple[int, ...]
    roots: tuple[int, ...]
    distance: dict[int, int]
    saturated: bool

    above: dict[int, dict[Label, int]]
    pairs: dict[tuple[int, int], dict[str, int]]
    single: dict[int, int] = field(default_factory=dict)
    _support: dict[int, frozenset[int]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """E-nodes in the saturated graph."""
        return len(self.graph.table)

    def support(self, expr: int) -> frozenset[int]:
        """Program inputs that occur in an expression (axioms neither lose nor invent any)."""
        if not self._support:
            self._support = _supports(self.graph)
        return self._support[self.graph.find(expr)]

    def on_one(self, expr: int) -> Mapping[Label, int]:
        """Label of every operator on one subexpression whose result is a subexpression -> that result."""
        return self.above.get(expr, {})

    def on_two(self, left: int, right: int) -> Mapping[str, int]:
        """Name of every operator on two subexpressions whose result is a subexpression -> that result."""
        return self.pairs.get((left, right), {})

    def apply(self, op: Op, operands: tuple[int, ...], contracted: DimClass = None) -> int | None:
        """E-class of an operator applied to subexpressions; ``None`` where the result is no subexpression.

        contracted: the dim class a matmul contracts or a reduction reduces (``None``: a dim of size 1)
        """
        match op.kind:
            case Kind.MATMUL:
                product = self.on_two(*operands).get("mul")
                if product is None or contracted is None:
                    return product
                return self.on_one(product).get(sum_label("sum", contracted))
            case Kind.REDUCE if contracted is not None:
                return self.on_one(operands[0]).get(sum_label(op.name, contracted))
            case Kind.TRANSPOSE | Kind.RESHAPE | Kind.REDUCE:
                return operands[0]
            case Kind.BINARY:
                return self.on_two(*operands).get(label_of(op)[0])
            case Kind.UNARY:
                return self.on_one(operands[0]).get(label_of(op))
            case Kind.CONSTANT:
                return self.graph.lookup(constant_label(op))


def abstract_target(program: Program, max_nodes: int = MAX_NODES) -> AbstractTarget:
    """Build and saturate the abstract expressions of a program's outputs."""
    classes = dim_classes(program)
    ambiguous = frozenset(c for row in classes.of for c in row if c is not None and row.count(c) > 1)

    def dims(node: ENode, children: list[frozenset[int]]) -> frozenset[int]:
        if node.label[0] == "input":
            return frozenset(c for c in classes.of[int(node.label[1])] if c is not None)
        free = frozenset().union(*children)
        reduced = node.label[0] in _REDUCTIONS and int(node.label[1]) not in ambiguous
        return free - {int(node.label[1])} if reduced else free

    graph = EGraph(dims)
    values = [graph.add(("input", str(k))) for k in range(len(program.inputs))]
    for k, node in enumerate(program.nodes):
        values.append(_encode(graph, node.op, [values[v] for v in node.operands], classes, node.operands))
        assert len(values) == len(program.inputs) + k + 1
    saturated = graph.saturate(_rules(ambiguous), max_nodes)
    inputs = tuple(graph.find(v) for v in values[: len(program.inputs)])
    roots = tuple(graph.find(values[o.value]) for o in program.outputs)
    distance = _distances(graph, roots)
    above, pairs = _tables(graph, distance)
    single = _distances(graph, roots, join=0)
    return AbstractTarget(graph, inputs, roots, distance, saturated, above, pairs, single)


def _supports(graph: EGraph) -> dict[int, frozenset[int]]:
    support: dict[int, frozenset[int]] = {}
    changed = True
    while changed:
        changed = False
        for node, c in graph.table.items():
            own = frozenset({int(node.label[1])}) if node.label[0] == "input" else frozenset[int]()
            own = own.union(support.get(c, ()), *(support.get(graph.find(k), ()) for k in node.children))
            if own != support.get(c):
                support[c], changed = own, True
    return support


def _tables(
    graph: EGraph, distance: Mapping[int, int]
) -> tuple[dict[int, dict[Label, int]], dict[tuple[int, int], dict[str, int]]]:
    """E-nodes by their children; results that lead to no output, and are no factor of a matmul that does, are left out."""
    above: dict[int, dict[Label, int]] = {}
    pairs: dict[tuple[int, int], dict[str, int]] = {}
    for node, c in graph.table.items():
        if c not in distance:
            continue
        if len(node.children) == 1:
            above.setdefault(node.children[0], {})[node.label] = c
        elif len(node.children) == 2:
            pairs.setdefault((node.children[0], node.children[1]), {})[node.label[0]] = c
    return above, pairs


def _encode(graph: EGraph, op: Op, operands: list[int], classes: DimClasses, ids: tuple[int, ...]) -> int:
    match op.kind:
        case Kind.MATMUL:
            product = graph.add(("mul",), *operands)
            contracted = classes.of[ids[0]][-1]
            return product if contracted is None else graph.add(sum_label("sum", contracted), product)
        case Kind.REDUCE:
            assert op.dim is not None
            reduced = classes.of[ids[0]][op.dim]
            return operands[0] if reduced is None else graph.add(sum_label(op.name, reduced), *operands)
        case Kind.TRANSPOSE | Kind.RESHAPE:
            return operands[0]
        case Kind.CONSTANT:
            return graph.add(constant_label(op))
        case _:
            return graph.add(label_of(op), *operands)


def _rules(ambiguous: frozenset[int]):  # type: ignore[no-untyped-def]
    """The abstract axioms, each as "this node also equals that term"."""

    def independent(graph: EGraph, e: int, dim_class: str) -> bool:
        return int(dim_class) in ambiguous or int(dim_class) not in graph.data[graph.find(e)]

    def equal(graph: EGraph, c: int, label: Label, *children: int) -> None:
        graph.union(c, graph.add(label, *children))

    def apply(graph: EGraph, node: ENode, c: int) -> None:
        name = node.label[0]
        if name in _COMMUTATIVE:
            a, b = node.children
            equal(graph, c, node.label, b, a)
            for inner in graph.nodes_of(a):
                if inner.label == node.label:  # (p.q).b = p.(q.b)
                    equal(graph, c, node.label, inner.children[0], graph.add(node.label, inner.children[1], b))
        if name == "mul":
            _mul(graph, node, c)
        elif name == "div":
            _div(graph, node, c)
        elif name in _LINEAR_PAIRS:
            _factor(graph, node, c)
        elif name == "sum":
            _sum(graph, node, c)
        elif name == _KEEP_OR_ZERO:
            _keep(graph, node, c)
        elif name in _REDUCTIONS:
            _commute(graph, node, c)

    def _keep(graph: EGraph, node: ENode, c: int) -> None:
        mask, a = node.children
        for inner in graph.nodes_of(a):
            if inner.label[0] == "sum" and independent(
                graph, mask, inner.label[1]
            ):  # keep(m, sum(p)) = sum(keep(m, p))
                equal(graph, c, inner.label, graph.add(node.label, mask, inner.children[0]))

    def _commute(graph: EGraph, node: ENode, c: int) -> None:
        for inner in graph.nodes_of(node.children[0]):
            if inner.label[0] == node.label[0]:
                equal(graph, c, inner.label, graph.add(node.label, inner.children[0]))

    def _mul(graph: EGraph, node: ENode, c: int) -> None:
        a, b = node.children
        for inner in graph.nodes_of(a):
            if inner.label[0] in _LINEAR_PAIRS:  # (p+q).b = p.b + q.b
                left, right = (graph.add(("mul",), p, b) for p in inner.children)
                equal(graph, c, inner.label, left, right)
            elif inner.label[0] == "div":  # (p/q).b = (p.b)/q
                p, q = inner.children
                equal(graph, c, ("div",), graph.add(("mul",), p, b), q)
            elif inner.label[0] == "sum" and independent(graph, b, inner.label[1]):  # sum(p).b = sum(p.b)
                equal(graph, c, inner.label, graph.add(("mul",), inner.children[0], b))

    def _div(graph: EGraph, node: ENode, c: int) -> None:
        a, b = node.children
        for inner in graph.nodes_of(a):
            if inner.label[0] == "mul":  # (p.q)/b = (p/b).q
                p, q = inner.children
                equal(graph, c, ("mul",), graph.add(("div",), p, b), q)
            elif inner.label[0] == "div":  # (p/q)/b = p/(q.b)
                p, q = inner.children
                equal(graph, c, ("div",), p, graph.add(("mul",), q, b))
            elif inner.label[0] in _LINEAR_PAIRS:  # (p+q)/b = p/b + q/b
                left, right = (graph.add(("div",), p, b) for p in inner.children)
                equal(graph, c, inner.label, left, right)
            elif inner.label[0] == "sum" and independent(graph, b, inner.label[1]):  # sum(p)/b = sum(p/b)
                equal(graph, c, inner.label, graph.add(("div",), inner.children[0], b))
        for inner in graph.nodes_of(b):
            if inner.label[0] == "mul":  # a/(p.q) = (a/p)/q
                p, q = inner.children
                equal(graph, c, ("div",), graph.add(("div",), a, p), q)
            elif inner.label[0] == "div":  # a/(p/q) = (a.q)/p
                p, q = inner.children
                equal(graph, c, ("div",), graph.add(("mul",), a, q), p)

    def _factor(graph: EGraph, node: ENode, c: int) -> None:
        a, b = node.children
        for left in graph.nodes_of(a):
            for right in graph.nodes_of(b):
                if left.label != right.label:
                    continue
                if left.label[0] in ("mul", "div") and graph.find(left.children[1]) == graph.find(right.children[1]):
                    inner = graph.add(node.label, left.children[0], right.children[0])
                    equal(graph, c, left.label, inner, left.children[1])
                elif left.label[0] == "sum" and _same_dims(graph, left, right):
                    equal(graph, c, left.label, graph.add(node.label, left.children[0], right.children[0]))

    def _same_dims(graph: EGraph, left: ENode, right: ENode) -> bool:
        return all(int(n.label[1]) in graph.data[graph.find(n.children[0])] for n in (left, right))

    def _sum(graph: EGraph, node: ENode, c: int) -> None:
        for inner in graph.nodes_of(node.children[0]):
            name = inner.label[0]
            if name == "sum":  # sums commute
                equal(graph, c, inner.label, graph.add(node.label, inner.children[0]))
            elif name == "mul" and independent(graph, inner.children[1], node.label[1]):  # sum(p.q) = sum(p).q
                equal(graph, c, ("mul",), graph.add(node.label, inner.children[0]), inner.children[1])
            elif name == "div" and independent(graph, inner.children[1], node.label[1]):
                equal(graph, c, ("div",), graph.add(node.label, inner.children[0]), inner.children[1])
            elif name == _KEEP_OR_ZERO and independent(graph, inner.children[0], node.label[1]):
                equal(graph, c, inner.label, inner.children[0], graph.add(node.label, inner.children[1]))
            elif name in _LINEAR_PAIRS and all(int(node.label[1]) in graph.data[graph.find(x)] for x in inner.children):
                left, right = (graph.add(node.label, x) for x in inner.children)
                equal(graph, c, inner.label, left, right)

    return apply


def _distances(graph: EGraph, roots: tuple[int, ...], join: int = 1) -> dict[int, int]:
    """Fewest operators from each class up to a root, a matmul (sum of a product) counting as one.

    join: what an operator of two operands counts
    """
    above: dict[int, list[tuple[int, int]]] = {}  # child class -> (parent class, operators)
    for node, c in graph.table.items():
        for child in node.children:
            above.setdefault(c, []).append((child, 1 if len(node.children) == 1 else join))
        if node.label[0] == "sum":
            for inner in graph.nodes_of(node.children[0]):
                if inner.label == ("mul",):
                    for child in inner.children:
                        above.setdefault(c, []).append((child, join))
    distance = dict.fromkeys(roots, 0)
    queue = deque(roots)
    while queue:
        c = queue.popleft()
        for child, step in above.get(c, ()):
            if child not in distance or distance[child] > distance[c] + step:
                distance[child] = distance[c] + step
                queue.append(child)
    return distance
