"""The order in which diverged threads run: every loop together, and everything before what it leads to.

Running the fragment that is first in this order lets threads that took different ways meet again at the earliest
point where all their
paths join. (The smallest program counter does the same only where the compiler lays blocks out in source order, and LLVM
often does not.) The order is Bourdoncle's weak topological order ("Efficient chaotic iteration strategies with
widenings", 1993): strongly connected components in topological order, each with its head first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Loops in loops. What lies deeper keeps the order of the text: each level costs a walk over all of its edges.
DEEPEST = 32


def weak_topological_order(successors: Sequence[Sequence[int]]) -> list[int]:
    """Position of each node; node 0 is the entry. Unreachable nodes come last.

    >>> weak_topological_order([[3], [2, 3], [], [4, 1], [1]])
    [0, 3, 4, 1, 2]
    """
    order: list[int] = []
    work: list[tuple[frozenset[int], int | None, int]] = [(frozenset(range(len(successors))), None, 0)]
    while work:
        nodes, head, depth = work.pop()
        if head is not None:
            order.append(head)
            nodes = nodes - {head}
        if depth > DEEPEST:
            order.extend(sorted(nodes))
            continue
        graph = {n: [s for s in successors[n] if s in nodes] for n in sorted(nodes)}
        components = _components(graph)
        if len(components) == len(nodes):
            order.extend(component[0] for component in components)
            continue
        # Components that are loops are ordered later, in place: push in reverse.
        pending: list[tuple[frozenset[int], int | None, int]] = []
        for component in components:
            members = frozenset(component)
            chosen = _head(members, successors) if len(members) > 1 else component[0]
            pending.append((members, chosen, depth + 1))
        work.extend(reversed(pending))
    position = [0] * len(successors)
    for i, node in enumerate(order):
        position[node] = i
    return position


def _head(members: frozenset[int], successors: Sequence[Sequence[int]]) -> int:
    """The node through which a component is entered; with several, the one that the most outside edges lead to."""
    entries = dict.fromkeys(sorted(members), 0)
    for node, following in enumerate(successors):
        if node not in members:
            for s in following:
                if s in members:
                    entries[s] += 1
    return max(entries, key=lambda n: (entries[n], -n))


def _components(graph: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Strongly connected components in topological order (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in graph:
        if root in index:
            continue
        calls: list[tuple[int, int]] = [(root, 0)]
        while calls:
            node, edge = calls.pop()
            if edge == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            if edge > 0:
                low[node] = min(low[node], low[graph[node][edge - 1]])
            advanced = False
            for i in range(edge, len(graph[node])):
                s = graph[node][i]
                if s not in index:
                    calls.append((node, i + 1))
                    calls.append((s, 0))
                    advanced = True
                    break
                if s in on_stack:
                    low[node] = min(low[node], index[s])
            if advanced or low[node] != index[node]:
                continue
            component: list[int] = []
            while True:
                n = stack.pop()
                on_stack.discard(n)
                component.append(n)
                if n == node:
                    break
            found.append(component)
    return found[::-1]
