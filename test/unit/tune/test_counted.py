"""The yardstick for any code: its times against counts on paper, for an A100 of 108 SMs at 1.41 GHz.

The rates that the counts are divided by are those of the vendor's tables: a clock of an SM is 4 instructions of a warp, 64 f32
multiply-adds, 64 integer operations, 32 f64 multiply-adds, 16 special functions, 32 loads, 1024 tensor multiply-adds.
"""

from __future__ import annotations

from typing import Any

import pytest

from prism_mlir.graph.errors import CodegenError
from prism_mlir.tune.counted import Buffer, CountedKernel, counted_time, pipe_clocks
from prism_mlir.tune.targets import find_target

A100 = find_target("sm_80")
MIB = 1 << 20
LAUNCH = 2.7
CLOCKS = 1410.0  # of a microsecond


def kernel(**fields: Any) -> CountedKernel:
    """108 blocks of 4 warps that fill an SM each, and do nothing."""
    nothing: dict[str, Any] = {
        "blocks": 108,
        "threads": 128,
        "registers": 32,
        "shared_bytes": 160 << 10,
        "spills": 0,
        "instructions": {},
        "mma_flops": 0,
        "shared_wavefronts": 0,
        "barriers": 0,
        "global_sectors": 0,
        "buffers": (),
    }
    return CountedKernel(**{**nothing, **fields})


def us(*kernels: CountedKernel, warm: bool = False) -> float:
    return counted_time(kernels, A100, warm=warm).total_us


@pytest.mark.parametrize(
    ("name", "pipe", "clocks"),
    [
        ("fp32", "fma", 500),
        ("fp16", "fma", 500),
        ("imad", "fma", 500),
        ("alu", "integer", 500),
        ("cvt", "integer", 500),
        ("vote", "integer", 500),
        ("fp64", "f64", 1000),
        ("sfu", "special", 2000),
        ("shfl", "memory", 1000),
        ("ld.shared", "memory", 1000),
        ("ldmatrix", "memory", 1000),
        ("cp.async", "memory", 1000),
        ("st.global", "memory", 1000),
        ("branch", "issue", 250),
        ("cp.async.wait", "issue", 250),
        ("mma", "issue", 250),
    ],
)
def test_a_thousand_instructions_a_block(name: str, pipe: str, clocks: float) -> None:
    found = pipe_clocks(kernel(instructions={name: 108_000}), A100)
    assert max(found.items(), key=lambda item: item[1]) == (pipe, clocks)
    assert found["issue"] == 250


def test_moves_and_parameters_are_free() -> None:
    found = pipe_clocks(kernel(instructions={"move": 1000, "ld.param": 1000, "hint": 1000}), A100)
    assert set(found.values()) == {0.0}


def test_a_division_is_a_reciprocal_and_eight_multiply_adds() -> None:
    """10 800 are 100 a block: 900 instructions, 800 on the f32 pipe, 100 special ones."""
    found = pipe_clocks(kernel(instructions={"div": 10_800}), A100)
    assert (found["issue"], found["fma"], found["special"]) == (225, 400, 200)


def test_tensor_cores_and_shared_memory() -> None:
    """2 x 1024 operations a clock; a wavefront a clock. 108 blocks."""
    found = pipe_clocks(kernel(mma_flops=108 * 2 * 1024 * 300, shared_wavefronts=108 * 70), A100)
    assert (found["tensor"], found["shared"]) == (300, 70)


def test_a_block_takes_its_work_after_its_latencies() -> None:
    """Nothing comes from memory: 205 clocks of L2. Two barriers: 2 x (30 + 33). Then 1000 wavefronts."""
    found = counted_time([kernel(shared_wavefronts=108_000, barriers=216)], A100)
    assert found.total_us == pytest.approx(LAUNCH + (205 + 126 + 1000) / CLOCKS)
    assert found.kernels[0].limiter == "shared"
    (idle,) = counted_time([kernel(barriers=216)], A100).kernels
    assert (idle.limiter, idle.total_us) == ("latency", pytest.approx(331 / CLOCKS))


def test_the_first_bytes_wait_for_memory() -> None:
    """One sector of a buffer: 530 clocks instead of 205."""
    found = us(kernel(global_sectors=1, buffers=(Buffer("x", 32),)))
    assert found == pytest.approx(LAUNCH + 530 / CLOCKS)


def test_few_warps_feed_a_part_of_the_pipes() -> None:
    """1000 integer instructions: 500 clocks of four sub-cores, 2000 of one. A wavefront does not care whose it is."""
    for warps, clocks in ((1, 2000), (2, 1000), (4, 500), (8, 500)):
        found = us(kernel(threads=32 * warps, instructions={"alu": 108_000}))
        assert found == pytest.approx(LAUNCH + (205 + clocks) / CLOCKS)
    assert us(kernel(threads=32, shared_wavefronts=108_000)) == pytest.approx(LAUNCH + 1205 / CLOCKS)


def test_waves() -> None:
    """79 KiB and 1 KiB of the system: two blocks an SM. 325 blocks are a full wave of 216, and 109 of which one SM has two.

    A block's 1000 wavefronts take 1000 clocks, so two take 2000, longer than one and its 205 clocks of latency.
    """
    found = us(kernel(blocks=325, shared_bytes=79 << 10, shared_wavefronts=325_000))
    assert found == pytest.approx(LAUNCH + (2000 + 2000) / CLOCKS)
    found = us(kernel(blocks=324, shared_bytes=79 << 10, shared_wavefronts=324_000))
    assert found == pytest.approx(LAUNCH + (2000 + 1205) / CLOCKS)


def test_the_heaviest_block_is_waited_for() -> None:
    """1000 wavefronts and two barriers on the mean, twice as much in the heaviest; in many waves it hides among the others."""
    found = us(kernel(shared_wavefronts=108_000, barriers=216, heaviest=2.0))
    assert found == pytest.approx(LAUNCH + (205 + 2 * 126 + 2000) / CLOCKS)
    found = us(kernel(blocks=1080, shared_wavefronts=1_080_000, heaviest=2.0))
    assert found == pytest.approx(LAUNCH + 10 * 1205 / CLOCKS)


def test_registers_limit_what_is_resident() -> None:
    """128 threads of 255 registers: two blocks in 65 536 registers, where shared memory would let 32 in."""
    found = us(kernel(blocks=216, registers=255, shared_bytes=0, shared_wavefronts=216_000))
    assert found == pytest.approx(LAUNCH + 2000 / CLOCKS)
    found = us(kernel(blocks=324, registers=255, shared_bytes=0, shared_wavefronts=324_000))
    assert found == pytest.approx(LAUNCH + (2000 + 1205) / CLOCKS)


def test_bytes_of_both_levels() -> None:
    """4 MiB read twice: 8 MiB at 5400 GB/s, and 4 MiB at 0.8 x 1555 GB/s."""
    (found,) = counted_time([kernel(global_sectors=8 * MIB // 32, buffers=(Buffer("w", 4 * MIB),))], A100).kernels
    assert (found.l2_bytes, found.dram_bytes, found.limiter) == (8 * MIB, 4 * MIB, "dram")
    assert found.l2_us == pytest.approx(8 * MIB / 5400e3)
    assert found.dram_us == pytest.approx(4 * MIB / 1244e3)


def test_few_blocks_do_not_fill_the_memory_bus() -> None:
    """27 of the 81 SMs that it takes: a third of the bandwidth of both levels."""
    (found,) = counted_time([kernel(blocks=27, global_sectors=MIB // 32, buffers=(Buffer("w", MIB),))], A100).kernels
    assert found.dram_us == pytest.approx(3 * MIB / 1244e3)
    assert found.l2_us == pytest.approx(3 * MIB / 5400e3)


def test_of_a_buffer_no_more_comes_than_moves() -> None:
    """A megabyte of two large tensors."""
    buffers = (Buffer("a", 64 * MIB), Buffer("b", 64 * MIB))
    (found,) = counted_time([kernel(global_sectors=MIB // 32, buffers=buffers)], A100).kernels
    assert found.dram_bytes == MIB


def test_one_buffer_under_two_parameters_is_one() -> None:
    buffers = (Buffer("a", MIB), Buffer("a", MIB))
    (found,) = counted_time([kernel(global_sectors=2 * MIB // 32, buffers=buffers)], A100).kernels
    assert found.dram_bytes == MIB


def test_a_warm_cache_holds_what_was_touched_last() -> None:
    """30 MiB, then 20 that push them out of 40; the 20 are found again, the 30 are not."""
    first, second = Buffer("a", 30 * MIB), Buffer("b", 20 * MIB)
    kernels = [kernel(global_sectors=b.bytes // 32, buffers=(b,)) for b in (first, second, second, first)]
    warm, cold = counted_time(kernels, A100, warm=True), counted_time(kernels, A100)
    assert [k.dram_bytes / MIB for k in warm.kernels] == [30, 20, 0, 30]
    assert [k.dram_bytes / MIB for k in cold.kernels] == [30, 20, 20, 30]
    assert cold.total_us - warm.total_us == pytest.approx(20 * MIB / 1244e3 - 20 * MIB / 5400e3)
    assert (warm.dram_bytes, cold.l2_bytes) == (80 * MIB, 100 * MIB)


def test_what_is_larger_than_the_cache_is_not_found_again() -> None:
    big = Buffer("a", 41 * MIB)
    kernels = [kernel(global_sectors=big.bytes // 32, buffers=(big,))] * 2
    assert [k.dram_bytes / MIB for k in counted_time(kernels, A100, warm=True).kernels] == [41, 41]


def test_parts_of_a_buffer_are_different_parts_until_all_was_touched() -> None:
    """Two kernels read a half each of 8 MiB, which nothing says are the same; a third one's half must have been there."""
    half = kernel(global_sectors=4 * MIB // 32, buffers=(Buffer("w", 8 * MIB),))
    assert [k.dram_bytes / MIB for k in counted_time([half, half, half], A100, warm=True).kernels] == [4, 4, 0]


def test_launches_add_up() -> None:
    found = counted_time([kernel(), kernel(), kernel()], A100)
    assert found.total_us == pytest.approx(3 * LAUNCH + 3 * 205 / CLOCKS)
    assert found.limiter == "launch"


def test_a_spill_is_a_rejection() -> None:
    with pytest.raises(CodegenError, match="16 bytes of registers spill to memory"):
        counted_time([kernel(), kernel(spills=16)], A100)


def test_no_launch_takes_no_time() -> None:
    assert us() == 0.0
