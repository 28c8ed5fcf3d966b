"""What a kernel graph computes, at concrete sizes: parallel dims are real array axes.

A tile is an array ``[grid..., loop, data...]``. ``part`` splits a data dim and moves the parts to the parallel axis, ``repl``
copies along it, ``red`` sums over it, ``comb`` joins it back (paper, figures 3 and 4). Used with exact arithmetic this decides
equality; used with f64 it is the reference for emitted code.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from prism_mlir.graph.block import Accum, BlockGraph, Load
from prism_mlir.graph.errors import InputError, PrismError
from prism_mlir.graph.fields import Array, Domain
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping, tile_partitions, tile_shape
from prism_mlir.graph.ops import Kind, Op, evaluate_op, fold

ROUNDING = 1e-9  # of f64 values, relative to the largest


class BlocksDisagree(PrismError):
    """Blocks store different values to the same place: a tile is saved without an omap for a grid dim it depends on."""


def part(tile: Array, axis: int, parallel_axis: int, count: int) -> Array:
    """Split ``axis`` into ``count`` equal chunks that move to ``parallel_axis`` (which has size 1 before)."""
    size = tile.shape[axis]
    if size % count:
        raise InputError(f"a dim of size {size} does not split into {count} equal parts")
    split = tile.reshape(*tile.shape[:axis], count, size // count, *tile.shape[axis + 1 :])
    return np.moveaxis(split, axis, parallel_axis).squeeze(parallel_axis + 1)


def repl(tile: Array, parallel_axis: int, count: int) -> Array:
    """Copies along ``parallel_axis`` (which has size 1 before)."""
    return np.broadcast_to(tile, (*tile.shape[:parallel_axis], count, *tile.shape[parallel_axis + 1 :]))


def comb(tile: Array, axis: int, parallel_axis: int) -> Array:
    """Concatenate the chunks of ``parallel_axis`` along ``axis``; ``parallel_axis`` stays with size 1."""
    moved = np.moveaxis(np.expand_dims(tile, parallel_axis), parallel_axis + 1, axis)
    return moved.reshape(*moved.shape[:axis], moved.shape[axis] * moved.shape[axis + 1], *moved.shape[axis + 2 :])


def evaluate_block(
    block: BlockGraph, mapping: Mapping, sizes: MappingABC[str, int], inputs: Sequence[Array], domain: Domain
) -> tuple[Array, ...]:
    """Outputs of a block graph run over its whole grid and loop.

    Raises :class:`InputError` where tiles do not fit at these sizes, :class:`BlocksDisagree` where blocks store different
    values to one place.
    """
    lead = len(block.grid) + 1
    loads = iter(zip(mapping.imap, mapping.fmap, strict=True))
    tiles: list[Array] = []
    for k, node in enumerate(block.nodes):
        operands = [tiles[v] for v in node.operands]
        if isinstance(node.op, Load):
            tile = inputs[node.op.source].reshape(*(1,) * lead, *inputs[node.op.source].shape)
            tiles.append(load_tile(block, node.op, tile, *next(loads), sizes))
        elif isinstance(node.op, Accum):
            tiles.append(_accumulated(node.op, operands, lead - 1, domain))
        else:
            op = node.op if node.op.shape is None else tile_op(block, mapping, sizes, node.op, k)
            tiles.append(apply_to_tiles(op, operands, lead, domain, k))
    return tuple(save_tile(block, tiles[o], row) for o, row in zip(block.outputs, mapping.omap, strict=True))


def _accumulated(op: Accum, operands: Sequence[Array], axis: int, domain: Domain) -> Array:
    """The sum (or maximum) over the loop's axis, of tiles that are brought to the last running maximum first."""
    tile = operands[0]
    if op.degree:
        behind = op.degree * (operands[1] - np.take(operands[1], [-1], axis))
        tile = tile * np.exp(behind)
    return fold(op.monoid, tile, axis, domain)


def load_tile(
    block: BlockGraph, op: Load, tile: Array, imap: Sequence[int], fmap: int, sizes: MappingABC[str, int]
) -> Array:
    """The tiles of all blocks and iterations, of a tensor ``[1..., data...]``."""
    lead = len(block.grid) + 1
    for axis, (name, dim) in enumerate(zip(block.grid, imap, strict=True)):
        tile = repl(tile, axis, sizes[name]) if dim < 0 else part(tile, lead + dim, axis, sizes[name])
    if block.loop is None or op.invariant:
        return tile
    count = sizes[block.loop]
    return repl(tile, lead - 1, count) if fmap < 0 else part(tile, lead + fmap, lead - 1, count)


def tile_op(block: BlockGraph, mapping: Mapping, sizes: MappingABC[str, int], op: Op, k: int) -> Op:
    """A reshape or constant carries the shape of the whole tensor; this is the same operator on one tile."""
    return replace(op, shape=tile_shape(block.shapes[k], tile_partitions(block, mapping)[k], sizes))


def apply_to_tiles(op: Op, operands: Sequence[Array], lead: int, domain: Domain, index: int) -> Array:
    """An operator on tiles with ``lead`` parallel axes. Raises :class:`InputError` that names block node ``index``."""
    shapes = [o.shape[lead:] for o in operands]
    try:
        op.spec.shape(op, shapes)
    except InputError as error:
        raise InputError(f"block node {index}: {error.message}") from error
    rank = len(shapes[0]) if shapes else 0
    result = evaluate_op(op, operands, rank, domain)
    return result.reshape(*(1,) * lead, *result.shape) if op.kind is Kind.CONSTANT else result


def save_tile(block: BlockGraph, tile: Array, row: Sequence[int]) -> Array:
    """The tensor that all blocks together store."""
    lead = len(block.grid) + 1
    for axis, dim in enumerate(row):
        if dim >= 0:
            tile = comb(tile, lead + dim, axis)
            continue
        if not _all_store(np.take(tile, [0], axis), tile):
            raise BlocksDisagree(f"blocks along {block.grid[axis]} store different values of one tile")
        tile = np.take(tile, [0], axis)
    return tile.reshape(tile.shape[lead:]) if tile.shape[lead - 1] == 1 else _loop_dependent(tile, lead)


def _all_store(first: Array, tile: Array) -> bool:
    """Whether all blocks store what the first does; in floating point up to rounding, for which blocks may differ."""
    if tile.dtype.kind != "f":
        return np.array_equal(np.broadcast_to(first, tile.shape), tile)
    lost = ROUNDING * float(np.max(np.abs(tile[np.isfinite(tile)]), initial=0.0))
    return np.allclose(first, tile, rtol=ROUNDING, atol=lost, equal_nan=True)


def _loop_dependent(tile: Array, lead: int) -> Array:
    raise InputError("a tile that changes in the loop is saved; accumulate it first")


def evaluate_graph(
    graph: KernelGraph, sizes: MappingABC[str, int], inputs: Sequence[Array], domain: Domain
) -> tuple[Array, ...]:
    """Outputs of a kernel graph with concrete mappings, for the given parallel sizes."""
    values = list(inputs)
    for node in graph.nodes:
        operands = [values[v] for v in node.operands]
        if isinstance(node, CustomNode):
            if node.mapping is None:
                raise InputError("the graph still has symbolic mappings; instantiate them first")
            values += evaluate_block(node.block, node.mapping, sizes, operands, domain)
        else:
            rank = operands[0].ndim if operands else 0
            values.append(evaluate_op(node.op, operands, rank, domain))
    return tuple(values[v] for v in graph.outputs)
