"""What a placed block asks of an SM: pieces of work for warps, registers, and how many blocks fit at a time."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import replace
from functools import lru_cache
from math import prod

from prism_mlir.graph.block import BlockGraph, Stage
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.footprint import Placement, Product, contiguous_dim, place
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import Shape
from prism_mlir.graph.program import Program, row_major
from prism_mlir.graph.schedule import Orientation
from prism_mlir.tune.targets import Target

LANES = 32
WAVEFRONT = 128  # bytes of shared memory that one pass delivers
MMA_ROWS, MMA_COLUMNS, MMA_DEPTH = 16, 8, 16  # mma.sync.m16n8k16 (PTX ISA, "mma")
BASE_REGISTERS = 40  # addresses, loop counters, fragments in flight
# What ptxas takes on top of twice the accumulators where nobody limits it; less nine times of ten, of 61 emitted kernels.
FREE_REGISTERS = 64
REGISTER_UNIT = 8  # registers of a thread are given out in eights (CUDA occupancy calculator)


def granules(product: Product) -> int:
    """Pieces of a product's result that warps share out: fragments of 16 x 8, or groups of 32 elements without mma."""
    if not product.on_tensor_cores:
        return _ceil(product.batch * product.m * product.n, LANES)
    return product.batch * prod(product.fragments)


def executed_fma(product: Product, warps: int) -> int:
    """Multiply-adds of one execution of a product: on tensor cores with padding, and with what is computed more than once.

    Every warp multiplies as many fragments as the busiest one, since ``mma.sync`` takes whole warps and none stands aside: four
    warps that share one fragment compute it four times.
    """
    if not product.on_tensor_cores:
        return product.batch * product.m * product.n * product.k
    along, across = _each_warp(product, warps)
    fragments = warps * product.batch * along * across
    return fragments * MMA_ROWS * MMA_COLUMNS * _ceil(product.k, MMA_DEPTH) * MMA_DEPTH


def operand_reads(product: Product, warps: int) -> int:
    """Bytes of shared memory that one execution of a product reads, a wavefront as 128.

    On tensor cores every warp reads its own fragments of both sides, by ``ldmatrix``: 16 and 8 rows of 16 halves. Without them
    a warp reads two wavefronts for each step along k, a broadcast and 32 neighbours.
    """
    if not product.on_tensor_cores:
        return warps * product.accumulators(warps) * product.k * 2 * WAVEFRONT
    along, across = _each_warp(product, warps)
    step = (along * MMA_ROWS + across * MMA_COLUMNS) * MMA_DEPTH * product.dtype.bytes
    return warps * product.batch * step * _ceil(product.k, MMA_DEPTH)


def _each_warp(product: Product, warps: int) -> tuple[int, int]:
    """Fragments along both sides that each warp multiplies."""
    (p, q), (along, across) = product.fragments, product.warp_grid(warps)
    return _ceil(p, along), _ceil(q, across)


def warp_units(placement: Placement) -> int:
    """Pieces of work of the block's largest task: beyond this, a further warp would have nothing to do."""
    if placement.products:
        return max(granules(p) for p in placement.products.values())
    return max(_ceil(prod(tile), LANES) for tile in placement.tiles)


def registers_per_thread(placement: Placement, warps: int) -> int:
    """Estimate of 32-bit registers a thread needs: the tiles held in registers, and a constant."""
    return BASE_REGISTERS + sum(p.accumulators(warps) for p in placement.held.values())


def free_registers(placement: Placement, warps: int, target: Target) -> int:
    """Registers a thread may get where code is compiled without a limit: assemblers use more than they need."""
    accumulators = sum(p.accumulators(warps) for p in placement.held.values())
    return min(target.registers_per_thread, FREE_REGISTERS + 2 * accumulators)


def register_limit(residency: int, warps: int, target: Target) -> int:
    """The most registers a thread can have where ``residency`` blocks must fit an SM; 0: nothing but the chip limits them.

    >>> from prism_mlir.tune.targets import DEFAULT_TARGET, find_target
    >>> register_limit(3, 4, find_target(DEFAULT_TARGET))  # 65536 / 384 = 170.7
    168
    """
    if not residency:
        return target.registers_per_thread
    most = target.registers // (residency * warps * LANES)
    return min(target.registers_per_thread, most // REGISTER_UNIT * REGISTER_UNIT)


def resident_blocks(shared: int, registers: int, warps: int, target: Target) -> int:
    """Blocks an SM holds at a time (CUDA programming guide, "occupancy"); 1 where even one is too much."""
    threads = warps * LANES
    return max(
        1,
        min(
            target.shared_per_sm // (shared + target.shared_reserved),
            target.registers // (registers * threads),
            target.threads_per_sm // threads,
            target.blocks_per_sm,
        ),
    )


def operand_strides(graph: KernelGraph, node: CustomNode, program: Program | None) -> tuple[tuple[int, ...], ...]:
    """Strides, in elements, of the tensors a graph-defined operator reads: as the program says, or row-major."""
    known = () if program is None else tuple(i.strides for i in program.inputs)
    return tuple(known[v] if v < len(known) else row_major(graph.shapes[v]) for v in node.operands)


def row_bytes(block: BlockGraph, source: int, tile: Shape, strides: tuple[int, ...]) -> int:
    """Bytes that lie side by side in a tile of an input."""
    tensor = block.inputs[source]
    return tile[contiguous_dim(tensor.shape, strides)] * tensor.dtype.bytes


def placed(
    node: CustomNode,
    sizes: tuple[tuple[str, int], ...],
    stages: int,
    strides: tuple[tuple[int, ...], ...],
    orientation: Orientation = Orientation.AUTO,
) -> Placement:
    """Where the tiles of a graph-defined operator live at concrete sizes.

    Raises :class:`InputError` where its mapping is still symbols, :class:`~prism_mlir.graph.footprint.ScheduleError` where the
    block cannot be built. Remembers what it computed, since schedules that differ in warps and stages share it.
    """
    placement = _placed(node.block, concrete_mapping(node), sizes, strides, orientation)
    if stages == 1:
        return placement
    body = [b.kind == "load" and placement.stages[b.node] is Stage.BODY for b in placement.buffers]
    buffers = (replace(b, slots=stages) if repeat else b for b, repeat in zip(placement.buffers, body, strict=True))
    return replace(placement, buffers=tuple(buffers))


def concrete_mapping(node: CustomNode) -> Mapping:
    """The mapping of a graph-defined operator. Raises :class:`InputError` where it is still symbols."""
    if node.mapping is None:
        raise InputError("the graph still has symbolic mappings", None, "instantiate them before choosing sizes")
    return node.mapping


@lru_cache(maxsize=8192)
def _placed(
    block: BlockGraph,
    mapping: Mapping,
    sizes: tuple[tuple[str, int], ...],
    strides: tuple[tuple[int, ...], ...],
    orientation: Orientation,
) -> Placement:
    known: MappingABC[str, int] = dict(sizes)
    return place(block, mapping, known, 1, strides, orientation)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
