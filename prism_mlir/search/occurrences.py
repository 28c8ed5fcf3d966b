"""How often an expression occurs in another: a bound on what may still be open in a partial graph.

A graph is left without open tiles only by using every one of them. So what occurs in all open tiles together cannot occur more
often than in the program's outputs, written in whichever way has it most often. (With softmax(q k) v, say, tensor v may be loaded
once: in the loop or before it, not both; and q k may be multiplied in two places, no more.)

Counts of all expressions are packed into one integer, ``WIDTH`` bits each, so that adding them up and comparing them is one
operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from prism_mlir.search.egraph import EGraph

WIDTH = 16
MOST = (1 << WIDTH - 2) - 1  # counts stop here; two of them still fit


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Packed counts of a saturated e-graph.

    fewest: for each e-class, how often each e-class occurs in any of its terms, at least (itself once)
    most:   how often each e-class occurs in all outputs together, at most, with the bit above each count set
    guard:  the bit above each count; 0 where nothing is known (some class contains itself), and nothing is pruned
    order:  the e-classes, in the order of their counts
    """

    fewest: dict[int, int] = field(default_factory=dict)
    most: int = 0
    guard: int = 0
    order: tuple[int, ...] = ()

    def admit(self, exprs: Iterable[int]) -> bool:
        """Whether tiles of these expressions can all go into the outputs."""
        fewest = self.fewest
        return (self.most - sum([fewest[e] for e in exprs])) & self.guard == self.guard if self.guard else True


def occurrences(graph: EGraph, roots: Sequence[int]) -> Occurrences:
    """Count in the terms of a saturated e-graph."""
    order = _children_first(graph, roots)
    if order is None:
        return Occurrences()
    place = {c: k for k, c in enumerate(order)}
    fewest = np.zeros((len(order), len(order)), dtype=np.int64)  # [class, class counted in it]
    most = np.zeros_like(fewest)
    for k, c in enumerate(order):
        children = [[place[graph.find(child)] for child in node.children] for node in graph.nodes_of(c)]
        fewest[k] = np.min([fewest[inner].sum(axis=0) for inner in children], axis=0)
        most[k] = np.minimum(np.max([most[inner].sum(axis=0) for inner in children], axis=0), MOST)
        fewest[k, k] = most[k, k] = 1
    total = np.minimum(most[[place[graph.find(r)] for r in roots]].sum(axis=0), MOST)
    guard = _packed(np.full(len(order), 1 << WIDTH - 1))
    packed = {c: _packed(fewest[k]) for k, c in enumerate(order)}
    return Occurrences(packed, _packed(total) | guard, guard, tuple(order))


def _packed(counts: npt.NDArray[np.int64]) -> int:
    return int.from_bytes(counts.astype("<u2").tobytes(), "little")


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
