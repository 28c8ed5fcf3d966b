"""How long launches of any code take, from exact counts of what they execute: one yardstick, whoever wrote the code.

    t = launches * launch + sum over kernels of  max(t_SM, t_L2, t_DRAM)

The terms are those of the first cost model (``cost``), but work is counted, not estimated from a schedule. ``t_SM``: each pipe of
an SM serves the instructions of its classes; blocks run in waves, as many at a time as registers, shared memory and threads
allow, and no block is faster than its chain of latencies. ``t_L2`` moves all sectors, ``t_DRAM`` each buffer once. Instructions
are those of PTX: an assembler drops moves between registers, so they are free here, and a division is several instructions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from prism_mlir.graph.errors import CodegenError
from prism_mlir.tune.occupancy import LANES, resident_blocks
from prism_mlir.tune.pipes import BARRIER_CLOCKS, PIPES
from prism_mlir.tune.scalar_work import DIVISION
from prism_mlir.tune.sized import SECTOR_BYTES
from prism_mlir.tune.targets import Target
from prism_mlir.tune.traffic import ACTIVE_FOR_FULL_BANDWIDTH

# Classes of instructions by the pipe that executes them (Nsight Compute, "Pipelines"); all that are not named are integer ones.
FREE = frozenset({"move", "hint", "ld.param"})
ISSUED = frozenset(
    {"branch", "barrier", "mbarrier", "fence", "cp.async.wait", "mma"}
)  # only take a slot of the scheduler
FMA = frozenset({"fp32", "fp16", "imad"})
MEMORY = ("ld.", "st.", "ldmatrix", "stmatrix", "cp.async", "shfl", "atom", "wmma.load", "wmma.store")
BLOCK_WIDE = frozenset({"memory", "shared"})  # one such pipe serves all four sub-cores of an SM


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer that a kernel reads or writes. Kernels that name the same one pass it on."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class CountedKernel:
    """What all blocks of a launch execute together, and what one of them holds.

    threads, registers, shared_bytes: of a block, a thread, a block (static and dynamic); spills: bytes
    instructions:      warp instructions by class, as the PTX machine names them
    mma_flops:         operations of tensor cores, two a multiply-add
    shared_wavefronts: passes over shared memory, bank conflicts included
    barriers:          summed over blocks
    global_sectors:    of 32 bytes, between the SMs and L2
    heaviest:          work of the heaviest block over that of a mean one
    """

    blocks: int
    threads: int
    registers: int
    shared_bytes: int
    spills: int
    instructions: Mapping[str, float]
    mma_flops: float
    shared_wavefronts: float
    barriers: float
    global_sectors: float
    buffers: tuple[Buffer, ...]
    heaviest: float = 1.0


@dataclass(frozen=True, slots=True)
class KernelTime:
    """One kernel: microseconds of each term, and bytes.

    l2_bytes, dram_bytes: between the SMs and L2, and between L2 and memory
    limiter: ``dram``, ``l2``, ``latency``, or the busiest pipe: ``issue``, ``fma``, ``integer``, ``special``, ``f64``, ``memory``
             (loads, stores and shuffles), ``tensor`` or ``shared``
    """

    l2_bytes: float
    dram_bytes: float
    sm_us: float
    l2_us: float
    dram_us: float
    limiter: str

    @property
    def total_us(self) -> float:
        """Without the launch."""
        return max(self.sm_us, self.l2_us, self.dram_us)


@dataclass(frozen=True, slots=True)
class CountedTime:
    """Kernels that run one after the other, launches included."""

    kernels: tuple[KernelTime, ...]
    launch_us: float

    @property
    def total_us(self) -> float:
        return self.launch_us + fsum(k.total_us for k in self.kernels)

    @property
    def l2_bytes(self) -> float:
        return fsum(k.l2_bytes for k in self.kernels)

    @property
    def dram_bytes(self) -> float:
        return fsum(k.dram_bytes for k in self.kernels)

    @property
    def limiter(self) -> str:
        """Of the slowest kernel; ``launch`` where launching takes longer than running."""
        if self.launch_us > self.total_us / 2:
            return "launch"
        return max(self.kernels, key=lambda k: k.total_us).limiter


def counted_time(kernels: Sequence[CountedKernel], target: Target, *, warm: bool = False) -> CountedTime:
    """The time of launches in order.

    ``warm``: what earlier ones of these kernels touched last is still in L2, as far as it fits; otherwise each kernel finds the
    cache empty. The first kernel finds it empty either way.
    Raises :class:`~prism_mlir.graph.errors.CodegenError` where registers of one spill to memory.
    """
    cache = _Cache(target.l2_bytes)
    times = []
    for kernel in kernels:
        if kernel.spills:
            raise CodegenError(f"{kernel.spills} bytes of registers spill to memory")
        times.append(_kernel_time(kernel, _missed(kernel, cache if warm else _Cache(0)), target))
    return CountedTime(tuple(times), target.launch_us * len(kernels))


class _Cache:
    """Buffers that were touched last, as far as they fit, and how much of each."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: OrderedDict[str, float] = OrderedDict()

    def touch(self, buffer: Buffer, part: float) -> float:
        """How much of ``part`` bytes of a buffer is missing; afterwards it is there, if it fits.

        Which part that is nobody knows, so those bytes are taken first that are not there yet.
        """
        held = self._held.pop(buffer.name, 0.0)
        missed = min(part, buffer.bytes - held)
        self._held[buffer.name] = held + missed
        while sum(self._held.values()) > self._size:
            self._held.popitem(last=False)
        return missed


def _missed(kernel: CountedKernel, cache: _Cache) -> float:
    """Bytes that come from memory: of each buffer what the kernel can have touched, once, unless it is in the cache."""
    moved = kernel.global_sectors * SECTOR_BYTES
    buffers = {b.name: b for b in kernel.buffers}.values()
    return min(moved, fsum(cache.touch(b, min(moved, float(b.bytes))) for b in buffers))


def _kernel_time(kernel: CountedKernel, missed: float, target: Target) -> KernelTime:
    active = min(1.0, kernel.blocks / (ACTIVE_FOR_FULL_BANDWIDTH * target.sms))
    moved = kernel.global_sectors * SECTOR_BYTES
    sm_us, pipe = _sm_time(kernel, target.dram_latency if missed else target.l2_latency, target)
    l2_us = moved / (target.l2_gbs * active) * 1e-3
    dram_us = missed / (target.dram_gbs * target.dram_sustained * active) * 1e-3
    return KernelTime(moved, missed, sm_us, l2_us, dram_us, max((sm_us, pipe), (l2_us, "l2"), (dram_us, "dram"))[1])


def pipe_clocks(kernel: CountedKernel, target: Target) -> dict[str, float]:
    """Clocks for which one block keeps each pipe of an SM busy, had it the pipe to itself and warps enough to fill it."""
    work = dict.fromkeys(("issue", "fma", "integer", "special", "f64", "memory"), 0.0)
    for name, count in kernel.instructions.items():
        for pipe, times in _uses(name).items():
            work[pipe] += times * count
    rates = {
        "issue": target.issue_slots,
        "fma": target.f32_fma / LANES,
        "integer": target.integer_lanes / LANES,
        "special": target.special_lanes / LANES,
        "f64": target.f64_fma / LANES,
        "memory": target.memory_lanes / LANES,
    }
    clocks = {pipe: n / rates[pipe] for pipe, n in work.items()}
    clocks["tensor"] = kernel.mma_flops / 2 / target.tensor_fma
    clocks["shared"] = kernel.shared_wavefronts
    return {pipe: n / kernel.blocks for pipe, n in clocks.items()}


def _uses(name: str) -> dict[str, int]:
    """Slots of each pipe that an instruction of a class takes."""
    if name in FREE:
        return {}
    if name in ISSUED:
        return {"issue": 1}
    if name in FMA:
        return {"issue": 1, "fma": 1}
    if name == "fp64":
        return {"issue": 1, "f64": 1}
    if name == "sfu":
        return {"issue": 1, "special": 1}
    if name == "div":  # an estimate of the reciprocal, and what makes a quotient of it
        return {"issue": 1 + DIVISION, "special": 1, "fma": DIVISION}
    if name.startswith(MEMORY):
        return {"issue": 1, "memory": 1}
    return {"issue": 1, "integer": 1}


def _sm_time(kernel: CountedKernel, latency: int, target: Target) -> tuple[float, str]:
    """Microseconds and limiter of all waves, the ragged last one as crowded as its busiest SM; at least the heaviest block."""
    warps = -(-kernel.threads // LANES)
    resident = resident_blocks(kernel.shared_bytes, kernel.registers, warps, target)
    barriers = kernel.barriers / kernel.blocks * (BARRIER_CLOCKS + target.shared_latency)
    clocks = pipe_clocks(kernel, target)
    full, last = divmod(kernel.blocks, target.sms * resident)
    total, limiter = 0.0, "latency"
    if last:
        total, limiter = _wave(clocks, latency + barriers, -(-last // target.sms), warps)
    if full:
        wave, limiter = _wave(clocks, latency + barriers, resident, warps)
        total += full * wave
    heavy = {pipe: n * kernel.heaviest for pipe, n in clocks.items()}
    longest, pipe = _wave(heavy, latency + barriers * kernel.heaviest, 1, warps)
    if longest > total:
        total, limiter = longest, pipe
    return total / (target.clock_ghz * 1e3), limiter


def _wave(clocks: Mapping[str, float], chain: float, resident: int, warps: int) -> tuple[float, str]:
    """Clocks of a wave of ``resident`` blocks an SM: the busiest pipe, or a block's own work after its latencies."""
    together, pipe = _busiest(clocks, resident, warps)
    alone, own = _busiest(clocks, 1, warps)
    if together >= chain + alone:
        return together, pipe
    return chain + alone, "latency" if chain > alone else own


def _busiest(clocks: Mapping[str, float], blocks: int, warps: int) -> tuple[float, str]:
    """Clocks of the pipe that some blocks of an SM keep busy longest.

    A warp feeds the pipes of one of the four sub-cores, but loads, stores and shared memory belong to all of them.
    """
    part = min(1.0, blocks * warps / PIPES)
    return max((blocks * n / (1.0 if pipe in BLOCK_WIDE else part), pipe) for pipe, n in clocks.items())
