"""Which computed operands of products may be rounded to 16 bits, as tensor cores take them.

The source rounds some values that its products read, and a kernel may round the same ones: the operand of a product is then as
accurate as the source's. But a graph may also multiply in another order, or multiply what is only a part of a sum. Rounding a
product that the source does not round, or a part of it, is another error: parts may cancel, and a value that the source keeps in
f32, or never forms, may overflow. Such operands stay f32 (``BlockGraph.wide``), and no tensor core computes their products.

What goes through a function that is not linear, such as the exponential of a softmax, has a rounding of its own size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Partition, tile_partitions
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.graph.shifts import is_linear

Expression = int  # of a value, numbered; equal ones have one number
_ROUNDED = ("f16", "bf16")


class _Expressions:
    """Numbers expressions, so that equal ones are one number."""

    def __init__(self) -> None:
        self._known: dict[object, Expression] = {}

    def number(self, *key: object) -> Expression:
        return self._known.setdefault(key, len(self._known))

    def of(self, op: Op, operands: Sequence[Expression]) -> Expression:
        if op.spec.commutative:
            operands = sorted(operands)
        return self.number(op, *operands)


def mark_wide(program: Program, graph: KernelGraph) -> KernelGraph:
    """The graph with the operands of products that must stay f32; library operators and symbolic mappings are left alone."""
    expressions = _Expressions()
    rounded = set(_rounded_products(program, expressions))
    values = [expressions.number("input", k) for k in range(len(graph.inputs))]
    nodes = []
    for node in graph.nodes:
        if not isinstance(node, CustomNode) or node.mapping is None:
            values += [expressions.number("unknown", len(values))] * (
                len(node.block.outputs) if isinstance(node, CustomNode) else 1
            )
            nodes.append(node)
            continue
        tiles = _tiles(node.block, [values[v] for v in node.operands], expressions)
        wide = frozenset(_wide(node.block, tile_partitions(node.block, node.mapping), tiles, rounded))
        nodes.append(node if wide == node.block.wide else replace(node, block=replace(node.block, wide=wide)))
        values += [tiles[out] for out in node.block.outputs]
    made = tuple(nodes)
    return graph if made == graph.nodes else replace(graph, nodes=made)


def _rounded_products(program: Program, expressions: _Expressions) -> Iterator[Expression]:
    """Products of the source of which it rounds something linear, for another product."""
    first = len(program.inputs)
    values = [expressions.number("input", k) for k in range(first)]
    for node in program.nodes:
        values.append(expressions.of(node.op, [values[v] for v in node.operands]))
    for node in program.nodes:
        if node.op.kind is Kind.MATMUL:
            for v in node.operands:
                if v >= first and str(program.nodes[v - first].dtype) in _ROUNDED:
                    for product in _products(v - first, lambda k: program.nodes[k].op, lambda k: _inner(program, k)):
                        yield values[first + product]


def _inner(program: Program, node: int) -> list[int]:
    """The operands of a program node that are nodes."""
    first = len(program.inputs)
    return [v - first for v in program.nodes[node].operands if v >= first]


def _products(root: int, op_of: Callable[[int], object], operands_of: Callable[[int], Sequence[int]]) -> Iterator[int]:
    """The products that a value is a linear function of, the nearest ones."""
    pending, seen = [root], set[int]()
    while pending:
        node = pending.pop()
        op = op_of(node)
        if node in seen:
            continue
        seen.add(node)
        if isinstance(op, Op) and op.kind is Kind.MATMUL:
            yield node
        elif isinstance(op, Accum):
            pending.append(operands_of(node)[0])
        elif isinstance(op, Op) and (op.kind is not Kind.UNARY or is_linear(op)):
            pending += operands_of(node)


def _tiles(block: BlockGraph, inputs: Sequence[Expression], expressions: _Expressions) -> list[Expression]:
    """Expressions of block nodes, of whole tensors: loading and accumulating parts changes nothing."""
    tiles: list[Expression] = []
    for node in block.nodes:
        match node.op:
            case Load(source=source):
                tiles.append(inputs[source])
            case Accum():
                tiles.append(tiles[node.operands[0]])
            case Op() as op:
                tiles.append(expressions.of(op, [tiles[v] for v in node.operands]))
    return tiles


def _wide(
    block: BlockGraph, parts: Sequence[Sequence[Partition]], tiles: Sequence[Expression], rounded: set[Expression]
) -> Iterator[int]:
    """Computed operands that depend linearly on a product which the source does not round, or on a part of one."""

    def foreign(root: int) -> bool:
        products = _products(root, lambda k: block.nodes[k].op, lambda k: block.nodes[k].operands)
        return any(tiles[m] not in rounded or _is_part(block, parts, m, root) for m in products)

    for node in block.nodes:
        if isinstance(node.op, Op) and node.op.kind is Kind.MATMUL:
            for v in node.operands:
                if not isinstance(block.nodes[v].op, Load) and foreign(v):
                    yield v


def _is_part(block: BlockGraph, parts: Sequence[Sequence[Partition]], product: int, root: int) -> bool:
    """Whether ``root`` depends on a part of the sum that a product is: its inner dim is cut, and nothing has added the parts."""
    inner = parts[block.nodes[product].operands[0]][-1]
    if not inner:
        return False
    added = {block.loop} if _through_accum(block.nodes, root, product) else set()
    return bool(inner - added)


def _through_accum(nodes: Sequence[BlockNode], root: int, product: int) -> bool:
    """Whether every way from a node down to a product passes an accumulator."""
    if root == product:
        return False
    if isinstance(nodes[root].op, Accum):
        return True
    return all(_through_accum(nodes, v, product) for v in nodes[root].operands if product in _below(nodes, v))


def _below(nodes: Sequence[BlockNode], root: int) -> set[int]:
    found, pending = set[int](), [root]
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += nodes[node].operands
    return found
