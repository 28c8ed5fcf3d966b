"""What the launch of a kernel with dynamic sizes needs: how many blocks, how many turns of the loop.

A dim of dynamic length that blocks cut, and nothing else with them, takes as many blocks as its length fills: the code is then
the same whatever the largest size. Everything else runs as often as for the largest size, and masks what is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prism_mlir.codegen.kernel_state import Turns
from prism_mlir.graph.dims import reshape_groups
from prism_mlir.graph.dynamic import DynamicShapes
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.extent import Extent
from prism_mlir.graph.footprint import Placement
from prism_mlir.graph.kernel import CustomNode
from prism_mlir.graph.ops import Kind, Op

Cut = tuple[Extent, frozenset[str], int]  # a dim's length, what cuts it, and the tile


@dataclass(frozen=True)
class DynamicLengths:
    """One kernel of a graph with dynamic sizes.

    Raises :class:`UnsupportedError` for a reshape that merges a dynamic dim into a faster one: elements that exist would not lie
    next to each other in a tile.
    """

    shapes: DynamicShapes
    kernel: int
    node: CustomNode

    def __post_init__(self) -> None:
        block = self.node.block
        for k, n in enumerate(block.nodes):
            if isinstance(n.op, Op) and n.op.kind is Kind.RESHAPE:
                self._check_reshape(n.operands[0], k)

    def _check_reshape(self, source: int, target: int) -> None:
        block = self.node.block
        for left, right in reshape_groups(block.shapes[source], block.shapes[target]):
            many, node = (left, source) if len(left) >= len(right) else (right, target)
            inner = [self.of_nodes[node][d] for d in many[1:]]
            if any(e.dynamic for e in inner):
                raise UnsupportedError("a reshape that joins a dim of dynamic size to one before it")

    @property
    def of_nodes(self) -> dict[int, tuple[Extent, ...]]:
        """Extents of the dims of every block node."""
        return {j: dims for (k, j), dims in self.shapes.dims.items() if k == self.kernel}

    def _cuts(self, placement: Placement, name: str) -> set[Cut]:
        """Every way in which a parallel dim cuts something."""
        return {
            (self.of_nodes[j][d], part, placement.tiles[j][d])
            for j, row in enumerate(placement.parts)
            for d, part in enumerate(row)
            if name in part
        }

    def _expanded(self, name: str) -> bool:
        """Whether blocks or iterations take one part each of something."""
        return any(p == name for i in self.node.block.inputs for p, _ in i.expanded)

    def turns(self, placement: Placement, sizes: Mapping[str, int]) -> Turns | None:
        """How often the loop runs; ``None``: as often as for the largest size."""
        loop = self.node.block.loop
        if loop is None or sizes[loop] == 1 or self._expanded(loop):
            return None
        cuts = self._cuts(placement, loop)
        if len(cuts) != 1:
            return None
        ((length, part, tile),) = cuts
        if not length.dynamic:
            return None
        return Turns(length, tile, tuple(g for g in self.node.block.grid if g in part))

    def grid(self, placement: Placement, sizes: Mapping[str, int]) -> tuple[Extent, Extent, Extent]:
        """Blocks along x, y and z."""
        found = [self._blocks(placement, sizes, name) or Extent(sizes[name]) for name in self.node.block.grid]
        x, y, z = (*found, Extent(1), Extent(1), Extent(1))[:3]
        return x, y, z

    def may_be_idle(self, placement: Placement, sizes: Mapping[str, int]) -> bool:
        """Whether there may be blocks past the end of what is stored."""
        block = self.node.block
        return any(
            g in part and extent.dynamic and sizes[g] > 1 and self._blocks(placement, sizes, g) is None
            for out in block.outputs
            for part, extent in zip(placement.parts[out], self.of_nodes[out], strict=True)
            for g in block.grid
        )

    def _blocks(self, placement: Placement, sizes: Mapping[str, int], name: str) -> Extent | None:
        block, mapping = self.node.block, self.node.mapping
        assert mapping is not None
        if sizes[name] == 1 or self._expanded(name):
            return None
        position = block.grid.index(name)
        for out, omap in zip(block.outputs, mapping.omap, strict=True):
            if omap[position] >= 0 and not any(name in part for part in placement.parts[out]):
                return None  # every block stores a part
        covered = set()
        for length, part, tile in self._cuts(placement, name):
            if not length.dynamic or part - {name, block.loop}:
                return None
            covered.add((length, tile * (sizes[block.loop] if block.loop in part and block.loop else 1)))
        if len(covered) != 1:
            return None
        ((length, tile),) = covered
        return Extent(length.times, length.sizes, tile)
