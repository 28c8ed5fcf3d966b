"""What one block asks of the pipes of an SM, counted from its tiles.

Work is in the units of each pipe: multiply-adds, instructions of a warp, bytes of shared memory. :func:`block_work` turns it into
clocks. The constants are counts of emitted code, not of a chip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from prism_mlir.graph.block import Accum, BlockNode, Load
from prism_mlir.graph.footprint import leaves
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.tune.occupancy import LANES, executed_fma, operand_reads
from prism_mlir.tune.scalar_work import DIVISION, scalar_work
from prism_mlir.tune.sized import SizedKernel
from prism_mlir.tune.targets import Target

COPY_BYTES = 16  # of a thread's asynchronous copy
MMA_FMA = 16 * 8 * 16  # multiply-adds of an mma.m16n8k16
PIPES = 4  # sub-cores of an SM; one warp feeds one
BARRIER_CLOCKS = 30
# Integer instructions of a warp, as counted in emitted code: of its start and end, of a copy of 16 bytes a thread, of an mma with
# its fragments, of a piece of 8 elements that is read and converted (addresses, and one conversion an element).
START_INTEGER, COPY_INTEGER, MMA_INTEGER, PIECE_INTEGER, PIECE = 200, 3, 1, 4 + 8, 8


@dataclass(frozen=True, slots=True)
class BlockWork:
    """Clocks one block keeps each pipe of an SM busy, had it the pipe to itself, and its own chain of latencies."""

    tensor: float
    fma: float
    integer: float
    issue: float
    shared: float
    chain: float

    def pipes(self) -> Iterator[tuple[str, float]]:
        """Name and clocks of each pipe."""
        for name in ("tensor", "fma", "integer", "issue", "shared"):
            yield name, getattr(self, name)

    def busiest(self, blocks: int, warps: int) -> tuple[float, str]:
        """Clocks of the pipe that some blocks of an SM keep busy longest. A warp feeds the arithmetic of one of four sub-cores;
        shared memory serves all of them, and one warp can ask for all it delivers."""
        part = min(1.0, blocks * warps / PIPES)
        fed = ((self.tensor, "tensor"), (self.fma, "fma"), (self.integer, "integer"), (self.issue, "issue"))
        longest, pipe = max((self.shared, "shared"), *((clocks / part, pipe) for clocks, pipe in fed))
        return blocks * longest, pipe


@dataclass(frozen=True, slots=True)
class Executed:
    """What one block executes: multiply-adds of tensor cores and of the ordinary pipes, instructions of a warp."""

    tensor_fma: int
    f32_fma: int
    integer: float
    others: float
    shared_bytes: int


def executed(kernel: SizedKernel) -> Executed:
    """Counts of one block."""
    integer, others = _instructions(kernel)
    return Executed(_tensor_work(kernel), _f32_work(kernel), integer, others, _shared_traffic(kernel))


def block_work(kernel: SizedKernel, counts: Executed, latency: int, target: Target) -> BlockWork:
    """Clocks of one block on a target, where a load takes ``latency`` clocks: that of DRAM, or of L2."""
    return BlockWork(
        tensor=counts.tensor_fma / (target.tensor_fma * target.tensor_sustained),
        fma=counts.f32_fma / target.f32_fma,
        integer=counts.integer * LANES / target.integer_lanes,
        issue=(counts.integer + counts.others + counts.f32_fma / LANES) / target.issue_slots,
        shared=counts.shared_bytes / target.shared_per_clock,
        chain=_latency_chain(kernel, latency, target),
    )


def _tensor_work(kernel: SizedKernel) -> int:
    """Multiply-adds on tensor cores of one block; one of tf32 takes the time of two (Ampere white paper)."""
    products = kernel.placement.products.items()
    warps = kernel.schedule.warps
    return sum((1 + p.tf32) * executed_fma(p, warps) * kernel.times(k) for k, p in products if p.on_tensor_cores)


def _instructions(kernel: SizedKernel) -> tuple[float, float]:
    """Warp instructions of one block beside f32 arithmetic: integer ones, and copies, fragments and products."""
    placement, block, warps = kernel.placement, kernel.block, kernel.schedule.warps
    copies = sum(kernel.load_bytes(k) * kernel.times(k) for k in block.loads) / (COPY_BYTES * LANES)
    mma = sum(
        executed_fma(p, warps) * kernel.times(k) / MMA_FMA for k, p in placement.products.items() if p.on_tensor_cores
    )
    pieces = sum(_pieces(kernel, k) for k in range(len(block.nodes)))
    integer = START_INTEGER * warps + COPY_INTEGER * copies + MMA_INTEGER * mma + PIECE_INTEGER * pieces
    return integer, copies + 2 * mma + 2 * pieces


def _pieces(kernel: SizedKernel, k: int) -> float:
    """Pieces of 8 elements a thread, in warps, that node ``k`` reads from shared memory outside of products, in one block."""
    placement, node = kernel.placement, kernel.block.nodes[k]
    reduced = isinstance(node.op, Op) and node.op.kind is Kind.REDUCE
    added = isinstance(node.op, Accum) and k not in placement.held and node.operands[0] not in placement.fused
    if not (reduced or added or any(b.key == (k, "operand") for b in placement.buffers)):
        return 0.0
    root = node.operands[0] if reduced or added else k
    return prod(placement.tiles[root]) / (PIECE * LANES) * kernel.times(k)


def _f32_work(kernel: SizedKernel) -> int:
    """Multiply-adds on the ordinary pipes of one block."""
    return sum(_f32_node(kernel, node, k) * kernel.times(k) for k, node in enumerate(kernel.block.nodes))


def _f32_node(kernel: SizedKernel, node: BlockNode, k: int) -> int:
    placement, elements = kernel.placement, prod(kernel.placement.tiles[k])
    if k in placement.products:
        product = placement.products[k]
        return 0 if product.on_tensor_cores else executed_fma(product, kernel.schedule.warps)
    if isinstance(node.op, Load):
        return 0
    if isinstance(node.op, Accum):
        return 0 if node.operands[0] in placement.fused else elements
    match node.op.kind:
        case Kind.UNARY:
            assert node.op.fn is not None
            return scalar_work(node.op.fn) * elements
        case Kind.REDUCE:
            return prod(placement.tiles[node.operands[0]])
        case Kind.BINARY:
            return elements * (DIVISION if node.op.name == "div" else 1)
        case _:
            return 0


def _shared_traffic(kernel: SizedKernel) -> int:
    """Bytes one block writes to shared memory, and reads again.

    Products read (every warp its part), and so do reductions, accumulators that live in shared memory (what they hold, and what
    is added), and expressions that are written as operands, or saved.
    """
    placement, block = kernel.placement, kernel.block
    total = sum(b.bytes // b.slots * kernel.times(b.node) for b in placement.buffers)
    for k, node in enumerate(block.nodes):
        if k in placement.products:
            read = operand_reads(placement.products[k], kernel.schedule.warps)
        elif isinstance(node.op, Op) and node.op.kind is Kind.REDUCE:
            read = _leaf_bytes(kernel, node.operands[0])
        elif isinstance(node.op, Accum) and k not in placement.held and node.operands[0] not in placement.fused:
            read = _leaf_bytes(kernel, k) + _leaf_bytes(kernel, node.operands[0])
        else:
            continue
        total += read * kernel.times(k)
    total += sum(_leaf_bytes(kernel, b.node) * kernel.times(b.node) for b in placement.buffers if b.kind == "operand")
    return total + sum(_leaf_bytes(kernel, k) for k in block.outputs)


def _leaf_bytes(kernel: SizedKernel, root: int) -> int:
    """Bytes of the tiles in shared memory that evaluating an expression reads once."""
    placement = kernel.placement
    width = {b.node: b.dtype.bytes for b in placement.buffers if b.kind != "operand"}
    return sum(prod(placement.tiles[v]) * width.get(v, 0) for v in leaves(kernel.block, root))


def _latency_chain(kernel: SizedKernel, latency: int, target: Target) -> float:
    """Clocks a block spends waiting: copies arrive a memory latency after they are asked for, and stages overlap them."""
    wait = (latency + target.shared_latency) / kernel.schedule.stages + BARRIER_CLOCKS
    return latency + kernel.iterations * wait
