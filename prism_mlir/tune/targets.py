"""The chips this compiler knows, one row each. Nothing else in the project names a chip.

Adding a target means adding a row here: numbers from the vendor's architecture white paper and datasheet, and from published
microbenchmarks where those are silent (latencies, L2 bandwidth). Sources, by the short names used below:

* A100 paper: NVIDIA A100 Tensor Core GPU Architecture (white paper, 2020), tables 1, 4, 5; A100 datasheets (bandwidths)
* GA102 paper: NVIDIA Ampere GA102 GPU Architecture (white paper, 2020); A10 datasheet
* H100 paper: NVIDIA H100 Tensor Core GPU Architecture (white paper, 2022), tables 1 and 4; H100 datasheet
* guide: CUDA C++ Programming Guide, "compute capabilities" (registers, threads, blocks, shared memory) and "arithmetic
  instructions" (lanes of each pipe)
* gpu-benches: measurements in github.com/te42kyfo/gpu-benches: gpu-l2-cache/a100_80.txt and h100_pcie.txt, gpu-latency,
  cuda-stream/a100_80.txt
* fitted: on the training part of the published timings of ``benchmarks/cost_model.py``, none of the held-out part
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from prism_mlir.graph.errors import InputError

KIB = 1024
MIB = 1024 * 1024

Curve = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A GPU as the cost model and the parameter space see it.

    name:               what ``--target`` takes
    arch:               what the PTX says (``.target``)
    sms, clock_ghz:     streaming multiprocessors and boost clock
    tensor_fma:         f16/bf16 multiply-adds with f32 accumulation, per clock and SM, dense, by ``mma.sync``
    tensor_sustained:   the part of it that long products reach: under that load the clock falls below boost, for power, and each
                        tile takes time to begin and to end
    f32_fma, f64_fma:   f32 and f64 multiply-adds per clock and SM
    integer_lanes, special_lanes, memory_lanes: threads per clock and SM for which integer arithmetic, special functions (exp2,
                        reciprocals), and loads, stores and shuffles are executed
    issue_slots:        instructions of a warp that an SM issues per clock
    dram_gbs:           datasheet bandwidth in GB/s; ``dram_sustained`` is the part of it that kernels reach
    l2_bytes, l2_gbs:   size of the L2 cache, and its bandwidth for small working sets
    l2_curve:           bandwidth by working set: (bytes, GB/s) points, straight lines between them, level before and after
    shared_per_sm:      shared memory of an SM; ``shared_per_block`` the most one block may ask for (opt-in);
                        ``shared_reserved`` what the system takes for each block on top
    shared_per_clock:   bytes shared memory delivers per clock and SM
    registers:          32-bit registers of an SM
    threads_per_sm, blocks_per_sm: limits on what is resident
    shared_latency, l2_latency, dram_latency: clocks
    launch_us:          time between the starts of two empty kernels in a stream; ``graph_launch_us``: in a CUDA graph, where one
                        follows the other at once, so that it is what a profiler counts as an empty kernel's duration
    ramp_us:            what a kernel that reads from DRAM takes beside its bytes at full speed: until all SMs have addresses
                        translated and loads under way, and while the last ones finish
    """

    name: str
    arch: str
    description: str
    sms: int
    clock_ghz: float
    tensor_fma: int
    f32_fma: int
    dram_gbs: float
    l2_bytes: int
    l2_curve: Curve
    shared_per_sm: int
    shared_per_block: int
    threads_per_sm: int
    blocks_per_sm: int
    f64_fma: int
    memory_lanes: int = 32  # guide
    integer_lanes: int = 64  # guide
    special_lanes: int = 16  # guide
    issue_slots: int = 4  # A100 paper: one for each of four sub-cores
    dram_sustained: float = 0.80  # gpu-benches: 0.80-0.87 for streams of several tensors on A100; fitted: 0.80
    tensor_sustained: float = 0.78  # fitted, on A100 80 GB SXM; assumed of other chips
    shared_reserved: int = KIB  # guide
    shared_per_clock: int = 126  # of 128 (A100 paper): Jia et al., Dissecting the Ampere GPU Architecture (GTC 2021)
    registers: int = 65536  # guide
    registers_per_thread: int = 255  # guide
    threads_per_block: int = 1024  # guide
    shared_latency: int = 33  # Abdelkhalik et al., Demystifying the Nvidia Ampere Architecture (2022); also of L1
    l2_latency: int = 205  # the same, about 200
    dram_latency: int = 530  # between 515 and 550 in published measurements of A100
    launch_us: float = 2.7  # published measurements of A100; assumed of other chips
    graph_launch_us: float = 1.35  # the same
    ramp_us: float = 3.65  # fitted, on A100 80 GB SXM: 5.0 us with the start of a kernel; assumed of other chips

    @property
    def l2_gbs(self) -> float:
        return self.l2_curve[0][1]

    def l2_gbs_at(self, working_set: int) -> float:
        """Bandwidth of L2 in GB/s for so many different bytes in use."""
        for (size, fast), (larger, slow) in pairwise(self.l2_curve):
            if working_set <= size:
                return fast
            if working_set < larger:
                return fast + (slow - fast) * (working_set - size) / (larger - size)
        return self.l2_curve[-1][1]


def _a100(name: str, description: str, dram_gbs: float) -> Target:
    """The GA100 chip with 108 SMs. The boards differ in memory; their clocks under load are those of the SXM board here."""
    return Target(
        name,
        "sm_80",
        description,
        sms=108,  # A100 paper
        clock_ghz=1.41,  # A100 paper, boost
        tensor_fma=1024,  # A100 paper: 312 TFLOP/s = 2 x 108 x 1.41 GHz x 1024
        f32_fma=64,  # A100 paper: 19.5 TFLOP/s
        dram_gbs=dram_gbs,  # A100 datasheets
        l2_bytes=40 * MIB,  # A100 paper
        l2_curve=((25_000_000, 5400), (36_000_000, 3000)),  # gpu-benches: 5.4 TB/s to 25 MB, 4.0 at 31, 3.0 at 37
        shared_per_sm=164 * KIB,  # guide
        shared_per_block=163 * KIB,  # guide
        threads_per_sm=2048,  # guide
        blocks_per_sm=32,  # guide
        f64_fma=32,  # A100 paper: 9.7 TFLOP/s
    )


_ROWS = (
    _a100("sm_80", "A100 40 GB", 1555),
    _a100("sm_80-80gb", "A100 80 GB SXM", 2039),
    _a100("sm_80-80gb-pcie", "A100 80 GB PCIe", 1935),
    Target(
        "sm_86",
        "sm_86",
        "A10",
        sms=72,  # A10 datasheet
        clock_ghz=1.695,  # A10 datasheet, boost
        tensor_fma=512,  # GA102 paper: half of GA100's; 125 TFLOP/s
        f32_fma=128,  # GA102 paper
        dram_gbs=600,  # A10 datasheet
        l2_bytes=6 * MIB,  # GA102 paper
        l2_curve=(
            (6 * MIB, 2000),
        ),  # gpu-benches, gpu-cache/a40.txt: 2.43 TB/s with 84 SMs of this chip, so 2.0 with 72
        shared_per_sm=100 * KIB,  # guide
        shared_per_block=99 * KIB,  # guide
        threads_per_sm=1536,  # guide
        blocks_per_sm=16,  # guide
        f64_fma=2,  # guide
        memory_lanes=16,  # guide
    ),
    Target(
        "sm_90",
        "sm_90",
        "H100 SXM",
        sms=132,  # H100 paper
        clock_ghz=1.83,  # H100 paper: 989 TFLOP/s = 2 x 132 x 1.83 GHz x 2048
        tensor_fma=2048,  # H100 paper
        f32_fma=128,  # H100 paper
        dram_gbs=3350,  # H100 datasheet
        l2_bytes=50 * MIB,  # H100 paper
        l2_curve=((33_000_000, 6900), (40_000_000, 3300)),  # gpu-benches, of the PCIe board
        shared_per_sm=228 * KIB,  # guide
        shared_per_block=227 * KIB,  # guide
        threads_per_sm=2048,  # guide
        blocks_per_sm=32,  # guide
        f64_fma=64,  # H100 paper
        l2_latency=265,  # gpu-benches
        dram_latency=650,  # gpu-benches
    ),
)

TARGETS: dict[str, Target] = {row.name: row for row in _ROWS}
DEFAULT_TARGET = "sm_80"


def find_target(name: str) -> Target:
    """The row called ``name``. Raises :class:`InputError` with the known names otherwise."""
    if name not in TARGETS:
        raise InputError(f"unknown target '{name}'", None, f"known are {', '.join(TARGETS)}")
    return TARGETS[name]
