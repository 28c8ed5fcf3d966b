"""First cost model: how long a scheduled graph takes, term by term, without a GPU.

    t = sum over kernels of  launch + max(t_SM, t_L2, t_DRAM)

``t_DRAM`` moves compulsory bytes, and re-reads that the L2 cache cannot hold, at the sustained bandwidth, less when few SMs are
active or too few bytes are in flight (Little's law). ``t_L2`` moves every byte of every tile. ``t_SM`` runs blocks in waves: in a
wave each pipe serves all resident blocks, and no block is faster than its own chain of latencies. The model prunes and orders;
where there is a GPU, the profiler decides between the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, Stage
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.footprint import Placement, leaves
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.occupancy import (
    LANES,
    executed_fma,
    operand_reads,
    operand_strides,
    placed,
    registers_per_thread,
    resident_blocks,
    row_bytes,
)
from prism_mlir.tune.scalar_work import DIVISION, scalar_work
from prism_mlir.tune.targets import Target

COPY_BYTES = 16  # of a thread's asynchronous copy
MMA_FMA = 16 * 8 * 16  # multiply-adds of an mma.m16n8k16
SECTOR_BYTES = 32  # smallest piece of memory that travels
ACTIVE_FOR_FULL_BANDWIDTH = 0.75  # part of the SMs that saturates memory
PIPES = 4  # sub-cores of an SM; one warp feeds one
BARRIER_CLOCKS = 30
# Integer instructions of a warp, as counted in emitted code: of its start and end, of a copy of 16 bytes a thread, of an mma with
# its fragments, of a piece of 8 elements that is read and converted (addresses, and one conversion an element).
START_INTEGER, COPY_INTEGER, MMA_INTEGER, PIECE_INTEGER, PIECE = 200, 3, 1, 4 + 8, 8


@dataclass(frozen=True, slots=True)
class KernelCost:
    """One kernel. Times in microseconds, sizes in bytes, work in multiply-adds of the whole kernel.

    blocks, resident:   blocks of the grid, and how many one SM holds at a time
    full_waves, last_wave: waves that fill every SM, and the blocks of the ragged last one
    dram_bytes:         compulsory bytes, and re-reads that miss L2
    l2_bytes:           bytes of every tile that is loaded or saved
    in_flight_bytes:    bytes that copies keep in flight on one SM
    tail_us:            time lost because the last wave is not full (part of ``sm_us``)
    serial_us:          copying that computing waits for: with one stage, only other resident blocks overlap the two
    limiter:            ``dram``, ``l2``, ``tensor``, ``fma``, ``integer``, ``issue``, ``shared`` or ``latency``
    """

    blocks: int
    resident: int
    full_waves: int
    last_wave: int
    shared_bytes: int
    registers: int
    dram_bytes: int
    l2_bytes: int
    in_flight_bytes: int
    tensor_fma: int
    f32_fma: int
    dram_us: float
    l2_us: float
    sm_us: float
    tail_us: float
    serial_us: float
    limiter: str

    @property
    def total_us(self) -> float:
        """Without the launch."""
        return max(self.dram_us, self.l2_us, self.sm_us) + self.serial_us


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a scheduled graph: its kernels, and what launching them takes."""

    kernels: tuple[KernelCost, ...]
    launch_us: float

    @property
    def total_us(self) -> float:
        return self.launch_us + sum(k.total_us for k in self.kernels)

    @property
    def dram_bytes(self) -> int:
        return sum(k.dram_bytes for k in self.kernels)

    @property
    def work_us(self) -> float:
        """Microseconds that the SMs compute and the L2 cache delivers, in all kernels, as if nothing ran at the same time."""
        return sum(k.sm_us + k.l2_us for k in self.kernels)

    @property
    def limiter(self) -> str:
        """What limits the slowest kernel; ``launch`` where launching takes longer than running."""
        slowest = max(self.kernels, key=lambda k: k.total_us, default=None)
        return "launch" if slowest is None or self.launch_us > self.total_us / 2 else slowest.limiter


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A graph-defined operator at concrete sizes, with what the terms below are computed from."""

    block: BlockGraph
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


@dataclass(frozen=True, slots=True)
class _BlockWork:
    """Clocks one block keeps each pipe of an SM busy, had it the pipe to itself, and its own chain of latencies."""

    tensor: float
    fma: float
    integer: float
    issue: float
    shared: float
    chain: float

    def busiest(self, blocks: int, warps: int) -> tuple[float, str]:
        """Clocks of the pipe that some blocks of an SM keep busy longest. A warp feeds the arithmetic of one of four sub-cores;
        shared memory serves all of them, and one warp can ask for all it delivers."""
        part = min(1.0, blocks * warps / PIPES)
        fed = ((self.tensor, "tensor"), (self.fma, "fma"), (self.integer, "integer"), (self.issue, "issue"))
        longest, pipe = max((self.shared, "shared"), *((clocks / part, pipe) for clocks, pipe in fed))
        return blocks * longest, pipe


def cost(scheduled: ScheduledGraph, target: Target, program: Program | None = None) -> Cost:
    """The cost of a scheduled graph on a target.

    ``program`` tells how its inputs lie in memory (a transposed view is contiguous in another dim) and how wide its outputs
    are; without it tensors are row-major, and as wide as the first input.
    Raises :class:`~prism_mlir.graph.errors.InputError` where mappings are symbols, and
    :class:`~prism_mlir.graph.footprint.ScheduleError` where the graph cannot be built.
    """
    graph, kernels, value = scheduled.graph, [], len(scheduled.graph.inputs)
    for node in graph.nodes:
        if isinstance(node, CustomNode):
            results = range(value, value + len(node.block.outputs))
            saved = sum(prod(graph.shapes[v]) * _width(graph, v, program) for v in results)
            strides = operand_strides(graph, node, program)
            kernels.append(_block_cost(_kernel(node, scheduled.schedule, strides, saved), target))
        else:
            results = range(value, value + 1)
            kernels.append(_library_cost(graph, node, value, target))
        value = results.stop
    return Cost(tuple(kernels), target.launch_us * len(kernels))


def _width(graph: KernelGraph, value: int, program: Program | None) -> int:
    """Bytes of an element of a kernel result: the program's for its outputs, f32 for what kernels pass on."""
    if value not in graph.outputs:
        return DType.F32.bytes
    if program is None:
        return graph.inputs[0].dtype.bytes if graph.inputs else DType.F32.bytes
    return program.outputs[graph.outputs.index(value)].dtype.bytes


def _kernel(node: CustomNode, schedule: Schedule, strides: tuple[tuple[int, ...], ...], saved: int) -> _Kernel:
    block, sizes = node.block, schedule.size_of
    own = tuple(item for item in schedule.sizes if item[0] in block.parallel_dims)
    placement = placed(node, own, schedule.stages, strides)
    blocks = prod(sizes[p] for p in block.grid)
    iterations = 1 if block.loop is None else sizes[block.loop]
    return _Kernel(block, placement, strides, saved, blocks, iterations, schedule)


def _block_cost(kernel: _Kernel, target: Target) -> KernelCost:
    warps, blocks = kernel.schedule.warps, kernel.blocks
    shared = kernel.placement.shared_bytes
    registers = registers_per_thread(kernel.placement, warps)
    resident = resident_blocks(shared, registers, warps, target)
    compulsory, missed, l2 = _traffic(kernel, target)
    tensor, f32 = _tensor_work(kernel), _f32_work(kernel)
    integer, others = _instructions(kernel)
    work = _BlockWork(
        tensor=tensor / target.tensor_fma,
        fma=f32 / target.f32_fma,
        integer=integer * LANES / target.integer_lanes,
        issue=(integer + others + f32 / LANES) / target.issue_slots,
        shared=_shared_traffic(kernel) / target.shared_per_clock,
        chain=_latency_chain(kernel, target),
    )
    in_flight = resident * _copied_ahead(kernel)
    full, last = divmod(blocks, target.sms * resident)
    active = min(1.0, blocks / (ACTIVE_FOR_FULL_BANDWIDTH * target.sms))
    sm_us, pipe = _sm_time(work, full, last, resident, warps, target)
    dram_us = _dram_time(compulsory + missed, active, in_flight, min(blocks, target.sms), target)
    l2_us = l2 / (target.l2_gbs * active) * 1e-3
    return KernelCost(
        blocks=blocks,
        resident=resident,
        full_waves=full,
        last_wave=last,
        shared_bytes=shared,
        registers=registers,
        dram_bytes=compulsory + missed,
        l2_bytes=l2,
        in_flight_bytes=in_flight,
        tensor_fma=tensor * blocks,
        f32_fma=f32 * blocks,
        dram_us=dram_us,
        l2_us=l2_us,
        sm_us=sm_us,
        serial_us=min(sm_us, max(dram_us, l2_us)) / resident if kernel.schedule.stages == 1 else 0.0,
        tail_us=max(0.0, sm_us - _even_time(work, blocks, resident, warps, target)),
        limiter=max((sm_us, pipe), (l2_us, "l2"), (dram_us, "dram"))[1],
    )


def _traffic(kernel: _Kernel, target: Target) -> tuple[int, int, int]:
    """Bytes of the whole kernel: compulsory, re-reads that miss L2, and everything that passes L2."""
    block = kernel.block
    compulsory, missed, l2 = kernel.saved_bytes, 0, kernel.saved_bytes
    moved = [0] * len(block.inputs)
    for k in block.loads:
        op = block.nodes[k].op
        assert isinstance(op, Load)
        moved[op.source] += kernel.load_bytes(k) * kernel.times(k) * kernel.blocks
    for tensor, size in zip(block.inputs, moved, strict=True):
        whole = min(size, prod(tensor.shape) * tensor.dtype.bytes)
        # A tensor that fits is read from DRAM once; of a larger one, the part beyond the cache is read each time.
        beyond = max(0.0, 1.0 - target.l2_bytes / max(1, whole))
        compulsory, missed, l2 = compulsory + whole, missed + int((size - whole) * beyond), l2 + size
    return compulsory, missed, l2


def _tensor_work(kernel: _Kernel) -> int:
    """Multiply-adds on tensor cores of one block; one of tf32 takes the time of two (Ampere white paper)."""
    products = kernel.placement.products.items()
    warps = kernel.schedule.warps
    return sum((1 + p.tf32) * executed_fma(p, warps) * kernel.times(k) for k, p in products if p.on_tensor_cores)


def _instructions(kernel: _Kernel) -> tuple[float, float]:
    """Warp instructions of one block beside f32 arithmetic: integer ones, and copies, fragments and products."""
    placement, block, warps = kernel.placement, kernel.block, kernel.schedule.warps
    copies = sum(kernel.load_bytes(k) * kernel.times(k) for k in block.loads) / (COPY_BYTES * LANES)
    mma = sum(
        executed_fma(p, warps) * kernel.times(k) / MMA_FMA for k, p in placement.products.items() if p.on_tensor_cores
    )
    pieces = sum(_pieces(kernel, k) for k in range(len(block.nodes)))
    integer = START_INTEGER * warps + COPY_INTEGER * copies + MMA_INTEGER * mma + PIECE_INTEGER * pieces
    return integer, copies + 2 * mma + 2 * pieces


def _pieces(kernel: _Kernel, k: int) -> float:
    """Pieces of 8 elements a thread, in warps, that node ``k`` reads from shared memory outside of products, in one block."""
    placement, node = kernel.placement, kernel.block.nodes[k]
    reduced = isinstance(node.op, Op) and node.op.kind is Kind.REDUCE
    added = isinstance(node.op, Accum) and k not in placement.held and node.operands[0] not in placement.fused
    if not (reduced or added or any(b.key == (k, "operand") for b in placement.buffers)):
        return 0.0
    root = node.operands[0] if reduced or added else k
    return prod(placement.tiles[root]) / (PIECE * LANES) * kernel.times(k)


def _f32_work(kernel: _Kernel) -> int:
    """Multiply-adds on the ordinary pipes of one block."""
    return sum(_f32_node(kernel, node, k) * kernel.times(k) for k, node in enumerate(kernel.block.nodes))


def _f32_node(kernel: _Kernel, node: BlockNode, k: int) -> int:
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


def _shared_traffic(kernel: _Kernel) -> int:
    """Bytes one block writes to shared memory, and reads again.

    Products read (every warp its part), and so do reductions, accumulators that live in shared memory (what they hold, and what
    is added) and expressions that are written as operands.
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
    written = [b.node for b in placement.buffers if b.kind == "operand"]
    return total + sum(_leaf_bytes(kernel, k) * kernel.times(k) for k in written)


def _leaf_bytes(kernel: _Kernel, root: int) -> int:
    """Bytes of the tiles in shared memory that evaluating an expression reads once."""
    placement = kernel.placement
    width = {b.node: b.dtype.bytes for b in placement.buffers if b.kind != "operand"}
    return sum(prod(placement.tiles[v]) * width.get(v, 0) for v in leaves(kernel.block, root))


def _latency_chain(kernel: _Kernel, target: Target) -> float:
    """Clocks a block spends waiting: copies arrive a memory latency after they are asked for, and stages overlap them."""
    wait = (target.dram_latency + target.shared_latency) / kernel.schedule.stages + BARRIER_CLOCKS
    return target.dram_latency + kernel.iterations * wait


def _copied_ahead(kernel: _Kernel) -> int:
    """Bytes one block has in flight: the tiles of the iterations it copies ahead, or those before the loop."""
    ahead = {Stage.BODY: max(1, kernel.schedule.stages - 1), Stage.INVARIANT: 1, Stage.AFTER: 0}
    loops = {s: sum(kernel.load_bytes(k) for k in kernel.block.loads if kernel.placement.stages[k] is s) for s in ahead}
    return max(loops[s] * ahead[s] for s in ahead)


def _wave(work: _BlockWork, resident: int, warps: int) -> tuple[float, str]:
    """Clocks of a wave of ``resident`` blocks an SM: the busiest pipe, or a block's own latencies if those take longer."""
    together, pipe = work.busiest(resident, warps)
    alone, own = work.busiest(1, warps)
    if together >= work.chain + alone:
        return together, pipe
    return work.chain + alone, "latency" if work.chain > alone else own


def _sm_time(work: _BlockWork, full: int, last: int, resident: int, warps: int, target: Target) -> tuple[float, str]:
    """Microseconds and limiter of all waves, the ragged last one as crowded as its busiest SM."""
    clocks, limiter = 0.0, "latency"
    if last:
        clocks, limiter = _wave(work, -(-last // target.sms), warps)
    if full:
        wave, limiter = _wave(work, resident, warps)
        clocks += full * wave
    return clocks / (target.clock_ghz * 1e3), limiter


def _even_time(work: _BlockWork, blocks: int, resident: int, warps: int, target: Target) -> float:
    """Microseconds if the blocks filled every wave."""
    wave, _ = _wave(work, resident, warps)
    return wave * blocks / (target.sms * resident) / (target.clock_ghz * 1e3)


def _dram_time(size: int, active: float, in_flight: int, sms: int, target: Target) -> float:
    """Microseconds for ``size`` bytes, by bandwidth or by Little's law (bytes in flight over latency)."""
    sustained = target.dram_gbs * target.dram_sustained * active
    little = sms * max(in_flight, SECTOR_BYTES * LANES) / (target.dram_latency / target.clock_ghz)
    return size / min(sustained, little) * 1e-3


def _library_cost(graph: KernelGraph, node: LibraryNode, value: int, target: Target) -> KernelCost:
    """A predefined kernel: its bytes and its work at the chip's sustained rates."""
    shapes, result = [graph.shapes[v] for v in node.operands], graph.shapes[value]
    width = graph.inputs[0].dtype.bytes if graph.inputs else DType.F32.bytes
    size = (sum(map(prod, shapes)) + prod(result)) * width
    product = node.op.kind is Kind.MATMUL
    tensor, f32 = (prod(result) * shapes[0][-1], 0) if product else (0, prod(result))
    sm_us = max(tensor / target.tensor_fma, f32 / target.f32_fma) / (target.sms * target.clock_ghz * 1e3)
    dram_us, l2_us = size / (target.dram_gbs * target.dram_sustained) * 1e-3, size / target.l2_gbs * 1e-3
    return KernelCost(
        blocks=target.sms,
        resident=1,
        full_waves=1,
        last_wave=0,
        shared_bytes=0,
        registers=0,
        dram_bytes=size,
        l2_bytes=size,
        in_flight_bytes=0,
        tensor_fma=tensor,
        f32_fma=f32,
        dram_us=dram_us,
        l2_us=l2_us,
        sm_us=sm_us,
        tail_us=0.0,
        serial_us=0.0,
        limiter=max((sm_us, "tensor" if product else "fma"), (l2_us, "l2"), (dram_us, "dram"))[1],
    )
