"""Expression-guided pruning of a finished graph (paper, section 3.3): can its outputs be the program's at all?"""

from __future__ import annotations

from prism_mlir.graph.block import Accum, BlockGraph, Load
from prism_mlir.graph.dims import DimClass, dim_classes, operand_pairs
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import AbstractTarget, abstract_target

Value = tuple[int, tuple[DimClass, ...]]  # abstract expression, and the program dim class of each dim


def dead_end(program: Program, graph: KernelGraph, target: AbstractTarget | None = None) -> str | None:
    """Why the graph's abstract expression cannot be the program's; ``None`` where it can.

    target: the program's saturated expressions, to be shared between calls. Where they did not saturate nothing is pruned.

    Raises :class:`InputError` for a graph whose shapes do not fit.
    """
    target = target or abstract_target(program)
    if not target.saturated:
        return None
    classes = dim_classes(program).of
    values: list[Value] = [(e, classes[k]) for k, e in enumerate(target.inputs)]
    for k, node in enumerate(graph.nodes):
        operands = [values[v] for v in node.operands]
        if isinstance(node, CustomNode):
            found = _block(target, node.block, operands)
        else:
            shapes = [graph.shapes[v] for v in node.operands]
            one = _apply(target, node.op, operands, shapes, graph.shapes[len(values)])
            found = f"kernel node {k} ({node.op}) is no subexpression of the program" if one is None else [one]
        if isinstance(found, str):
            return found
        values += found
    for k, (out, root) in enumerate(zip(graph.outputs, target.roots, strict=True)):
        if target.graph.find(values[out][0]) != target.graph.find(root):
            return f"output {k} has another expression than the program's"
    return None


def _block(target: AbstractTarget, block: BlockGraph, inputs: list[Value]) -> list[Value] | str:
    tiles: list[Value] = []
    for k, node in enumerate(block.nodes):
        if isinstance(node.op, Load):
            tiles.append(inputs[node.op.source])
        elif isinstance(node.op, Accum):
            tiles.append(tiles[node.operands[0]])
        else:
            shapes = [block.shapes[v] for v in node.operands]
            tile = _apply(target, node.op, [tiles[v] for v in node.operands], shapes, block.shapes[k])
            if tile is None:
                return f"block node {k} ({node.op}) is no subexpression of the program"
            tiles.append(tile)
    return [tiles[o] for o in block.outputs]


def _apply(
    target: AbstractTarget, op: Op, operands: list[Value], shapes: list[tuple[int, ...]], result: tuple[int, ...]
) -> Value | None:
    contracted: DimClass = None
    if op.kind is Kind.MATMUL:
        contracted = operands[0][1][-1]
    elif op.kind is Kind.REDUCE and op.dim is not None:
        contracted = operands[0][1][op.dim]
    expr = target.apply(op, tuple(e for e, _ in operands), contracted)
    if expr is None:
        return None
    dims: list[DimClass] = [None] * len(result)
    for (i, d), (j, e) in operand_pairs(op, shapes, result):
        if j < 0 and dims[e] is None:
            dims[e] = operands[i][1][d]
    return expr, tuple(dims)
