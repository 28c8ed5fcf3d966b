"""Graphs that differ from a given one in a single place: how the verifier is tested.

Every kind of change is enumerated, so that a sample of mutants is a sample of known mistakes: a map that cuts the wrong dim,
an accumulator that is missing, operands in the wrong order, a load of the wrong tensor, a tile in the wrong stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prism_mlir.graph.block import Accum, BlockNode, BlockOp, Load
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, KernelNode, LibraryNode
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import ADD, DIV, MAXIMUM, MUL, SUB, Kind, Op, unary


@dataclass(frozen=True, slots=True)
class Mutant:
    """kind: what was changed; well_formed: shapes, stages and mappings fit, so only the values can be wrong."""

    kind: str
    graph: KernelGraph
    well_formed: bool


def mutants(graph: KernelGraph, rng: np.random.Generator, count: int, ill_formed: float = 0.2) -> list[Mutant]:
    """``count`` different mutants (fewer where there are not as many), in random order, kinds in turn.

    ill_formed: the share of mutants that any shape check refuses
    """
    found = [Mutant(kind, g, well_formed(g)) for kind, g in all_mutants(graph)]
    good = _in_turn([m for m in found if m.well_formed], rng)
    bad = _in_turn([m for m in found if not m.well_formed], rng)
    wanted_bad = round(count * ill_formed)
    return (good[: count - wanted_bad] + bad)[:count] if len(good) >= count - wanted_bad else good + bad[:wanted_bad]


def _in_turn(found: Sequence[Mutant], rng: np.random.Generator) -> list[Mutant]:
    """Shuffled within each kind, then one of each kind, another of each kind, and so on."""
    by_kind: dict[str, list[Mutant]] = {}
    for k in rng.permutation(len(found)):
        by_kind.setdefault(found[int(k)].kind, []).append(found[int(k)])
    rounds = max(map(len, by_kind.values()), default=0)
    kinds = [sorted(by_kind)[int(k)] for k in rng.permutation(len(by_kind))]
    return [by_kind[kind][k] for k in range(rounds) for kind in kinds if k < len(by_kind[kind])]


def well_formed(graph: KernelGraph) -> bool:
    """Whether shapes, stages and mappings fit."""
    try:
        graph.check()
    except PrismError:
        return False
    return True


def all_mutants(graph: KernelGraph) -> Iterator[tuple[str, KernelGraph]]:
    """Every single change, each resulting graph once, with the kind of the change."""
    seen = {graph.fingerprint}
    for k, node in enumerate(graph.nodes):
        for kind, changed in _changes(node):
            mutant = _build(graph, k, changed)
            if mutant is not None and mutant.fingerprint not in seen:
                seen.add(mutant.fingerprint)
                yield kind, mutant


def _changes(node: KernelNode) -> Iterator[tuple[str, KernelNode]]:
    if isinstance(node, CustomNode):
        for kind, change in _CUSTOM.items():
            yield from ((kind, changed) for changed in change(node))
    else:
        for kind, alter in _LIBRARY.items():
            yield from ((kind, changed) for changed in alter(node))


def _build(graph: KernelGraph, k: int, changed: KernelNode) -> KernelGraph | None:
    try:
        return replace(graph, nodes=(*graph.nodes[:k], changed, *graph.nodes[k + 1 :]))
    except PrismError:
        return None


def _map_changes(rows: Sequence[Sequence[int]], ranks: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    for k, row in enumerate(rows):
        for g in range(len(row)):
            for d in range(-1, ranks[k]):
                changed = (*row[:g], d, *row[g + 1 :])
                yield (*map(tuple, rows[:k]), changed, *map(tuple, rows[k + 1 :]))


def _mapping(node: CustomNode) -> Mapping:
    assert node.mapping is not None
    return node.mapping


def _imap(node: CustomNode) -> Iterator[CustomNode]:
    shapes = _shapes(node)
    for rows in _map_changes(_mapping(node).imap, [len(shapes[k]) for k in node.block.loads]):
        yield replace(node, mapping=replace(_mapping(node), imap=rows))


def _omap(node: CustomNode) -> Iterator[CustomNode]:
    shapes = _shapes(node)
    for rows in _map_changes(_mapping(node).omap, [len(shapes[o]) for o in node.block.outputs]):
        yield replace(node, mapping=replace(_mapping(node), omap=rows))


def _fmap(node: CustomNode) -> Iterator[CustomNode]:
    shapes = _shapes(node)
    for (row,) in _map_changes([_mapping(node).fmap], [max(len(shapes[k]) for k in node.block.loads)]):
        yield replace(node, mapping=replace(_mapping(node), fmap=row))


def _grid_column(node: CustomNode) -> Iterator[CustomNode]:
    """One grid dim changes its dim in a load and in an output at once: maps that agree with each other, and may be wrong."""
    imaps = [n.mapping for n in _imap(node)]
    omaps = [n.mapping for n in _omap(node)]
    for a in imaps:
        for b in omaps:
            assert a is not None and b is not None
            yield replace(node, mapping=Mapping(a.imap, a.fmap, b.omap))


def _loop_pair(node: CustomNode) -> Iterator[CustomNode]:
    """Two loads exchange what the loop cuts of them."""
    fmap = _mapping(node).fmap
    for i in range(len(fmap)):
        for j in range(i):
            changed = list(fmap)
            changed[i], changed[j] = fmap[j], fmap[i]
            yield replace(node, mapping=replace(_mapping(node), fmap=tuple(changed)))


def _shapes(node: CustomNode) -> tuple[tuple[int, ...], ...]:
    return node.block.shapes


def _with_node(node: CustomNode, k: int, new: BlockNode) -> CustomNode:
    nodes = node.block.nodes
    return replace(node, block=replace(node.block, nodes=(*nodes[:k], new, *nodes[k + 1 :])))


def _operand(node: CustomNode) -> Iterator[CustomNode]:
    for k, old in enumerate(node.block.nodes):
        for slot in range(len(old.operands)):
            for v in range(k):
                operands = (*old.operands[:slot], v, *old.operands[slot + 1 :])
                yield _with_node(node, k, BlockNode(old.op, operands))


def _operand_order(node: CustomNode) -> Iterator[CustomNode]:
    for k, old in enumerate(node.block.nodes):
        yield _with_node(node, k, BlockNode(old.op, old.operands[::-1]))


def _operator(node: CustomNode) -> Iterator[CustomNode]:
    for k, old in enumerate(node.block.nodes):
        for op in _other_operators(old.op):
            yield _with_node(node, k, BlockNode(op, old.operands))


def _other_operators(op: BlockOp) -> Iterator[BlockOp]:
    if isinstance(op, Op) and op.kind is Kind.BINARY and op.value is None:
        yield from (ADD, SUB, MUL, DIV, MAXIMUM)
    elif isinstance(op, Op) and op.fn is not None:
        yield from (unary("exp(2*x)"), unary("x"), unary(f"2*({op.fn})"))
    elif isinstance(op, Accum):
        yield Accum("max" if op.monoid == "sum" else "sum")


def _reduction_dim(node: CustomNode) -> Iterator[CustomNode]:
    for k, old in enumerate(node.block.nodes):
        if isinstance(old.op, Op) and old.op.kind is Kind.REDUCE:
            for d in range(len(_shapes(node)[old.operands[0]])):
                yield _with_node(node, k, BlockNode(replace(old.op, dim=d), old.operands))


def _dropped(kind: Callable[[BlockOp], bool]) -> Callable[[CustomNode], Iterator[CustomNode]]:
    """Users of a node read its operand instead."""

    def change(node: CustomNode) -> Iterator[CustomNode]:
        for k, old in enumerate(node.block.nodes):
            if kind(old.op) and len(old.operands) == 1:
                tile = old.operands[0]
                nodes = tuple(
                    BlockNode(n.op, tuple(tile if v == k else v for v in n.operands)) for n in node.block.nodes
                )
                outputs = tuple(tile if o == k else o for o in node.block.outputs)
                yield replace(node, block=replace(node.block, nodes=nodes, outputs=outputs))

    return change


def _swapped_inputs(node: CustomNode) -> Iterator[CustomNode]:
    for i in range(len(node.operands)):
        for j in range(i):
            operands = list(node.operands)
            operands[i], operands[j] = operands[j], operands[i]
            yield replace(node, operands=tuple(operands))


def _source(node: CustomNode) -> Iterator[CustomNode]:
    for k, old in enumerate(node.block.nodes):
        if isinstance(old.op, Load):
            for source in range(len(node.block.inputs)):
                yield _with_node(node, k, BlockNode(Load(source, old.op.invariant)))


def _stage(node: CustomNode) -> Iterator[CustomNode]:
    for k, old in enumerate(node.block.nodes):
        if isinstance(old.op, Load):
            yield _with_node(node, k, BlockNode(Load(old.op.source, not old.op.invariant)))


def _saved(node: CustomNode) -> Iterator[CustomNode]:
    for slot in range(len(node.block.outputs)):
        for v in range(len(node.block.nodes)):
            outputs = (*node.block.outputs[:slot], v, *node.block.outputs[slot + 1 :])
            yield replace(node, block=replace(node.block, outputs=outputs))


def _library_operands(node: LibraryNode) -> Iterator[LibraryNode]:
    yield replace(node, operands=node.operands[::-1])
    for slot, old in enumerate(node.operands):
        for v in range(old):
            yield replace(node, operands=(*node.operands[:slot], v, *node.operands[slot + 1 :]))


def _library_operator(node: LibraryNode) -> Iterator[LibraryNode]:
    for op in _other_operators(node.op):
        if isinstance(op, Op):
            yield replace(node, op=op)


_CUSTOM: dict[str, Callable[[CustomNode], Iterator[CustomNode]]] = {
    "imap": _imap,
    "omap": _omap,
    "imap and omap": _grid_column,
    "fmap": _fmap,
    "fmaps exchanged": _loop_pair,
    "dropped accumulator": _dropped(lambda op: isinstance(op, Accum)),
    "dropped operator": _dropped(lambda op: isinstance(op, Op)),
    "operand": _operand,
    "operand order": _operand_order,
    "operator": _operator,
    "reduction dim": _reduction_dim,
    "inputs exchanged": _swapped_inputs,
    "source of a load": _source,
    "stage": _stage,
    "saved tile": _saved,
}
_LIBRARY: dict[str, Callable[[LibraryNode], Iterator[LibraryNode]]] = {
    "library operand": _library_operands,
    "library operator": _library_operator,
}
