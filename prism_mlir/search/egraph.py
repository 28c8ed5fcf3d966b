"""A small e-graph: congruence closure over terms, grown by rewrite rules until nothing changes.

The abstract e-graphs of the search hold tens to a few thousand nodes and saturate, so plain Python is enough, and the result
does not depend on hashing or on limits. Proofs use egglog instead (see ``verify``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Label = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ENode:
    """An operator label applied to e-classes."""

    label: Label
    children: tuple[int, ...] = ()


Rule = Callable[["EGraph", ENode, int], Iterator[tuple[ENode, ENode | int]]]


@dataclass
class EGraph:
    """Hash-consed e-nodes and a union-find over e-classes.

    ``analysis`` combines children's data into a node's; classes that merge must agree, or data is joined by union.
    """

    analysis: Callable[[ENode, list[frozenset[int]]], frozenset[int]]
    parent: list[int] = field(default_factory=list)
    table: dict[ENode, int] = field(default_factory=dict)
    data: list[frozenset[int]] = field(default_factory=list)
    members: list[dict[ENode, None]] = field(default_factory=list)
    changed: bool = False

    def find(self, c: int) -> int:
        """The representative of an e-class."""
        while self.parent[c] != c:
            self.parent[c] = self.parent[self.parent[c]]
            c = self.parent[c]
        return c

    def canonical(self, node: ENode) -> ENode:
        return ENode(node.label, tuple(self.find(c) for c in node.children))

    def add(self, label: Label, *children: int) -> int:
        """The e-class of a term, made if it is new."""
        node = ENode(label, tuple(self.find(c) for c in children))
        known = self.table.get(node)
        if known is not None:
            return self.find(known)
        c = len(self.parent)
        self.parent.append(c)
        self.table[node] = c
        self.members.append({node: None})
        self.data.append(self.analysis(node, [self.data[x] for x in node.children]))
        self.changed = True
        return c

    def lookup(self, label: Label, *children: int) -> int | None:
        """The e-class of a term that is already there; ``None`` otherwise. Children must be representatives."""
        return self.table.get(ENode(label, children))

    def union(self, a: int, b: int) -> None:
        a, b = sorted((self.find(a), self.find(b)))
        if a == b:
            return
        self.parent[b] = a
        self.members[a].update(self.members[b])
        self.members[b] = {}
        self.data[a] = self.data[a] | self.data[b]
        self.changed = True

    def rebuild(self) -> None:
        """Restore congruence: equal children make equal nodes."""
        while True:
            fresh: dict[ENode, int] = {}
            merges: list[tuple[int, int]] = []
            for node, c in self.table.items():
                node = self.canonical(node)
                other = fresh.setdefault(node, self.find(c))
                if self.find(other) != self.find(c):
                    merges.append((other, c))
            self.table = fresh
            if not merges:
                break
            for a, b in merges:
                self.union(a, b)
        self.members = [{} for _ in self.parent]
        for node, c in self.table.items():
            self.table[node] = self.find(c)
            self.members[self.find(c)][node] = None

    def saturate(self, rules: Callable[[EGraph, ENode, int], None], max_nodes: int) -> bool:
        """Apply rules to every node until nothing changes. False when ``max_nodes`` stopped it first."""
        done: set[tuple[ENode, int]] = set()
        while True:
            self.changed = False
            before = len(self.table)
            for node, c in list(self.table.items()):
                rules(self, node, c)
                if len(self.table) > max_nodes:
                    self.rebuild()
                    return False
            self.rebuild()
            state = {(n, c) for n, c in self.table.items()}
            if len(self.table) == before and state == done:
                return True
            done = state

    def nodes_of(self, c: int) -> list[ENode]:
        """The e-nodes of a class (as of the last rebuild plus later additions)."""
        return list(self.members[self.find(c)])
