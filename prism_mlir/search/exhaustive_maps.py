"""Brute force over mappings: every well-formed imap, fmap and omap of a block graph, and which graphs are one and the same.

Mapping variables are not merged, and no parallel dim is tested for correctness by itself: see ``exhaustive``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from prism_mlir.graph.block import BlockGraph, BlockNode, Load, Stage
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.mapping import Mapping, expansion, tile_partitions
from prism_mlir.graph.symbols import GRID_NAMES

Column = tuple[int, ...]
"""What one parallel dim cuts: a data dim (-1 for none) of each load and, for a grid dim, of each output."""


def mappings(structure: KernelGraph, grid_dims: int) -> Iterator[KernelGraph]:
    """A graph with every well-formed mapping of it whose loop cuts something; grid dims in every order.

    Whether tiles fit together is a matter of each parallel dim by itself, and of no data dim being cut by two grid dims.
    """
    (node,) = structure.custom
    loops = [c for c in _columns(node.block, loop=True) if max(c) >= 0] if node.block.loop else [()]
    columns = _columns(node.block, loop=False)
    for count in range(grid_dims + 1):
        block = replace(node.block, grid=GRID_NAMES[:count])
        for grid, fmap in product(product(columns, repeat=count), loops):
            mapping = _mapping(block, grid, fmap)
            if _fits(block, mapping):
                yield replace(structure, nodes=(replace(node, block=block, mapping=mapping),))


def _columns(block: BlockGraph, loop: bool) -> list[Column]:
    """All columns of a grid dim or of the loop for which tiles fit together."""
    tensors = block.loads if loop else (*block.loads, *block.outputs)
    one = replace(block, grid=() if loop else GRID_NAMES[:1])
    found = product(*([-1, *(d for d, n in enumerate(block.shapes[k]) if n != 1)] for k in tensors))
    return [c for c in found if _fits(one, _mapping(one, () if loop else (c,), c if loop else ()))]


def _mapping(block: BlockGraph, grid: Sequence[Column], fmap: Column) -> Mapping:
    count = len(block.loads)
    imap = tuple(tuple(column[k] for column in grid) for k in range(count))
    omap = tuple(tuple(column[count + k] for column in grid) for k in range(len(block.outputs)))
    return Mapping(imap, fmap or (-1,) * count, omap)


def _fits(block: BlockGraph, mapping: Mapping) -> bool:
    """Whether tiles fit together, and what is saved is whole (no part of it for another kernel to put together)."""
    try:
        parts = tile_partitions(block, mapping)
    except InputError:
        return False
    return not any(expansion(block, mapping, k, parts) for k in range(len(block.outputs)))


def settled(graph: KernelGraph) -> KernelGraph:
    """The graph with tensors that are only used inside the loop loaded there, where that loads no tensor twice.

    A loop that loads a tensor whole in each iteration computes what one computes that finds it loaded, so the two are one graph.
    A tensor whose tile in the loop is another one is loaded outside as well, or it would be loaded twice in one place.
    """
    (node,) = graph.custom
    block, mapping = node.block, node.mapping
    if block.loop is None or mapping is None:
        return graph
    maps = dict(zip(block.loads, zip(mapping.imap, mapping.fmap, strict=True), strict=True))
    inside = {op.source: maps[k] for k in block.loads if not (op := _load(block, k)).invariant}
    moved = {k for k in _idle(block) if inside.get(_load(block, k).source, maps[k]) == maps[k]}
    place: dict[BlockNode, int] = {}
    number: list[int] = []  # of each old node, the new one
    nodes: list[BlockNode] = []
    for k, n in enumerate(block.nodes):
        new_op = Load(_load(block, k).source) if k in moved else n.op
        nodes.append(BlockNode(new_op, tuple(number[v] for v in n.operands)))
        number.append(place.setdefault(nodes[-1], len(place)))
    loads = {place[n]: maps[k] for k, n in enumerate(nodes) if k in maps}
    imap, fmap = tuple(row for row, _ in loads.values()), tuple(d for _, d in loads.values())
    new = replace(block, nodes=tuple(place), outputs=tuple(number[o] for o in block.outputs))
    mapped = replace(node, block=new, mapping=replace(mapping, imap=imap, fmap=fmap))
    return replace(graph, nodes=(mapped,))


def _load(block: BlockGraph, k: int) -> Load:
    op = block.nodes[k].op
    assert isinstance(op, Load)
    return op


def _idle(block: BlockGraph) -> frozenset[int]:
    """Loads outside the loop from which no way leads past the loop."""
    needed = set(block.outputs)
    for k in reversed(range(len(block.nodes))):
        users = [u for u, n in enumerate(block.nodes) if k in n.operands]
        past = any(block.stages[u] is Stage.AFTER or u in needed for u in users)
        if block.stages[k] is Stage.INVARIANT and past:
            needed.add(k)
    return frozenset(k for k in block.loads if block.stages[k] is Stage.INVARIANT and k not in needed)
