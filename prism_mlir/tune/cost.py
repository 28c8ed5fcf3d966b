"""The cost model: how long a scheduled graph takes, term by term, without a GPU.

    t = launches * t_launch + sum over kernels of  max(t_SM, t_L2, t_DRAM) + t_ramp

``t_DRAM`` moves compulsory bytes, and re-reads that the L2 cache cannot hold, at the sustained bandwidth, less when few SMs are
active or too few bytes are in flight (Little's law). ``t_L2`` moves every byte of every tile, slower where blocks that run at the
same time share more than the near half of the cache holds. ``t_SM`` runs blocks in waves: in a wave each pipe serves all resident
blocks, and no block is faster than its own chain of latencies; the ragged last wave, the tail, is part of it. ``t_ramp``: until
memory delivers at full speed, and after. Two variants: cold, with nothing in L2 when a kernel begins, and warm, where a working
set that fits in L2 is there. The model prunes and orders; where there is a GPU, the profiler decides between the best.

Bytes are counted in ``traffic``, instructions in ``pipes``, waves in ``waves``; what is a number of a chip stands in ``targets``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.kernel import KernelGraph, LibraryNode
from prism_mlir.graph.ops import Kind
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import ScheduledGraph
from prism_mlir.tune.occupancy import register_limit, registers_per_thread, resident_blocks
from prism_mlir.tune.pipes import BlockWork, block_work, executed
from prism_mlir.tune.sized import SECTOR_BYTES, SizedKernel, sized_kernels, value_bytes
from prism_mlir.tune.targets import Target
from prism_mlir.tune.traffic import dram_time, l2_time, traffic
from prism_mlir.tune.waves import even_time, sm_time


@dataclass(frozen=True, slots=True)
class KernelCost:
    """One kernel. Times in microseconds, sizes in bytes, work in multiply-adds of the whole kernel.

    blocks, resident:   blocks of the grid, and how many one SM holds at a time
    full_waves, last_wave: waves that fill every SM, and the blocks of the ragged last one
    dram_bytes:         compulsory bytes, and re-reads that miss L2; none where the working set is in L2 already
    reread_bytes:       the part of them that was read before
    l2_bytes:           bytes of every tile that is loaded or saved
    l2_in_use:          different bytes that L2 serves at a time: those that blocks read together, or all of a warm working set
    in_flight_bytes:    bytes that copies keep in flight on one SM
    work:               clocks of each pipe that one block asks for; none for a library operator
    tail_us:            time lost because the last wave is not full (part of ``sm_us``)
    serial_us:          copying that computing waits for: with one stage, only other resident blocks overlap the two
    ramp_us:            until memory delivers at full speed, and after
    limiter:            ``dram``, ``l2``, ``tensor``, ``fma``, ``integer``, ``issue``, ``shared`` or ``latency``
    """

    blocks: int
    resident: int
    full_waves: int
    last_wave: int
    shared_bytes: int
    registers: int
    dram_bytes: int
    reread_bytes: int
    l2_bytes: int
    l2_in_use: int
    in_flight_bytes: int
    tensor_fma: int
    f32_fma: int
    work: BlockWork | None
    dram_us: float
    l2_us: float
    sm_us: float
    tail_us: float
    serial_us: float
    ramp_us: float
    limiter: str

    @property
    def l2_sectors(self) -> int:
        """Sectors of 32 bytes between the SMs and L2."""
        return -(-self.l2_bytes // SECTOR_BYTES)

    @property
    def total_us(self) -> float:
        """Without the launch."""
        return max(self.dram_us, self.l2_us, self.sm_us) + self.serial_us + self.ramp_us


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a scheduled graph: its kernels, and what launching them in a stream takes."""

    kernels: tuple[KernelCost, ...]
    launch_us: float

    @property
    def kernels_us(self) -> float:
        """Without launches."""
        return sum(k.total_us for k in self.kernels)

    @property
    def total_us(self) -> float:
        return self.launch_us + self.kernels_us

    @property
    def dram_bytes(self) -> int:
        return sum(k.dram_bytes for k in self.kernels)

    @property
    def work_us(self) -> float:
        """Microseconds that the SMs compute and the L2 cache delivers, in all kernels, as if nothing ran at the same time."""
        return sum(k.sm_us + k.l2_us for k in self.kernels)

    @property
    def limiter(self) -> str:
        """What limits the slowest kernel; ``launch`` where launching takes longer than all that kernels move and compute."""
        slowest = max(self.kernels, key=lambda k: k.total_us, default=None)
        busy = sum(k.total_us - k.ramp_us for k in self.kernels)
        return "launch" if slowest is None or self.launch_us > busy else slowest.limiter


def cost(
    scheduled: ScheduledGraph,
    target: Target,
    program: Program | None = None,
    *,
    warm: bool = False,
    registers: Sequence[int] = (),
) -> Cost:
    """The cost of a scheduled graph on a target.

    program:   tells how its inputs lie in memory (a transposed view is contiguous in another dim) and how wide its outputs
               are; without it tensors are row-major, and as wide as the first input
    warm:      inputs, results and what kernels pass on lie in L2 when each kernel begins, where all of them fit together;
               otherwise each kernel finds the cache empty
    registers: of a thread of each kernel, as an assembler says; estimated where not given

    Raises :class:`~prism_mlir.graph.errors.InputError` where mappings are symbols, and
    :class:`~prism_mlir.graph.footprint.ScheduleError` where the graph cannot be built, or registers spill to memory.
    """
    graph, kernels, value = scheduled.graph, [], len(scheduled.graph.inputs)
    sized = sized_kernels(graph, scheduled.schedule, program)
    whole = working_set(scheduled, program)
    in_l2 = whole if warm and whole <= target.l2_bytes else 0
    for index, node in enumerate(graph.nodes):
        if isinstance(node, LibraryNode):
            kernels.append(_library_cost(graph, node, value, target, in_l2))
            value += 1
        else:
            known = registers[index] if registers else None
            kernels.append(_block_cost(sized[index], target, in_l2, known))
            value += len(node.block.outputs)
    return Cost(tuple(kernels), target.launch_us * len(kernels))


def working_set(scheduled: ScheduledGraph, program: Program | None = None) -> int:
    """Bytes of all inputs, results, and what kernels pass on."""
    graph, sizes = scheduled.graph, scheduled.schedule.size_of
    return sum(value_bytes(graph, v, sizes, program) for v in range(len(graph.shapes)))


def _block_cost(kernel: SizedKernel, target: Target, in_l2: int, known: int | None) -> KernelCost:
    warps, blocks = kernel.schedule.warps, kernel.blocks
    shared = kernel.placement.shared_bytes
    registers = registers_per_thread(kernel.placement, warps) if known is None else known
    limit = register_limit(kernel.schedule.residency, warps, target)
    if registers > limit:
        beside = f" for {kernel.schedule.residency} blocks an SM" if kernel.schedule.residency else ""
        raise ScheduleError(f"{registers} registers a thread spill to memory: {target.name} has {limit}{beside}")
    resident = resident_blocks(shared, registers, warps, target)
    moved, counts = traffic(kernel, resident, target), executed(kernel)
    work = block_work(kernel, counts, target.l2_latency if in_l2 else target.dram_latency, target)
    full, last = divmod(blocks, target.sms * resident)
    sm_us, pipe = sm_time(work, full, last, resident, warps, target)
    dram_bytes = 0 if in_l2 else moved.compulsory + moved.missed
    dram_us = dram_time(dram_bytes, blocks, moved.in_flight, target)
    in_use = in_l2 or moved.together
    l2_us = l2_time(moved.l2, in_use, blocks, target)
    return KernelCost(
        blocks=blocks,
        resident=resident,
        full_waves=full,
        last_wave=last,
        shared_bytes=shared,
        registers=registers,
        dram_bytes=dram_bytes,
        reread_bytes=0 if in_l2 else moved.missed,
        l2_bytes=moved.l2,
        l2_in_use=in_use,
        in_flight_bytes=moved.in_flight,
        tensor_fma=counts.tensor_fma * blocks,
        f32_fma=counts.f32_fma * blocks,
        work=work,
        dram_us=dram_us,
        l2_us=l2_us,
        sm_us=sm_us,
        serial_us=min(sm_us, max(dram_us, l2_us)) / resident if kernel.schedule.stages == 1 else 0.0,
        ramp_us=target.ramp_us if dram_bytes else 0.0,
        tail_us=max(0.0, sm_us - even_time(work, blocks, resident, warps, target)),
        limiter=max((sm_us, pipe), (l2_us, "l2"), (dram_us, "dram"))[1],
    )


def _library_cost(graph: KernelGraph, node: LibraryNode, value: int, target: Target, in_l2: int) -> KernelCost:
    """A predefined kernel: its bytes and its work at the chip's sustained rates."""
    shapes, result = [graph.shapes[v] for v in node.operands], graph.shapes[value]
    width = graph.inputs[0].dtype.bytes if graph.inputs else DType.F32.bytes
    size = (sum(map(prod, shapes)) + prod(result)) * width
    product = node.op.kind is Kind.MATMUL
    tensor, f32 = (prod(result) * shapes[0][-1], 0) if product else (0, prod(result))
    clocks = max(tensor / (target.tensor_fma * target.tensor_sustained), f32 / target.f32_fma) / target.sms
    sm_us, l2_us = clocks / (target.clock_ghz * 1e3), size / target.l2_gbs * 1e-3
    dram_us = 0.0 if in_l2 else size / (target.dram_gbs * target.dram_sustained) * 1e-3
    return KernelCost(
        blocks=target.sms,
        resident=1,
        full_waves=1,
        last_wave=0,
        shared_bytes=0,
        registers=0,
        dram_bytes=0 if in_l2 else size,
        reread_bytes=0,
        l2_bytes=size,
        l2_in_use=size,
        in_flight_bytes=0,
        tensor_fma=tensor,
        f32_fma=f32,
        work=None,
        dram_us=dram_us,
        l2_us=l2_us,
        sm_us=sm_us,
        tail_us=0.0,
        serial_us=0.0,
        ramp_us=0.0 if in_l2 else target.ramp_us,
        limiter=max((sm_us, "tensor" if product else "fma"), (l2_us, "l2"), (dram_us, "dram"))[1],
    )
