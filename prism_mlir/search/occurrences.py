"""How often each program input occurs in an expression: a bound on what may still be open in a partial graph.

Axioms keep an expression's inputs, and a graph is left without open tiles only by using every one of them. So what occurs in all
open tiles together cannot occur more often than in the program's outputs, written in whichever way has it most often. (With
softmax(q k) v, say, tensor v may be loaded once: in the loop or before it, not both.)

Counts of all inputs are packed into one integer, ``WIDTH`` bits each, so that adding them up and comparing them is one operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from prism_mlir.search.egraph import EGraph, ENode

WIDTH = 16
MOST = (1 << WIDTH - 2) - 1  # counts stop here; two of them still fit


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Packed counts of a saturated e-graph.

    fewest: for each e-class, how often each input occurs in any of its terms, at least
    most:   how often each input occurs in all outputs together, at most, with the bit above each count set
    guard:  the bit above each count; 0 where nothing is known (some class contains itself), and nothing is pruned
    """

    fewest: dict[int, int] = field(default_factory=dict)
    most: int = 0
    guard: int = 0

    def admit(self, exprs: Iterable[int]) -> bool:
        """Whether tiles of these expressions can all go into the outputs."""
        fewest = self.fewest
        return (self.most - sum([fewest[e] for e in exprs])) & self.guard == self.guard if self.guard else True


def occurrences(graph: EGraph, inputs: int, roots: Sequence[int]) -> Occurrences:
    """Count in the terms of a saturated e-graph whose inputs are labelled ``("input", k)``."""
    order = _children_first(graph, roots)
    if order is None:
        return Occurrences()
    fewest: dict[int, tuple[int, ...]] = {}
    most: dict[int, tuple[int, ...]] = {}
    for c in order:
        nodes = graph.nodes_of(c)
        fewest[c] = tuple(map(min, zip(*(_added(graph, n, inputs, fewest) for n in nodes), strict=True)))
        most[c] = tuple(map(max, zip(*(_added(graph, n, inputs, most) for n in nodes), strict=True)))
    total = [min(sum(most[graph.find(r)][k] for r in roots), MOST) for k in range(inputs)]
    guard = _packed([1 << WIDTH - 1] * inputs)
    return Occurrences({c: _packed(counts) for c, counts in fewest.items()}, _packed(total) | guard, guard)


def _added(graph: EGraph, node: ENode, inputs: int, known: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Counts of a node: those of its children, added."""
    counts = [0] * inputs
    if node.label[0] == "input":
        counts[int(node.label[1])] = 1
    for child in node.children:
        for k, n in enumerate(known[graph.find(child)]):
            counts[k] = min(counts[k] + n, MOST)
    return tuple(counts)


def _packed(counts: Iterable[int]) -> int:
    return sum(n << k * WIDTH for k, n in enumerate(counts))


def _children_first(graph: EGraph, roots: Sequence[int]) -> list[int] | None:
    """Classes below the roots, each after those it is made of; ``None`` where a class contains itself."""
    order: list[int] = []
    entered: set[int] = set()
    done: set[int] = set()
    stack = [(graph.find(r), False) for r in roots]
    while stack:
        c, leaving = stack.pop()
        if leaving:
            done.add(c)
            order.append(c)
        elif c not in entered:
            entered.add(c)
            stack.append((c, True))
            stack += [(graph.find(child), False) for node in graph.nodes_of(c) for child in node.children]
    place = {c: k for k, c in enumerate(order)}
    for c in order:
        if any(place[graph.find(child)] >= place[c] for node in graph.nodes_of(c) for child in node.children):
            return None
    return order
