"""Other ways to write a graph: the same graph, and graphs that differ in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from prism_mlir.graph.block import BlockGraph, BlockNode, Load
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import Op


def written_otherwise(graph: KernelGraph, rng: Random) -> KernelGraph:
    """The same graph with nodes renumbered, operands of commutative operators exchanged, grid dims and outputs permuted."""
    nodes: list[CustomNode] = []
    number, value = {v: v for v in range(len(graph.inputs))}, len(graph.inputs)
    for node in graph.custom:
        outputs = _shuffled(range(len(node.block.outputs)), rng)
        nodes.append(_rewrite(node, [number[v] for v in node.operands], outputs, rng))
        number |= {value + o: value + k for k, o in enumerate(outputs)}
        value += len(outputs)
    return KernelGraph(graph.inputs, tuple(nodes), tuple(number[v] for v in graph.outputs))


def _rewrite(node: CustomNode, operands: Sequence[int], outputs: Sequence[int], rng: Random) -> CustomNode:
    block = node.block
    order = _some_order(block, rng)
    place = {k: n for n, k in enumerate(order)}
    body = []
    for k in order:
        used = [place[v] for v in block.nodes[k].operands]
        op = block.nodes[k].op
        if isinstance(op, Op) and op.spec.commutative:
            rng.shuffle(used)
        body.append(BlockNode(op, tuple(used)))
    grid = _shuffled(range(len(block.grid)), rng)
    new = replace(
        block,
        nodes=tuple(body),
        outputs=tuple(place[block.outputs[o]] for o in outputs),
        grid=tuple(block.grid[g] for g in grid),
    )
    return CustomNode(new, tuple(operands), _mapping(node, order, outputs, grid))


def _mapping(node: CustomNode, order: Sequence[int], outputs: Sequence[int], grid: Sequence[int]) -> Mapping | None:
    if (old := node.mapping) is None:
        return None
    row = {k: n for n, k in enumerate(node.block.loads)}
    loads = [row[k] for k in order if isinstance(node.block.nodes[k].op, Load)]
    return Mapping(
        tuple(tuple(old.imap[n][g] for g in grid) for n in loads),
        tuple(old.fmap[n] for n in loads),
        tuple(tuple(old.omap[o][g] for g in grid) for o in outputs),
    )


def _some_order(block: BlockGraph, rng: Random) -> list[int]:
    order: list[int] = []
    while len(order) < len(block.nodes):
        ready = [k for k, n in enumerate(block.nodes) if k not in order and all(v in order for v in n.operands)]
        order.append(rng.choice(ready))
    return order


def _shuffled(items: range, rng: Random) -> list[int]:
    return rng.sample(items, len(items))


def changed(graph: KernelGraph, rng: Random) -> KernelGraph:
    """The graph with one map entry, operand, operator, load stage or saved tile replaced by another (perhaps the same again)."""
    k = rng.randrange(len(graph.nodes))
    node = graph.nodes[k]
    assert isinstance(node, CustomNode) and node.mapping is not None
    kinds = ["fmap", "operand", "operator", "stage", "saved", *(["imap", "omap"] if node.block.grid else [])]
    new = _changed_node(node, node.mapping, rng.choice(kinds), rng)
    return replace(graph, nodes=tuple(new if n == k else old for n, old in enumerate(graph.nodes)))


def _changed_node(node: CustomNode, mapping: Mapping, kind: str, rng: Random) -> CustomNode:
    block, nodes = node.block, list(node.block.nodes)
    inner = [k for k, n in enumerate(nodes) if n.operands]
    k = rng.choice(inner)
    if kind == "fmap":
        return replace(node, mapping=replace(mapping, fmap=_with_one(mapping.fmap, rng)))
    if kind in ("imap", "omap"):
        rows = list(getattr(mapping, kind))
        n = rng.randrange(len(rows))
        rows[n] = _with_one(rows[n], rng)
        return replace(node, mapping=replace(mapping, **{kind: tuple(rows)}))
    if kind == "saved":
        outputs = list(block.outputs)
        outputs[rng.randrange(len(outputs))] = rng.randrange(len(nodes))
        return replace(node, block=replace(block, outputs=tuple(outputs)))
    if kind == "operand":
        operands = list(nodes[k].operands)
        operands[rng.randrange(len(operands))] = rng.randrange(k)
        nodes[k] = BlockNode(nodes[k].op, tuple(operands))
    elif kind == "operator":
        like = [n for n in inner if len(nodes[n].operands) == len(nodes[k].operands)]
        nodes[k] = BlockNode(nodes[rng.choice(like)].op, nodes[k].operands)
    else:
        k = rng.choice(block.loads)
        op = nodes[k].op
        assert isinstance(op, Load)
        nodes[k] = BlockNode(replace(op, invariant=not op.invariant))
    return replace(node, block=replace(block, nodes=tuple(nodes)))


def _with_one(row: Sequence[int], rng: Random) -> tuple[int, ...]:
    new = list(row)
    new[rng.randrange(len(new))] = rng.randrange(-1, 2)
    return tuple(new)
