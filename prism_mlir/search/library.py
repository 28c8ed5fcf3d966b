"""Library operators: predefined kernels before or after a graph-defined operator (paper, section 2).

A block graph without loop and grid applies its operators to whole tensors. Taken apart, each operator is a library operator:
so library operators need no search of their own, they are the plainest of the first and second kernels.
"""

from __future__ import annotations

from dataclasses import replace

from prism_mlir.graph.block import BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.kernel import CustomNode, KernelGraph, KernelNode, LibraryNode
from prism_mlir.graph.mapping import Mapping
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


def fold(graph: KernelGraph) -> tuple[KernelGraph, int] | None:
    """The reverse of :func:`unfold`: library operators before or after the only graph-defined operator become a plain one.

    Returns the graph and the new operator's position; ``None`` where library operators stand on both sides, or elsewhere.
    """
    customs = [k for k, n in enumerate(graph.nodes) if isinstance(n, CustomNode)]
    if len(customs) != 1 or len(graph.nodes) < 2:
        return None
    count, (k,) = len(graph.inputs), customs
    kernel = graph.nodes[k]
    assert isinstance(kernel, CustomNode)
    results = range(count + k, count + k + len(kernel.block.outputs))
    library = {count + n + (len(results) - 1 if n > k else 0): n for n in range(len(graph.nodes)) if n != k}
    used = set(kernel.operands)
    after = not used & set(library)
    if not after and any(set(graph.nodes[n].operands) & set(results) for n in library.values()):
        return None
    read = sorted({v for n in library.values() for v in graph.nodes[n].operands if v not in library})
    place = {v: j for j, v in enumerate((*read, *library))}
    body = [BlockNode(Load(j, True)) for j in range(len(read))]
    for n in library.values():
        node = graph.nodes[n]
        assert isinstance(node, LibraryNode)
        body.append(BlockNode(node.op, tuple(place[v] for v in node.operands)))
    saved = [v for v in library if v in used or v in graph.outputs]
    types = tuple(TensorType(graph.shapes[v], graph.inputs[v].dtype if v < count else DType.F32) for v in read)
    block = BlockGraph((), None, types, tuple(body), tuple(place[v] for v in saved))
    empty = Mapping(((),) * len(read), (-1,) * len(read), ((),) * len(saved))
    first, second = (tuple(results), tuple(saved)) if after else (tuple(saved), tuple(results))
    number = {v: n for n, v in enumerate((*range(count), *first, *second))}
    plain = CustomNode(block, tuple(number[v] for v in read), None if kernel.mapping is None else empty)
    fused = replace(kernel, operands=tuple(number[v] for v in kernel.operands))
    outputs = tuple(number[v] for v in graph.outputs)
    return KernelGraph(graph.inputs, (fused, plain) if after else (plain, fused), outputs), int(after)
