"""What one thread block needs at concrete sizes: tiles, shared memory, registers, matrix-multiply granules.

The contract between tuning and code generation. Tuning admits a schedule only when the numbers here are within the target's
limits; code generation may use less than :func:`shared_bytes`, never more. The plan behind the number is plain:

- a load in the loop body owns ``stages`` buffers, an invariant load one, in its own element type
- an accumulator owns one f32 buffer for the whole life of the block
- every other tile owns one f32 buffer while the part of the block it belongs to runs; the loop body and what comes after
  the loop reuse the same bytes, since no tile of the body outlives it
- tiles that a matrix product touches are padded to whole granules in their last two dims
- every buffer starts at a multiple of 128 bytes (eight rows of 16 bytes, the period of a swizzle)
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from math import prod

from prism_mlir.graph.block import Accum, BlockGraph, Load, Stage
from prism_mlir.graph.mapping import Mapping, tile_partitions, tile_shape
from prism_mlir.graph.ops import Kind, Op, Shape

Sizes = MappingABC[str, int]

MMA_M, MMA_N, MMA_K = 16, 8, 16  # mma.sync.m16n8k16, the 16-bit tensor-core instruction (PTX ISA, "mma")
LANES = 32
SHARED_ALIGNMENT = 128
F32_BYTES = 4
BASE_REGISTERS = 40  # addresses, loop counters, fragments in flight


@dataclass(frozen=True, slots=True)
class MatmulTile:
    """One matrix product of a block: ``batch`` independent products [m, k] x [k, n] in each execution."""

    node: int
    batch: int
    m: int
    n: int
    k: int

    @property
    def granules(self) -> int:
        """Accumulator fragments (16 x 8, either way round) the product consists of: what warps can share out."""
        return self.batch * min(
            _ceil(self.m, MMA_M) * _ceil(self.n, MMA_N), _ceil(self.m, MMA_N) * _ceil(self.n, MMA_M)
        )

    @property
    def padded_fma(self) -> int:
        """Multiply-adds the tensor cores execute, padding included."""
        return self.granules * MMA_M * MMA_N * _ceil(self.k, MMA_K) * MMA_K


def tile_shapes(block: BlockGraph, mapping: Mapping, sizes: Sizes) -> tuple[Shape, ...]:
    """The tile of every node. Raises :class:`~prism_mlir.graph.errors.InputError` where the mapping does not fit."""
    parts = tile_partitions(block, mapping)
    return tuple(tile_shape(shape, part, sizes) for shape, part in zip(block.shapes, parts, strict=True))


def matmul_tiles(block: BlockGraph, tiles: tuple[Shape, ...]) -> tuple[MatmulTile, ...]:
    """Every matrix product with the sizes of its tiles."""
    found = []
    for k, node in enumerate(block.nodes):
        if isinstance(node.op, Op) and node.op.kind is Kind.MATMUL:
            left, right = (tiles[v] for v in node.operands)
            found.append(MatmulTile(k, prod(left[:-2]), left[-2], right[-1], left[-1]))
    return tuple(found)


def shared_bytes(block: BlockGraph, mapping: Mapping, sizes: Sizes, stages: int) -> int:
    """Upper bound of the shared memory one block uses, in bytes."""
    return planned_bytes(block, tile_shapes(block, mapping, sizes), stages)


def planned_bytes(block: BlockGraph, tiles: tuple[Shape, ...], stages: int) -> int:
    """:func:`shared_bytes` for tiles that are known already."""
    padded = _matmul_operands(block)
    throughout, in_stage = 0, dict.fromkeys(Stage, 0)
    for k, node in enumerate(block.nodes):
        elements = prod(_pad(tiles[k]) if k in padded else tiles[k])
        if isinstance(node.op, Load):
            size = _aligned(elements * block.inputs[node.op.source].dtype.bytes)
            if node.op.invariant:
                throughout += size
            else:
                in_stage[Stage.BODY] += size * stages
        elif isinstance(node.op, Accum) or block.stages[k] is Stage.INVARIANT:
            throughout += _aligned(elements * F32_BYTES)
        else:
            in_stage[block.stages[k]] += _aligned(elements * F32_BYTES)
    return throughout + max(in_stage[Stage.BODY], in_stage[Stage.AFTER])


def registers_per_thread(block: BlockGraph, tiles: tuple[Shape, ...], warps: int) -> int:
    """Estimate of 32-bit registers a thread needs: accumulators of products and of the loop, and a constant.

    A product whose result is only accumulated is computed in place, so its fragments are counted once.
    """
    padded = _matmul_operands(block)
    accumulated = {n.operands[0] for n in block.nodes if isinstance(n.op, Accum)}
    elements = 0
    for k, node in enumerate(block.nodes):
        product = isinstance(node.op, Op) and node.op.kind is Kind.MATMUL and k not in accumulated
        if product or isinstance(node.op, Accum):
            elements += prod(_pad(tiles[k]) if k in padded else tiles[k])
    return BASE_REGISTERS + _ceil(elements, warps * LANES)


def _matmul_operands(block: BlockGraph) -> frozenset[int]:
    """Nodes that are operands or results of a matrix product, and accumulators of such results."""
    found: set[int] = set()
    for k, node in enumerate(block.nodes):
        if isinstance(node.op, Op) and node.op.kind is Kind.MATMUL:
            found |= {k, *node.operands}
        elif isinstance(node.op, Accum) and node.operands[0] in found:
            found.add(k)
    return frozenset(found)


def _pad(shape: Shape) -> Shape:
    return (*shape[:-2], *(_ceil(n, MMA_M) * MMA_M for n in shape[-2:]))


def _aligned(size: int) -> int:
    return _ceil(size, SHARED_ALIGNMENT) * SHARED_ALIGNMENT


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
