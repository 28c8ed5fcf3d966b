"""Programs and candidates as expressions (paper, section 4, "Encoding sGraphs").

A loader is part or repl for each grid dim (imap), then for the loop (fmap); an accumulator is red over the loop; a saver is comb
for each grid dim (omap). Parallel operators are nested in the order of the grid dims with the loop outermost, and a saver undoes
them from the outside in: that order is free, since constraint (2) keeps grid dims on different data dims, and it spares the
prover from commuting them.
"""

from __future__ import annotations

from collections.abc import Sequence

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, Stage
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode
from prism_mlir.graph.mapping import Mapping, check_mapping
from prism_mlir.graph.ops import MONOIDS, Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.verify.expr import Expr, op_term, term
from prism_mlir.verify.rule import Monoid


def encode_program(program: Program) -> tuple[Expr, ...]:
    """One expression for each output of the program."""
    values = [term("Var", (), (k,)) for k in range(len(program.inputs))]
    for node in program.nodes:
        shapes = [program.shapes[v] for v in node.operands]
        values.append(op_term(node.op, [values[v] for v in node.operands], shapes))
    return tuple(values[o.value] for o in program.outputs)


def encode_graph(graph: KernelGraph) -> tuple[Expr, ...]:
    """One expression for each output of a kernel graph with concrete mappings.

    Raises :class:`InputError` where the graph is ill-formed or its mappings are still symbols.
    """
    values = [term("Var", (), (k,)) for k in range(len(graph.inputs))]
    for node in graph.nodes:
        operands = [values[v] for v in node.operands]
        if isinstance(node, LibraryNode):
            values.append(op_term(node.op, operands, [graph.shapes[v] for v in node.operands]))
        else:
            values += _encode_custom(node, operands)
    return tuple(values[v] for v in graph.outputs)


def _encode_custom(node: CustomNode, inputs: Sequence[Expr]) -> list[Expr]:
    if node.mapping is None:
        raise InputError("the graph still has symbolic mappings; instantiate them first")
    check_mapping(node.block, node.mapping)
    tiles = _encode_tiles(node.block, node.mapping, inputs)
    saved = zip(node.block.outputs, node.mapping.omap, strict=True)
    return [_save(tiles[out], row, node.block.grid) for out, row in saved]


def _encode_tiles(block: BlockGraph, mapping: Mapping, inputs: Sequence[Expr]) -> list[Expr]:
    stages = block.stages
    loads = iter(zip(mapping.imap, mapping.fmap, strict=True))
    tiles: list[Expr] = []
    for k, node in enumerate(block.nodes):
        match node.op:
            case Load(source=source, invariant=invariant):
                tiles.append(_load(block, inputs[source], *next(loads), invariant))
            case Accum(monoid=monoid):
                tiles.append(_accumulate(block, tiles[node.operands[0]], monoid))
            case Op() as op:
                tiles.append(_apply(block, op, node, tiles, stages, k))
    return tiles


def _load(block: BlockGraph, tensor: Expr, imap: Sequence[int], fmap: int, invariant: bool) -> Expr:
    for p, dim in zip(block.grid, imap, strict=True):
        tensor = _cut(tensor, dim, p)
    return tensor if block.loop is None or invariant else _cut(tensor, fmap, block.loop)


def _cut(tensor: Expr, dim: int, p: str) -> Expr:
    return term("Repl", (tensor,), (p,)) if dim < 0 else term("Part", (tensor,), (dim, p))


def _accumulate(block: BlockGraph, tile: Expr, monoid: str) -> Expr:
    if monoid not in MONOIDS:
        raise InputError(f"no accumulator '{monoid}', known are {', '.join(MONOIDS)}")
    return tile if block.loop is None else term(Monoid[monoid.upper()].value, (tile,), (block.loop,))


def _apply(block: BlockGraph, op: Op, node: BlockNode, tiles: Sequence[Expr], stages: Sequence[Stage], k: int) -> Expr:
    operands = [tiles[v] for v in node.operands]
    if stages[k] is Stage.BODY and block.loop is not None:
        loop = block.loop
        operands = [
            tile if stages[v] is Stage.BODY else term("Repl", (tile,), (loop,))
            for v, tile in zip(node.operands, operands, strict=True)
        ]
    result = op_term(op, operands, [block.shapes[v] for v in node.operands])
    if op.kind is Kind.CONSTANT:
        for p in block.grid:
            result = term("Repl", (result,), (p,))
    return result


def _save(tile: Expr, omap: Sequence[int], grid: Sequence[str]) -> Expr:
    for p, dim in reversed(list(zip(grid, omap, strict=True))):
        tile = term("Unrepl", (tile,), (p,)) if dim < 0 else term("Comb", (tile,), (dim, p))
    return tile
