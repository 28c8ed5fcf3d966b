"""Graphs that differ from a correct one in a single place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism_mlir.graph.block import Accum, BlockNode, Load
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.ops import ADD, DIV, MUL, SUB, Kind, Op, unary


def mutants(graph: KernelGraph, rng: np.random.Generator, count: int) -> list[KernelGraph]:
    """``count`` random single changes; of those that leave an ill-formed graph, one in four is kept."""
    result: list[KernelGraph] = []
    node = next(graph.custom)
    while len(result) < count:
        change = _CHANGES[int(rng.integers(len(_CHANGES)))]
        changed = change(node, rng)
        if changed is None or changed == node:
            continue
        try:
            mutant = replace(graph, nodes=tuple(changed if n is node else n for n in graph.nodes))
        except PrismError:
            continue
        if rng.random() < 0.25 or _well_formed(mutant):
            result.append(mutant)
    return result


def _well_formed(graph: KernelGraph) -> bool:
    try:
        graph.check()
    except PrismError:
        return False
    return True


def _pick(rng, options):
    return options[int(rng.integers(len(options)))]


def _change_row(rows, ranks, rng):
    k = int(rng.integers(len(rows)))
    row = list(rows[k])
    row[int(rng.integers(len(row)))] = int(rng.integers(-1, ranks[k]))
    return (*rows[:k], tuple(row), *rows[k + 1 :])


def change_imap(node: CustomNode, rng) -> CustomNode:
    ranks = [len(node.block.shapes[k]) for k in node.block.loads]
    return replace(node, mapping=replace(node.mapping, imap=_change_row(node.mapping.imap, ranks, rng)))


def change_omap(node: CustomNode, rng) -> CustomNode:
    ranks = [len(node.block.shapes[o]) for o in node.block.outputs]
    return replace(node, mapping=replace(node.mapping, omap=_change_row(node.mapping.omap, ranks, rng)))


def change_fmap(node: CustomNode, rng) -> CustomNode:
    k = int(rng.integers(len(node.mapping.fmap)))
    fmap = list(node.mapping.fmap)
    fmap[k] = int(rng.integers(-1, len(node.block.shapes[node.block.loads[k]])))
    return replace(node, mapping=replace(node.mapping, fmap=tuple(fmap)))


def _with_node(node: CustomNode, k: int, new: BlockNode) -> CustomNode:
    nodes = node.block.nodes
    return replace(node, block=replace(node.block, nodes=(*nodes[:k], new, *nodes[k + 1 :])))


def change_operand(node: CustomNode, rng) -> CustomNode | None:
    k = int(rng.integers(len(node.block.nodes)))
    old = node.block.nodes[k]
    if not old.operands:
        return None
    operands = list(old.operands)
    operands[int(rng.integers(len(operands)))] = int(rng.integers(k))
    return _with_node(node, k, BlockNode(old.op, tuple(operands)))


def swap_operands(node: CustomNode, rng) -> CustomNode:
    k = int(rng.integers(len(node.block.nodes)))
    old = node.block.nodes[k]
    return _with_node(node, k, BlockNode(old.op, old.operands[::-1]))


def change_operator(node: CustomNode, rng) -> CustomNode | None:
    k = int(rng.integers(len(node.block.nodes)))
    old = node.block.nodes[k]
    match old.op:
        case Load(source=source, invariant=invariant):
            new = _pick(rng, [Load(int(rng.integers(len(node.block.inputs))), invariant), Load(source, not invariant)])
        case Accum():
            new = Accum("max")
        case Op() as op if op.kind is Kind.BINARY:
            new = _pick(rng, [ADD, SUB, MUL, DIV])
        case Op(name="unary"):
            new = unary("exp(2*x)")
        case Op(name="sum", dim=dim):
            new = replace(old.op, dim=int(rng.integers(dim + 1)))
        case _:
            return None
    return _with_node(node, k, BlockNode(new, old.operands))


def drop_accumulator(node: CustomNode, rng) -> CustomNode | None:
    """Users of an accumulator read the tile that it accumulates."""
    k = _pick(rng, [k for k, n in enumerate(node.block.nodes) if isinstance(n.op, Accum)] or [-1])
    if k < 0:
        return None
    tile = node.block.nodes[k].operands[0]
    nodes = tuple(BlockNode(n.op, tuple(tile if v == k else v for v in n.operands)) for n in node.block.nodes)
    outputs = tuple(tile if o == k else o for o in node.block.outputs)
    return replace(node, block=replace(node.block, nodes=nodes, outputs=outputs))


def save_another(node: CustomNode, rng) -> CustomNode:
    return replace(node, block=replace(node.block, outputs=(int(rng.integers(len(node.block.nodes))),)))


_CHANGES = (
    change_imap, change_omap, change_fmap, change_operand, change_operand, swap_operands, change_operator, change_operator,
    drop_accumulator, save_another,
)  # fmt: skip
