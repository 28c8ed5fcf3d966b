"""Windows of a program: a few operators that belong together, as a program of their own.

A program too large for brute force is tested window by window (see ``exhaustive``). A window is connected (seen as an undirected
graph, by values that pass between its operators) and convex (no path between two of its operators leaves it), so what enters
and what leaves make it a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import permutations

from prism_mlir.graph.ops import Shape
from prism_mlir.graph.program import Program
from prism_mlir.search.partition import part_of

Nodes = frozenset[int]
Key = tuple[object, ...]


def windows(programs: Iterable[Program], most: int) -> Iterator[Program]:
    """All windows of at most ``most`` operators, small ones of a program first; of those that are the same but for names and
    numbering, the first.

    The inputs of a window are the values that enter; its outputs are the values that are used outside, and the program's own.
    """
    seen: set[Key] = set()
    for program in programs:
        for window in _windows_of(program, most):
            key = window_key(window)
            if key not in seen:
                seen.add(key)
                yield window


def _windows_of(program: Program, most: int) -> Iterator[Program]:
    count = len(program.inputs)
    before = [frozenset(v - count for v in n.operands if v >= count) for n in program.nodes]
    level = {frozenset({k}) for k in range(len(program.nodes))}
    for _ in range(most):
        for nodes in sorted(level, key=sorted):
            if _is_convex(nodes, before):
                yield _cut_out(program, nodes, before)
        level = {nodes | {k} for nodes in level for k in _neighbours(nodes, before)}


def _neighbours(nodes: Nodes, before: list[Nodes]) -> Nodes:
    after = frozenset(k for k, operands in enumerate(before) if operands & nodes)
    return (after.union(*(before[k] for k in nodes))) - nodes


def _descendants(nodes: Nodes, before: list[Nodes]) -> Nodes:
    found: set[int] = set()
    for k, operands in enumerate(before):  # operands come first
        if operands & (nodes | found):
            found.add(k)
    return frozenset(found)


def _is_convex(nodes: Nodes, before: list[Nodes]) -> bool:
    left = _descendants(nodes, before) - nodes
    return not _descendants(left, before) & nodes


def _cut_out(program: Program, nodes: Nodes, before: list[Nodes]) -> Program:
    """The window as a run of consecutive nodes of the program in another order: what does not need it goes first."""
    after = _descendants(nodes, before) - nodes
    order = sorted(range(len(program.nodes)), key=lambda k: (k in after) * 2 + (k in nodes))
    first = len(program.nodes) - len(after) - len(nodes)
    window = part_of(_in_order(program, order), first, first + len(nodes)).program
    return replace(window, name=f"{program.name} {'+'.join(map(str, sorted(nodes)))}")


def _in_order(program: Program, order: list[int]) -> Program:
    count = len(program.inputs)
    number = {k: k for k in range(count)} | {count + k: count + n for n, k in enumerate(order)}
    nodes = [program.nodes[k] for k in order]
    return replace(
        program,
        nodes=tuple(replace(n, operands=tuple(number[v] for v in n.operands)) for n in nodes),
        outputs=tuple(replace(o, value=number[o.value]) for o in program.outputs),
    )


def window_key(program: Program) -> Key:
    """The same for programs that differ only in names and in the numbering of inputs, nodes and outputs.

    It tries all orders of the nodes, so programs must be small.
    """
    count = len(program.inputs)
    orders = permutations(range(len(program.nodes)))
    return min(_key(program, o) for o in orders if _is_topological(program, o, count))


def _is_topological(program: Program, order: tuple[int, ...], count: int) -> bool:
    place = {count + k: n for n, k in enumerate(order)}
    return all(place.get(v, -1) < n for n, k in enumerate(order) for v in program.nodes[k].operands)


def _key(program: Program, order: tuple[int, ...]) -> Key:
    """Nodes in an order, inputs (as negative numbers) in the order of their first use."""
    count, shapes = len(program.inputs), program.shapes
    number = {count + k: n for n, k in enumerate(order)}
    entered: list[Shape] = []
    nodes = []
    for k in order:
        op, operands = program.nodes[k].op, list(program.nodes[k].operands)
        if op.spec.commutative:
            operands.sort(key=lambda v: (v not in number, number.get(v, 0), shapes[v]))
        for v in operands:
            if v not in number:
                entered.append(shapes[v])
                number[v] = -len(entered)
        nodes.append((op.sort_key, tuple(number[v] for v in operands)))
    return tuple(nodes), tuple(entered), tuple(sorted(number[o.value] for o in program.outputs))
