"""Loads leave the loop where every iteration would load the same tile.

Search lists such graphs with the load in the loop, where a proof and a mapping may want it; code loads the tile once.
"""

from __future__ import annotations

from dataclasses import replace

from prism_mlir.graph.block import BlockGraph, BlockNode, Load
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import CustomNode, KernelGraph


def hoist_loads(graph: KernelGraph) -> KernelGraph:
    """The graph with loads that no loop cuts before the loops; the graph itself where there are none."""
    nodes = tuple(_hoisted(n) if isinstance(n, CustomNode) else n for n in graph.nodes)
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)


def _hoisted(node: CustomNode) -> CustomNode:
    block = node.block
    if node.mapping is None or block.loop is None:
        return node
    for k, fmap in zip(block.loads, node.mapping.fmap, strict=True):
        if fmap < 0 and not _reads_parts(block, k):
            block = _once(block, k)
    return node if block is node.block else replace(node, block=block)


def _reads_parts(block: BlockGraph, load: int) -> bool:
    """Whether a load takes another part of an expanded tensor in every iteration."""
    op = block.nodes[load].op
    assert isinstance(op, Load)
    return any(p == block.loop for p, _ in block.inputs[op.source].expanded)


def _once(block: BlockGraph, load: int) -> BlockGraph:
    """The block with a load before the loop; as it was where what is accumulated would not change in the loop any more."""
    op = block.nodes[load].op
    assert isinstance(op, Load)
    if op.invariant:
        return block
    nodes = (*block.nodes[:load], BlockNode(replace(op, invariant=True)), *block.nodes[load + 1 :])
    moved = replace(block, nodes=nodes)
    try:
        _ = moved.stages
    except InputError:
        return block
    return moved
