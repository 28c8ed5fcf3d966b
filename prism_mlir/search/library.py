"""Library operators: predefined kernels before or after a graph-defined operator (paper, section 2).

A block graph without loop and grid applies its operators to whole tensors. Taken apart, each operator is a library operator:
so library operators need no search of their own, they are the plainest of the first and second kernels.
"""

from __future__ import annotations

from dataclasses import replace

from prism_mlir.graph.block import BlockGraph, Load
from prism_mlir.graph.kernel import CustomNode, KernelGraph, KernelNode, LibraryNode
from prism_mlir.graph.ops import Op


def is_plain(block: BlockGraph, operators: int) -> bool:
    """Whether a block graph has no loop and at most ``operators`` operators, so that library operators can take its place."""
    return block.loop is None and sum(isinstance(n.op, Op) for n in block.nodes) <= operators


def unfold(graph: KernelGraph, position: int) -> KernelGraph:
    """The graph with the custom operator at ``position`` replaced by one library operator for each of its operators.

    The operator must be plain (see :func:`is_plain`) and have no grid.
    """
    values = list(range(len(graph.inputs)))  # old value -> new value
    nodes: list[KernelNode] = []
    count = len(graph.inputs)
    for k, node in enumerate(graph.nodes):
        operands = tuple(values[v] for v in node.operands)
        if k != position or not isinstance(node, CustomNode):
            results = len(node.block.outputs) if isinstance(node, CustomNode) else 1
            nodes.append(replace(node, operands=operands))
            values += range(count, count + results)
            count += results
            continue
        tiles: list[int] = []
        for inner in node.block.nodes:
            if isinstance(inner.op, Load):
                tiles.append(operands[inner.op.source])
            else:
                assert isinstance(inner.op, Op)
                nodes.append(LibraryNode(inner.op, tuple(tiles[v] for v in inner.operands)))
                tiles.append(count)
                count += 1
        values += [tiles[o] for o in node.block.outputs]
    return KernelGraph(graph.inputs, tuple(nodes), tuple(values[v] for v in graph.outputs))
