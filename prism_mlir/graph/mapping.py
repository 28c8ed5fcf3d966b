"""Concrete mappings: which data dim each parallel dim partitions, for every load and every saved tile.

Given the loads' mappings, the partition of every other tile follows from the operators; ``tile_partitions`` derives it and
refuses mappings whose tiles do not fit together for all sizes (paper, section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load
from prism_mlir.graph.dims import operand_pairs, reshape_groups
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.ops import Kind, Op, Shape

Partition = frozenset[str]  # parallel dims that cut a data dim
WHOLE: Partition = frozenset()


@dataclass(frozen=True, slots=True, order=True)
class Mapping:
    """Concrete imap, fmap and omap of a block graph.

    imap[l][g]: data dim of load ``l`` that grid dim ``g`` partitions, -1 where the tile is replicated along it
    fmap[l]:    data dim of load ``l`` that the loop partitions, -1 where every iteration loads the same tile
    omap[o][g]: data dim of output ``o`` along which blocks of grid dim ``g`` are concatenated, -1 where all blocks of that
                dim store the same tile. Where ``g`` does not cut the tile, the blocks' whole tiles are concatenated: the
                saved tensor is *expanded*, ``d_g`` times as large (partial results for another kernel)
    """

    imap: tuple[tuple[int, ...], ...]
    fmap: tuple[int, ...]
    omap: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return f"imap={list(map(list, self.imap))} fmap={list(self.fmap)} omap={list(map(list, self.omap))}"


def check_mapping(block: BlockGraph, mapping: Mapping) -> None:
    """Constraints (1) and (2) of the paper, and that the mapping belongs to this graph. Raises :class:`InputError`."""
    if len(mapping.imap) != len(block.loads) or len(mapping.fmap) != len(block.loads):
        raise InputError(f"the mapping describes {len(mapping.imap)} loads, the graph has {len(block.loads)}")
    if len(mapping.omap) != len(block.outputs):
        raise InputError(f"the mapping describes {len(mapping.omap)} outputs, the graph has {len(block.outputs)}")
    ranked = [(f"load {k}", row, len(block.shapes[k])) for k, row in zip(block.loads, mapping.imap, strict=True)]
    ranked += [(f"output {o}", row, len(block.shapes[o])) for o, row in zip(block.outputs, mapping.omap, strict=True)]
    for what, row, rank in ranked:
        if len(row) != len(block.grid) or any(not -1 <= d < rank for d in row):
            raise InputError(f"{what}: a map needs one data dim (or -1) for each of the grid dims {list(block.grid)}")
        used = [d for d in row if d >= 0]
        if len(set(used)) != len(used):
            raise InputError(f"{what}: two grid dims partition data dim {max(used, key=used.count)}")
    for k, dim in zip(block.loads, mapping.fmap, strict=True):
        op = block.nodes[k].op
        if not -1 <= dim < len(block.shapes[k]) or (dim >= 0 and (block.loop is None or _invariant(op))):
            raise InputError(f"load {k}: fmap {dim} needs a loop, a load inside it, and a dim of the tensor")


def _invariant(op: object) -> bool:
    return isinstance(op, Load) and op.invariant


def tile_partitions(block: BlockGraph, mapping: Mapping) -> tuple[tuple[Partition, ...], ...]:
    """For every node and dim, the set of parallel dims that cut it.

    Raises :class:`InputError` when two dims that must have equal size for all parallel sizes are cut differently, when a dim
    of size 1 is cut, or when an omap does not put a tile's parts back together.
    """
    check_mapping(block, mapping)
    parts: list[tuple[Partition, ...]] = []
    loads = iter(zip(mapping.imap, mapping.fmap, strict=True))
    for k, node in enumerate(block.nodes):
        if isinstance(node.op, Load):
            parts.append(_load_partition(block, k, *next(loads)))
        elif isinstance(node.op, Accum):
            parts.append(parts[node.operands[0]])
        else:
            parts.append(_operator_partition(block, k, node, node.op, parts))
    for k in range(len(block.outputs)):
        _check_joined(block, mapping, k, parts)
    return tuple(parts)


def _check_joined(block: BlockGraph, mapping: Mapping, k: int, parts: Sequence[tuple[Partition, ...]]) -> None:
    out = block.outputs[k]
    added = expansion(block, mapping, k, parts)
    joined = _grid_partition(block, len(block.shapes[out]), mapping.omap[k])
    joined = tuple(part - {p for p, dim in added if dim == d} for d, part in enumerate(joined))
    if joined != parts[out]:
        raise InputError(f"output {out}: its omap joins {_show(joined)}, its tiles are cut as {_show(parts[out])}")


def expansion(
    block: BlockGraph, mapping: Mapping, output: int, parts: Sequence[tuple[Partition, ...]]
) -> tuple[tuple[str, int], ...]:
    """Pairs (grid dim, data dim) along which an output is stored whole by every block, one after the other."""
    cut = frozenset[str]().union(*parts[block.outputs[output]])
    return tuple((p, d) for p, d in zip(block.grid, mapping.omap[output], strict=True) if d >= 0 and p not in cut)


def _grid_partition(block: BlockGraph, rank: int, row: Sequence[int]) -> tuple[Partition, ...]:
    return tuple(frozenset(p for p, d in zip(block.grid, row, strict=True) if d == dim) for dim in range(rank))


def _load_partition(block: BlockGraph, k: int, imap: Sequence[int], fmap: int) -> tuple[Partition, ...]:
    shape = block.shapes[k]
    result = _grid_partition(block, len(shape), imap)
    if fmap >= 0 and block.loop is not None:
        result = tuple(p | {block.loop} if d == fmap else p for d, p in enumerate(result))
    op = block.nodes[k].op
    assert isinstance(op, Load)
    for p, d in block.inputs[op.source].expanded:
        if p not in result[d]:
            raise InputError(f"load {k}: dim {d} holds one part for each {p}, so {p} must cut it again")
        result = tuple(part - {p} if e == d else part for e, part in enumerate(result))
    for d, part in enumerate(result):
        if part and shape[d] == 1:
            raise InputError(f"load {k}: dim {d} has size 1 and cannot be partitioned along {_show((part,))}")
    return result


def _operator_partition(
    block: BlockGraph, k: int, node: BlockNode, op: Op, parts: Sequence[tuple[Partition, ...]]
) -> tuple[Partition, ...]:
    shape = block.shapes[k]
    shapes = [block.shapes[v] for v in node.operands]
    result: list[Partition | None] = [None] * len(shape)
    for (i, d), (j, e) in operand_pairs(op, shapes, shape):
        left = parts[node.operands[i]][d]
        if j >= 0:
            if left != parts[node.operands[j]][e]:
                raise InputError(f"node {k} ({op}): {_show((left, parts[node.operands[j]][e]))} must be cut alike")
        elif result[e] is None:
            result[e] = left
        elif result[e] != left:
            raise InputError(f"node {k} ({op}): dim {e} is cut as {_show((left, result[e] or WHOLE))}")
    if op.kind is Kind.RESHAPE and any(r is None for r, n in zip(result, shape, strict=True) if n != 1):
        _check_reshape_whole(k, parts[node.operands[0]], shapes[0], shape)
    return tuple(WHOLE if r is None else r for r in result)


def _check_reshape_whole(k: int, operand: Sequence[Partition], shape: Shape, target: Shape) -> None:
    groups = reshape_groups(shape, target)
    kept = {a[0] for a, b in groups if len(a) == len(b) == 1}
    if any(part and d not in kept for d, part in enumerate(operand)):
        raise InputError(f"node {k}: a reshape that merges or splits dims needs them whole in each tile")


def _show(parts: Sequence[Partition]) -> str:
    return " and ".join("{" + ",".join(sorted(p)) + "}" for p in parts)


def tile_shape(shape: Shape, parts: Sequence[Partition], sizes: MappingABC[str, int]) -> Shape:
    """The tile's shape at concrete sizes; a ragged last tile counts as whole."""
    return tuple(part_size(n, prod(sizes[p] for p in part)) for n, part in zip(shape, parts, strict=True))


GRANULE = 16
"""Rows of a tensor-core tile, and the 16-bit elements of two 16-byte copies: unequal parts are rounded up to multiples of it."""


def part_size(size: int, parts: int) -> int:
    """Elements of a part of a dim: equal parts where it divides; else all but the last hold so many, and it holds the rest.

    >>> part_size(1024, 8), part_size(1000, 8), part_size(7, 2)
    (128, 128, 4)
    """
    even, rest = divmod(size, parts)
    if not rest:
        return even
    return even + 1 if even + 1 <= GRANULE // 2 else -(-(even + 1) // GRANULE) * GRANULE
