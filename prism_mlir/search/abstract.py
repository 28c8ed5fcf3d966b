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
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract_axioms import REDUCTIONS, AbstractAxioms
from prism_mlir.search.egraph import EGraph, ENode, Label
from prism_mlir.search.occurrences import Occurrences, occurrences

MAX_NODES = 60_000


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
    occurs:    how often expressions occur in each other
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
    occurs: Occurrences = field(default_factory=Occurrences)
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
            case Kind.SCAN:
                return None


def abstract_target(program: Program, max_nodes: int = MAX_NODES) -> AbstractTarget:
    """Build and saturate the abstract expressions of a program's outputs."""
    classes = dim_classes(program)
    ambiguous = frozenset(c for row in classes.of for c in row if c is not None and row.count(c) > 1)

    def dims(node: ENode, children: list[frozenset[int]]) -> frozenset[int]:
        if node.label[0] == "input":
            return frozenset(c for c in classes.of[int(node.label[1])] if c is not None)
        free = frozenset().union(*children)
        reduced = node.label[0] in REDUCTIONS and int(node.label[1]) not in ambiguous
        return free - {int(node.label[1])} if reduced else free

    graph = EGraph(dims)
    values = [graph.add(("input", str(k))) for k in range(len(program.inputs))]
    for k, node in enumerate(program.nodes):
        values.append(_encode(graph, node.op, [values[v] for v in node.operands], classes, node.operands))
        assert len(values) == len(program.inputs) + k + 1
    saturated = graph.saturate(AbstractAxioms(ambiguous), max_nodes)
    inputs = tuple(graph.find(v) for v in values[: len(program.inputs)])
    roots = tuple(graph.find(values[o.value]) for o in program.outputs)
    distance = _distances(graph, roots)
    above, pairs = _tables(graph, distance)
    single = _distances(graph, roots, join=0)
    occurs = occurrences(graph, roots) if saturated else Occurrences()
    return AbstractTarget(graph, inputs, roots, distance, saturated, above, pairs, single, occurs)


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
