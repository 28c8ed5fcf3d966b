"""Elementwise chains, evaluated in registers at the place where they are used.

An expression is a tree of unary, binary and transpose nodes over leaves that lie in registers or in shared memory. Nothing
in between is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from prism_mlir.codegen.builder import Bool, Int
from prism_mlir.codegen.kernel_state import KernelState
from prism_mlir.codegen.layout import Pack, Spread, spread_of
from prism_mlir.graph.footprint import common_spread, is_inline, leaves
from prism_mlir.graph.ops import LAST, Kind, Op


@dataclass
class Evaluator:
    """Values of nodes at the elements of one pack. ``tag`` names the site, see ``KernelState.new_site``."""

    state: KernelState
    tag: str
    pack: Pack
    _memo: dict[tuple[int, tuple[Int, ...], int], list[str]] = field(default_factory=dict)

    def values(self, root: int) -> list[str]:
        return self._at(root, self.pack.coordinates, self.pack.width)

    def _at(self, node: int, coordinates: tuple[Int, ...], width: int) -> list[str]:
        tile = self.state.placement.tiles[node]
        if width > 1 and tile[-1] == 1:
            return self._at(node, coordinates, 1) * width
        coordinates = tuple(0 if extent == 1 else c for c, extent in zip(coordinates, tile, strict=True))
        key = (node, coordinates, width)
        if key not in self._memo:
            self._memo[key] = self._compute(node, coordinates, width)
        return self._memo[key]

    def _compute(self, node: int, coordinates: tuple[Int, ...], width: int) -> list[str]:
        op, operands = self.state.block.nodes[node].op, self.state.block.nodes[node].operands
        if not is_inline(op):
            return self._leaf(node, coordinates, width)
        assert isinstance(op, Op)
        if op.kind in (Kind.TRANSPOSE, Kind.RESHAPE):
            return self._moved(node, op, coordinates, width)
        if op == LAST:  # after the loop, a running maximum is the last one
            return self._at(operands[0], coordinates, width)
        if op.kind is Kind.CONSTANT:
            assert op.value is not None
            return [self.state.b.f32(op.value)] * width
        values = [self._at(v, coordinates, width) for v in operands]
        if op.kind is Kind.UNARY:
            return [self.state.math.unary(op, x) for x in values[0]]
        return [self.state.math.binary(op, x, y) for x, y in zip(*values, strict=True)]

    def _leaf(self, node: int, coordinates: tuple[Int, ...], width: int) -> list[str]:
        if node in self.state.registers and self.pack.registers:
            return [self.state.registers[node][r] for r in self.pack.registers]
        return self.state.load(self.state.buffer(node), coordinates, width, self.tag)

    def _moved(self, node: int, op: Op, coordinates: tuple[Int, ...], width: int) -> list[str]:
        """A transpose or a reshape: the operand, element by element, at other coordinates."""
        b, (operand,) = self.state.b, self.state.block.nodes[node].operands
        tile, source = self.state.placement.tiles[node], self.state.placement.tiles[operand]
        result: list[str] = []
        for k in range(width):
            here = (*coordinates[:-1], b.add(coordinates[-1], k))
            if op.perm is None:  # tiles of a reshape hold the same elements in the same order
                there = b.unflatten(b.flatten(here, tile), source)
            else:
                there = [here[op.perm.index(d)] for d in range(len(here))]
            result += self._at(operand, tuple(there), 1)
        return result


def shared_reads(state: KernelState, root: int, from_registers: bool) -> set[tuple[int, str]]:
    """The buffers that evaluating an expression reads."""
    found = leaves(state.block, root)
    return {state.key(v) for v in found if not (from_registers and v in state.registers)}


def spread_for(state: KernelState, root: int) -> Spread | None:
    """The distribution in which an expression can take its leaves from registers."""
    held = {v: product for v, product in state.placement.held.items() if v in state.registers}
    product = common_spread(state.block, state.placement.tiles, held, root)
    if product is None:
        return None
    return spread_of(product, state.placement.tiles[root], state.threads.warps)


def existing_values(
    state: KernelState, node: int, pack: Pack, tag: str, dims: Sequence[int], neutral: str | None = None
) -> list[str]:
    """The values of a pack, with a neutral value where the element does not exist in one of ``dims``.

    A pack may lie in padding past the tile: it is evaluated at the nearest place inside and masked.
    """
    b, tile = state.b, state.placement.tiles[node]
    buffer = state.memory.buffers.get((node, "operand"))
    padded = buffer.layout.extents if buffer is not None else tile
    masked = [d for d in dims if padded[d] != tile[d] or state.is_ragged(node, d)]
    if not masked:
        return Evaluator(state, tag, pack).values(node)
    inner = tuple(
        b.minimum(c, tile[d] - (pack.width if d == len(tile) - 1 else 1)) if padded[d] != tile[d] else c
        for d, c in enumerate(pack.coordinates)
    )
    values = Evaluator(state, tag, Pack(inner, pack.width, pack.valid, pack.registers)).values(node)
    return [
        b.select(_exists(state, node, pack, masked, k), value, neutral or b.f32(0.0)) for k, value in enumerate(values)
    ]


def _exists(state: KernelState, node: int, pack: Pack, dims: Sequence[int], k: int) -> Bool:
    here = (*pack.coordinates[:-1], state.b.add(pack.coordinates[-1], k))
    return state.inside(node, here, dims)
