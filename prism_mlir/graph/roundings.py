"""Which computed operands of products may be rounded to 16 bits, as tensor cores take them.

The source rounds some values that its products read, and a kernel may round the same ones: the operand of a product is then as
accurate as the source's. Factors make no difference, they scale a value and its rounding alike: where the source rounds ``x r``
for the sum of terms ``x r w``, code may round ``x`` times anything, or ``r w``. But a graph may also multiply in another order,
or multiply what is only a part of a sum, or a term of one, or sum up terms of which the source rounds nothing. Rounding these is
another error: parts may cancel, and a value that the source keeps in f32, or never forms, may overflow. Such operands stay f32
(``BlockGraph.wide``), and no tensor core computes their products.

What goes through a function that is not linear, such as the exponential of a softmax, has a rounding of its own size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Partition, tile_partitions
from prism_mlir.graph.ops import ADD, DIV, MUL, Kind, Op, Shape
from prism_mlir.graph.program import Program
from prism_mlir.graph.shifts import is_linear

Expression = int  # of a value, numbered; equal ones have one number
_ROUNDED = ("f16", "bf16")


class _Expressions:
    """Numbers expressions, so that equal ones are one number: the order of terms and of factors makes no difference."""

    def __init__(self) -> None:
        self._known: dict[object, Expression] = {}
        self._parts: dict[tuple[Op, Expression], tuple[Expression, ...]] = {}  # terms of sums, factors of products

    def number(self, *key: object) -> Expression:
        return self._known.setdefault(key, len(self._known))

    def of(self, op: Op, operands: Sequence[Expression]) -> Expression:
        if op not in (ADD, MUL):
            return self.number(op, *(sorted(operands) if op.spec.commutative else operands))
        parts = tuple(sorted(p for v in operands for p in self._parts.get((op, v), (v,))))
        number = self.number(op, *parts)
        self._parts[op, number] = parts
        return number


def mark_wide(program: Program, graph: KernelGraph) -> KernelGraph:
    """The graph with the operands of products that must stay f32; library operators and symbolic mappings are left alone."""
    found = _wide_operands(program, graph, _ROUNDED)
    return _with_blocks(graph, {k: replace(block, wide=wide) for k, (block, wide) in found.items()})


def mark_tf32(program: Program, graph: KernelGraph) -> KernelGraph:
    """The graph with the products whose operands may be rounded to tf32, where that is allowed for all f32 operands of the
    source's products; the graph itself where this was done."""
    if any(n.block.tf32 for n in graph.custom):
        return graph
    blocks = {}
    for k, (block, wide) in _wide_operands(program, graph, (*_ROUNDED, "f32")).items():
        products = (j for j, n in enumerate(block.nodes) if isinstance(n.op, Op) and n.op.kind is Kind.MATMUL)
        blocks[k] = replace(block, tf32=frozenset(j for j in products if not wide & set(block.nodes[j].operands)))
    return _with_blocks(graph, blocks)


def _with_blocks(graph: KernelGraph, blocks: Mapping[int, BlockGraph]) -> KernelGraph:
    """The graph with other block graphs in some of its nodes; the graph itself where they are no others."""
    nodes = tuple(
        replace(n, block=blocks[k]) if isinstance(n, CustomNode) and blocks.get(k, n.block) != n.block else n
        for k, n in enumerate(graph.nodes)
    )
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)


def _wide_operands(
    program: Program, graph: KernelGraph, types: Sequence[str]
) -> dict[int, tuple[BlockGraph, frozenset[int]]]:
    """Block graphs with the operands that must not be rounded where the source rounds values of some types."""
    expressions = _Expressions()
    rounded = set(_rounded_values(program, expressions, types))
    values = [expressions.number("input", k) for k in range(len(graph.inputs))]
    found = {}
    for k, node in enumerate(graph.nodes):
        if not isinstance(node, CustomNode) or node.mapping is None:
            results = len(node.block.outputs) if isinstance(node, CustomNode) else 1
            values += [expressions.number("unknown", len(values))] * results
            continue
        tiles = _tiles(node.block, [values[v] for v in node.operands], expressions)
        wide = _wide(node.block, tile_partitions(node.block, node.mapping), tiles, rounded)
        found[k] = node.block, frozenset(wide)
        values += [tiles[out] for out in node.block.outputs]
    return found


def _rounded_values(program: Program, expressions: _Expressions, types: Sequence[str]) -> Iterator[Expression]:
    """The factors of what the source rounds for a product."""
    first = len(program.inputs)
    values = [expressions.number("input", k) for k in range(first)]
    for node in program.nodes:
        values.append(expressions.of(node.op, [values[v] for v in node.operands]))
    nodes = _Nodes(
        lambda v: program.nodes[v - first].op if v >= first else None,
        lambda v: program.nodes[v - first].operands,
        lambda v: program.shapes[v],
    )
    for node in program.nodes:
        if node.op.kind is Kind.MATMUL:
            for v, dim in zip(node.operands, (-1, -2), strict=True):
                if v >= first and str(program.nodes[v - first].dtype) in types:
                    yield from (values[f.node] for f in nodes.factors(v, dim) if f.varies)


@dataclass(frozen=True, slots=True)
class _Factor:
    """What a value is a product of, element by element. varies: whether it does along the dim that is summed up."""

    node: int
    varies: bool


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Nodes of a program or of a block, as both have them."""

    op: Callable[[int], object]
    operands: Callable[[int], Sequence[int]]
    shape: Callable[[int], Shape]

    def factors(self, root: int, dim: int) -> Iterator[_Factor]:
        """The factors of an operand that a product sums up along ``dim``."""
        pending: list[tuple[int, int | None]] = [(root, dim % len(self.shape(root)))]
        seen = set[tuple[int, int | None]]()
        while pending:
            node, at = pending.pop()
            op = self.op(node)
            if (node, at) in seen:
                continue
            seen.add((node, at))
            if isinstance(op, Op) and op.kind in (Kind.TRANSPOSE, Kind.RESHAPE):
                pending += [(v, None if op.perm is None or at is None else op.perm[at]) for v in self.operands(node)]
            elif isinstance(op, Accum) or (isinstance(op, Op) and _scales(op)):
                pending += [(v, at) for v in self.operands(node)]
            elif not isinstance(op, Op) or op.kind is not Kind.CONSTANT:
                yield _Factor(node, at is None or self.shape(node)[at] > 1)


def _scales(op: Op) -> bool:
    """Whether each element of a result is one of an operand, but for factors."""
    return op in (MUL, DIV) or op.name == "keep" or is_linear(op)


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
    """Computed operands of products in whose terms the source rounds nothing, and those that depend linearly on a product of
    matrices, or on a part of one, that the source does not round."""
    nodes = _Nodes(lambda k: block.nodes[k].op, lambda k: block.nodes[k].operands, lambda k: block.shapes[k])

    def foreign(factor: int, root: int) -> bool:
        products = list(_products(factor, nodes.op, nodes.operands))
        unknown = bool(products) and tiles[factor] not in rounded
        return unknown or any(_is_part(block, parts, m, root) for m in products)

    for node in block.nodes:
        if isinstance(node.op, Op) and node.op.kind is Kind.MATMUL:
            factors = [list(nodes.factors(v, dim)) for v, dim in zip(node.operands, (-1, -2), strict=True)]
            varying = [f.node for side in factors for f in side if f.varies]
            alike = any(_is_function(nodes.op(k)) or tiles[k] in rounded for k in varying)
            for v, side in zip(node.operands, factors, strict=True):
                if not isinstance(block.nodes[v].op, Load) and (not alike or any(foreign(f.node, v) for f in side)):
                    yield v


def _is_function(op: object) -> bool:
    return isinstance(op, Op) and op.kind is Kind.UNARY


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
