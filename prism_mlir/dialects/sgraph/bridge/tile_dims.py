"""How every tile of a block graph is cut: by symbols while mappings are open, by parallel dims once they are chosen."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence

import networkx as nx

from prism_mlir.dialects.sgraph.types import TileDim
from prism_mlir.graph.block import Accum, BlockGraph, Load
from prism_mlir.graph.dims import operand_pairs
from prism_mlir.graph.kernel import DimEquality
from prism_mlir.graph.mapping import Mapping, tile_partitions


def concrete_dims(block: BlockGraph, mapping: Mapping) -> tuple[tuple[TileDim, ...], ...]:
    """For every node, its tile's dims under a chosen mapping. Raises :class:`InputError` where tiles do not fit."""
    return tuple(
        tuple(TileDim.cut(size, part) for size, part in zip(shape, parts, strict=True))
        for shape, parts in zip(block.shapes, tile_partitions(block, mapping), strict=True)
    )


def symbolic_dims(block: BlockGraph, names: MappingABC[int, str]) -> tuple[tuple[TileDim, ...], ...]:
    """For every node, its tile's dims in terms of loaded tensors: each dim is inherited from the first operand that has it.

    names: for every load, the name of its tensor in mapping variables
    """
    dims: list[tuple[TileDim, ...]] = []
    for k, node in enumerate(block.nodes):
        shape = block.shapes[k]
        if isinstance(node.op, Load):
            dims.append(tuple(TileDim.symbolic(size, names[k], d) for d, size in enumerate(shape)))
        elif isinstance(node.op, Accum):
            dims.append(dims[node.operands[0]])
        else:
            row = [TileDim(size) for size in shape]
            operand_shapes = [block.shapes[v] for v in node.operands]
            for (i, d), (j, e) in reversed(operand_pairs(node.op, operand_shapes, shape)):
                if j < 0:
                    row[e] = dims[node.operands[i]][d]
            dims.append(tuple(row))
    return tuple(dims)


class SymbolClasses:
    """Which sigma(T,d) are equal, by recorded equalities and by what the operators themselves demand."""

    def __init__(
        self,
        block: BlockGraph,
        dims: Sequence[Sequence[TileDim]],
        equalities: Sequence[DimEquality],
    ) -> None:
        self._joined = nx.utils.UnionFind()
        for equality in equalities:
            self._join(dims[equality.a.node][equality.a.dim], dims[equality.b.node][equality.b.dim])
        for k, node in enumerate(block.nodes):
            if isinstance(node.op, Load | Accum):
                continue
            shapes = [block.shapes[v] for v in node.operands]
            for (i, d), (j, e) in operand_pairs(node.op, shapes, block.shapes[k]):
                other = dims[k][e] if j < 0 else dims[node.operands[j]][e]
                self._join(dims[node.operands[i]][d], other)

    def _join(self, a: TileDim, b: TileDim) -> None:
        self._joined.union((a.tensor, a.dim), (b.tensor, b.dim))

    def same(self, a: TileDim, b: TileDim) -> bool:
        """Whether two dims of tiles have one size for every mapping that fits."""
        if a == b:
            return True
        if a.size != b.size or a.parts or b.parts:
            return False
        return bool(self._joined[(a.tensor, a.dim)] == self._joined[(b.tensor, b.dim)])
