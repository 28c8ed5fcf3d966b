"""One form for all ways to write the same graph: nodes in the search's order, parallel dims nameless.

Two graphs have the same form exactly if they differ in nothing but the numbering of nodes and saved tiles, operand order of
commutative operators, tensors that are passed and not loaded, names and order of grid dims, and grid dims that cut nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prism_mlir.graph.block import BlockGraph, BlockNode, Load
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import Op
from prism_mlir.search.library import fold

Form = tuple[object, ...]

_Key = tuple[int, tuple[int, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Ordered:
    """The nodes of a block graph in the search's order.

    nodes:   with loads of kernel values instead of block inputs
    outputs: in the order of the given graph
    was:     for each node, its number in the given graph
    """

    nodes: tuple[BlockNode, ...]
    outputs: tuple[int, ...]
    was: tuple[int, ...]


def ordered(block: BlockGraph, operands: Sequence[int]) -> Ordered:
    """Loads by tensor, then every node after its operands, smallest key first (see ``generate``).

    operands: kernel value of each input of the block graph
    """
    place: dict[int, int] = {}
    nodes: list[BlockNode] = []
    loads = [(operands[op.source], op.invariant, k) for k in block.loads if isinstance(op := block.nodes[k].op, Load)]
    for value, invariant, k in sorted(loads):
        place[k] = len(nodes)
        nodes.append(BlockNode(Load(value, invariant)))
    waiting = {k for k in range(len(block.nodes)) if k not in place}
    while waiting:
        ready = [k for k in waiting if all(v in place for v in block.nodes[k].operands)]
        key, k = min((_key(block.nodes[k], place), k) for k in ready)
        waiting.remove(k)
        place[k] = len(nodes)
        nodes.append(BlockNode(block.nodes[k].op, key[1]))
    was = sorted(place, key=lambda k: place[k])
    return Ordered(tuple(nodes), tuple(place[o] for o in block.outputs), tuple(was))


def _key(node: BlockNode, place: dict[int, int]) -> _Key:
    operands = tuple(place[v] for v in node.operands)
    if isinstance(node.op, Op) and node.op.spec.commutative:
        operands = tuple(sorted(operands))
    return max(operands, default=-1), operands, node.op.sort_key


def normal_form(graph: KernelGraph) -> Form:
    """What is left of a graph when everything that makes no difference is taken away."""
    folded = fold(graph) if any(isinstance(n, LibraryNode) for n in graph.nodes) else None
    if folded is not None:
        return ("library", folded[1], *normal_form(folded[0]))
    number = {v: v for v in range(len(graph.inputs))}  # kernel values as the form counts them
    forms: list[object] = []
    shared = _shared_dims(graph)
    value = len(graph.inputs)
    for node in graph.nodes:
        operands = [number[v] for v in node.operands]
        if isinstance(node, LibraryNode):
            forms.append((str(node.op), tuple(operands)))
            number[value], value = len(number), value + 1
            continue
        found = ordered(node.block, operands)
        keys = [(_first(graph.outputs, value + o), place) for o, place in enumerate(found.outputs)]
        order = sorted(range(len(keys)), key=lambda o, keys=keys: keys[o])  # type: ignore[misc]
        forms.append(_custom_form(node, found, order, shared))
        number |= {value + o: value + k for k, o in enumerate(order)}
        value += len(order)
    return (*forms, tuple(number[v] for v in graph.outputs))


def _first(values: Sequence[int], value: int) -> int:
    return values.index(value) if value in values else len(values)


def _shared_dims(graph: KernelGraph) -> frozenset[str]:
    names = [p for n in graph.custom for p in n.block.parallel_dims]
    return frozenset(p for p in names if names.count(p) > 1)


def _custom_form(node: CustomNode, found: Ordered, order: Sequence[int], shared: frozenset[str]) -> Form:
    nodes = tuple((n.op.sort_key, n.operands) for n in found.nodes)
    outputs = tuple(found.outputs[o] for o in order)
    if node.mapping is None:
        return (nodes, outputs)
    mapping = reordered(node.block, node.mapping, found, order)
    columns = []
    for g, name in enumerate(node.block.grid):
        column = tuple(row[g] for row in (*mapping.imap, *mapping.omap))
        if any(d >= 0 for d in column):
            columns.append((name in shared, column))
    return (nodes, outputs, tuple(sorted(columns)), mapping.fmap, node.block.loop in shared)


def reordered(block: BlockGraph, mapping: Mapping, found: Ordered, order: Sequence[int]) -> Mapping:
    """A mapping of the given graph as a mapping of its ordered nodes."""
    row = {k: n for n, k in enumerate(block.loads)}
    loads = [row[k] for k in found.was[: len(block.loads)]]
    return replace(
        mapping,
        imap=tuple(mapping.imap[n] for n in loads),
        fmap=tuple(mapping.fmap[n] for n in loads),
        omap=tuple(mapping.omap[o] for o in order),
    )
