"""A graph-defined operator at concrete sizes: what the terms of the cost model are computed from."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from math import prod

from prism_mlir.graph.block import Accum, BlockGraph, Load, Stage
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.footprint import Placement
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule
from prism_mlir.tune.occupancy import concrete_mapping, operand_strides, placed, row_bytes

SECTOR_BYTES = 32  # smallest piece of memory that travels (CUDA best practices guide, "coalesced access")


@dataclass(frozen=True, slots=True)
class SizedKernel:
    """One graph-defined operator, its sizes, and where its tiles live.

    strides:     of each input, in elements
    saved_bytes: of all results
    blocks:      of the grid
    iterations:  of the loop; 1 without a loop
    """

    block: BlockGraph
    mapping: Mapping
    placement: Placement
    strides: tuple[tuple[int, ...], ...]
    saved_bytes: int
    blocks: int
    iterations: int
    schedule: Schedule

    def times(self, k: int) -> int:
        """How often a block runs node ``k``; an accumulator adds in every iteration."""
        in_loop = isinstance(self.block.nodes[k].op, Accum) or self.placement.stages[k] is Stage.BODY
        return self.iterations if in_loop else 1

    def load_bytes(self, k: int) -> int:
        """Bytes that travel for one tile of load ``k``: each contiguous row in whole sectors."""
        op, tile = self.block.nodes[k].op, self.placement.tiles[k]
        assert isinstance(op, Load)
        row = row_bytes(self.block, op.source, tile, self.strides[op.source])
        rows = prod(tile) * self.block.inputs[op.source].dtype.bytes // row
        return rows * -(-row // SECTOR_BYTES) * SECTOR_BYTES


def sized_kernels(graph: KernelGraph, schedule: Schedule, program: Program | None) -> dict[int, SizedKernel]:
    """The graph-defined operators of a graph at the sizes of a schedule, by the number of their kernel node.

    ``program`` tells how its inputs lie in memory and how wide its outputs are; without it tensors are row-major, and as wide as
    the first input. Raises :class:`~prism_mlir.graph.errors.InputError` where mappings are symbols, and
    :class:`~prism_mlir.graph.footprint.ScheduleError` where the graph cannot be built.
    """
    found, value, sizes = {}, len(graph.inputs), schedule.size_of
    for index, node in enumerate(graph.nodes):
        results = range(value, value + (len(node.block.outputs) if isinstance(node, CustomNode) else 1))
        value = results.stop
        if not isinstance(node, CustomNode):
            continue
        block, strides = node.block, operand_strides(graph, node, program)
        own = tuple(item for item in schedule.sizes if item[0] in block.parallel_dims)
        placement = placed(node, own, schedule.stages, strides, schedule.orientation)
        saved = sum(value_bytes(graph, v, sizes, program) for v in results)
        blocks = prod(sizes[p] for p in block.grid)
        iterations = 1 if block.loop is None else sizes[block.loop]
        mapping = concrete_mapping(node)
        found[index] = SizedKernel(block, mapping, placement, strides, saved, blocks, iterations, schedule)
    return found


def value_bytes(graph: KernelGraph, value: int, sizes: MappingABC[str, int], program: Program | None) -> int:
    """Bytes of a kernel value: an input's own, the program's type for its outputs, f32 for what kernels pass on.

    A value that is expanded along a parallel dim holds one part for each of its blocks.
    """
    parts = prod(sizes[p] for p, _ in graph.expansions[value])
    return prod(graph.shapes[value]) * parts * _width(graph, value, program)


def _width(graph: KernelGraph, value: int, program: Program | None) -> int:
    if value < len(graph.inputs):
        return graph.inputs[value].dtype.bytes
    if value not in graph.outputs:
        return DType.F32.bytes
    if program is None:
        return graph.inputs[0].dtype.bytes if graph.inputs else DType.F32.bytes
    return program.outputs[graph.outputs.index(value)].dtype.bytes
