"""The chips this compiler knows, one row each. Nothing else in the project names a chip.

Adding a target means adding a row here: numbers from the vendor's architecture white paper and datasheet, and from
published microbenchmarks where those are silent (latencies, L2 bandwidth).
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_mlir.graph.errors import InputError

KIB = 1024
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """A GPU as the cost model and the parameter space see it.

    name:               what ``--target`` takes
    arch:               what the PTX says (``.target``)
    sms, clock_ghz:     streaming multiprocessors and boost clock
    tensor_fma:         f16/bf16 multiply-adds with f32 accumulation, per clock and SM, dense, by ``mma.sync``
    f32_fma, f64_fma:   f32 and f64 multiply-adds per clock and SM
    integer_lanes, special_lanes, memory_lanes: threads per clock and SM for which integer arithmetic, special functions (exp2,
                        reciprocals), and loads, stores and shuffles are executed
    issue_slots:        instructions of a warp that an SM issues per clock
    dram_gbs:           datasheet bandwidth in GB/s; ``dram_sustained`` is the part of it that kernels reach
    l2_bytes, l2_gbs:   size of the L2 cache and its bandwidth
    shared_per_sm:      shared memory of an SM; ``shared_per_block`` the most one block may ask for (opt-in);
                        ``shared_reserved`` what the system takes for each block on top
    shared_per_clock:   bytes shared memory delivers per clock and SM
    registers:          32-bit registers of an SM
    threads_per_sm, blocks_per_sm: limits on what is resident
    shared_latency, l2_latency, dram_latency: clocks
    launch_us:          time between two kernels in a stream
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
    l2_gbs: float
    shared_per_sm: int
    shared_per_block: int
    threads_per_sm: int
    blocks_per_sm: int
    f64_fma: int
    memory_lanes: int = 32
    integer_lanes: int = 64
    special_lanes: int = 16
    issue_slots: int = 4
    dram_sustained: float = 0.80
    shared_reserved: int = KIB
    shared_per_clock: int = 126
    registers: int = 65536
    registers_per_thread: int = 255
    threads_per_block: int = 1024
    shared_latency: int = 33
    l2_latency: int = 205
    dram_latency: int = 530
    launch_us: float = 2.7


def _a100(name: str, description: str, dram_gbs: float) -> Target:
    return Target(
        name,
        "sm_80",
        description,
        sms=108,
        clock_ghz=1.41,
        tensor_fma=1024,
        f32_fma=64,
        dram_gbs=dram_gbs,
        l2_bytes=40 * MIB,
        l2_gbs=5400,
        shared_per_sm=164 * KIB,
        shared_per_block=163 * KIB,
        threads_per_sm=2048,
        blocks_per_sm=32,
        f64_fma=32,
    )


_ROWS = (
    _a100("sm_80", "A100 40 GB", 1555),
    _a100("sm_80-80gb", "A100 80 GB SXM", 2039),
    Target(
        "sm_86",
        "sm_86",
        "A10",
        sms=72,
        clock_ghz=1.695,
        tensor_fma=512,
        f32_fma=128,
        dram_gbs=600,
        l2_bytes=6 * MIB,
        l2_gbs=2000,
        shared_per_sm=100 * KIB,
        shared_per_block=99 * KIB,
        threads_per_sm=1536,
        blocks_per_sm=16,
        f64_fma=2,
        memory_lanes=16,
    ),
    Target(
        "sm_90",
        "sm_90",
        "H100 SXM",
        sms=132,
        clock_ghz=1.83,
        tensor_fma=2048,
        f32_fma=128,
        dram_gbs=3350,
        l2_bytes=50 * MIB,
        l2_gbs=5500,
        shared_per_sm=228 * KIB,
        shared_per_block=227 * KIB,
        threads_per_sm=2048,
        blocks_per_sm=32,
        f64_fma=64,
    ),
)

TARGETS: dict[str, Target] = {row.name: row for row in _ROWS}
DEFAULT_TARGET = "sm_80"


def find_target(name: str) -> Target:
    """The row called ``name``. Raises :class:`InputError` with the known names otherwise."""
    if name not in TARGETS:
        raise InputError(f"unknown target '{name}'", None, f"known are {', '.join(TARGETS)}")
    return TARGETS[name]
