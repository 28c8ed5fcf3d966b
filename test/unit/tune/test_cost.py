"""Terms of the cost model against arithmetic on paper."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tune_graphs import gemm, pointwise

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.examples import softmax_matmul_block
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import MATMUL, sum_, unary
from prism_mlir.graph.program import Program, ProgramInput, ProgramOutput
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.cost import KernelCost, cost
from prism_mlir.tune.targets import MIB, Target, find_target

A100 = find_target("sm_80")


def kernel(
    graph: KernelGraph, sizes: dict[str, int], warps: int = 4, stages: int = 2, target: Target = A100
) -> KernelCost:
    (result,) = cost(ScheduledGraph(graph, Schedule.of(sizes, warps, stages)), target).kernels
    return result


def test_bytes_count_every_tensor_once_and_re_reads_apart() -> None:
    """X is 64 x 512 halves, W 512 x 1024, O 64 x 1024. Each of the 8 column blocks reads all of X."""
    found = kernel(gemm(64, 1024, 512), {"x": 8, "y": 1, "i": 8})
    x, w, o = 64 * 512 * 2, 512 * 1024 * 2, 64 * 1024 * 2
    assert found.dram_bytes == x + w + o
    assert found.l2_bytes == 8 * x + w + o


def test_re_reads_of_a_tensor_beyond_the_cache_reach_memory() -> None:
    """W of 80 MiB, read by both row blocks, in a cache of 40 MiB: half of the second reading misses."""
    graph = gemm(128, 10240, 4096)
    found = kernel(graph, {"x": 160, "y": 2, "i": 64})
    w = 10240 * 4096 * 2
    assert w == 80 * MIB
    once = 128 * 4096 * 2 + w + 128 * 10240 * 2
    assert found.dram_bytes == once + w // 2


def test_rows_shorter_than_a_sector_cost_a_whole_one() -> None:
    """8 columns of halves are 16 bytes, memory moves 32."""
    narrow = kernel(gemm(16, 1024, 256), {"x": 128, "y": 1, "i": 4}, warps=1)
    wide = kernel(gemm(16, 1024, 256), {"x": 64, "y": 1, "i": 4}, warps=1)
    x, w, o = 16 * 256 * 2, 256 * 1024 * 2, 16 * 1024 * 2
    assert narrow.l2_bytes == 128 * x + 2 * w + o
    assert wide.l2_bytes == 64 * x + w + o


def test_a_transposed_input_is_contiguous_along_its_other_dim() -> None:
    """The same 8 columns, stored column-major, are rows of 64 halves: no sector is wasted."""
    graph, sizes = gemm(16, 1024, 256), {"x": 128, "y": 1, "i": 4}
    inputs = (
        ProgramInput.whole("X", (16, 256), DType.F16, 0),
        ProgramInput("W", (256, 1024), DType.F16, 1, (1024, 256), (1, 256)),
    )
    program = Program("t", inputs, (), (ProgramOutput(0, DType.F16, (16, 1024), (1024, 1)),))
    found = cost(ScheduledGraph(graph, Schedule.of(sizes, 1, 2)), A100, program).kernels[0]
    assert found.l2_bytes == 128 * 16 * 256 * 2 + 256 * 1024 * 2 + 16 * 1024 * 2


def test_tensor_work_includes_padding() -> None:
    """One row pads to eight columns of the fragment: 8 times the work of the product itself."""
    found = kernel(gemm(1, 1024, 256), {"x": 16, "y": 1, "i": 4})
    assert found.tensor_fma == 8 * 1024 * 256
    assert kernel(gemm(64, 1024, 256), {"x": 16, "y": 1, "i": 4}).tensor_fma == 64 * 1024 * 256


def test_a_decode_product_is_bound_by_reading_its_weights() -> None:
    """8 x 4096 x 16384: 134 MB of weights at 0.80 of 1555 GB/s are 108 us, and nothing else is as slow. The ramp is added."""
    found = kernel(gemm(8, 16384, 4096), {"x": 256, "y": 1, "i": 64}, stages=4)
    assert found.limiter == "dram"
    assert found.total_us == pytest.approx(found.dram_bytes / (0.80 * 1555e3) + A100.ramp_us, rel=1e-9)
    assert found.dram_bytes == pytest.approx(16384 * 4096 * 2, rel=0.01)


def test_a_large_product_is_bound_by_tensor_cores() -> None:
    """2 * 4096^3 operations at 312 TFLOP/s are 440 us; no schedule of the model is faster."""
    found = kernel(gemm(4096, 4096, 4096), {"x": 32, "y": 32, "i": 128}, warps=8, stages=3)
    assert found.limiter in {"tensor", "shared", "l2"}
    assert found.total_us > 2 * 4096**3 / 312.5e6


def test_waves_and_tail() -> None:
    """On 108 SMs that hold one block each, the 109th block needs a wave of its own."""
    single = replace(A100, blocks_per_sm=1)
    full = kernel(gemm(16, 108 * 64, 256), {"x": 108, "y": 1, "i": 4}, target=single)
    spill = kernel(gemm(16, 109 * 64, 256), {"x": 109, "y": 1, "i": 4}, target=single)
    assert (full.full_waves, full.last_wave, full.tail_us) == (1, 0, 0.0)
    assert (spill.full_waves, spill.last_wave) == (1, 1)
    assert spill.sm_us == pytest.approx(2 * full.sm_us)
    assert spill.tail_us == pytest.approx((2 - 109 / 108) * full.sm_us)


def test_one_stage_waits_for_its_copies() -> None:
    graph, sizes = gemm(64, 4096, 4096), {"x": 64, "y": 1, "i": 64}
    one, two = kernel(graph, sizes, stages=1), kernel(graph, sizes, stages=2)
    assert one.serial_us == pytest.approx(min(one.sm_us, max(one.dram_us, one.l2_us)) / one.resident)
    assert two.serial_us == 0.0
    assert one.total_us > two.total_us


def test_few_blocks_do_not_reach_full_bandwidth() -> None:
    """27 of 108 SMs are a third of the 75 % that saturate memory."""
    graph = gemm(8, 27 * 512, 4096)
    few = kernel(graph, {"x": 27, "y": 1, "i": 64}, stages=4)
    many = kernel(graph, {"x": 108, "y": 1, "i": 64}, stages=4)
    assert few.dram_us == pytest.approx(3 * many.dram_us)


def test_launches_add_up_and_dominate_tiny_kernels() -> None:
    found = cost(ScheduledGraph(pointwise(16, 64), Schedule.of({"x": 4}, 1, 1)), A100)
    assert found.launch_us == A100.launch_us
    assert found.limiter == "launch"
    assert found.total_us == pytest.approx(found.launch_us + found.kernels[0].total_us)


def test_a_library_product_runs_at_the_chips_rates() -> None:
    types = gemm(4096, 4096, 4096).inputs
    found = cost(ScheduledGraph(KernelGraph(types, (LibraryNode(MATMUL, (0, 1)),), (2,)), Schedule.of({})), A100)
    assert found.kernels[0].sm_us == pytest.approx(2 * 4096**3 / (312e6 * A100.tensor_sustained), rel=0.01)
    assert found.limiter == "tensor"


def test_more_bandwidth_never_costs() -> None:
    graph, sizes = softmax_matmul_block(), {"x": 64, "i": 32}
    slow, fast = (kernel(graph, sizes, target=t).total_us for t in (A100, replace(A100, dram_gbs=A100.dram_gbs * 2)))
    assert fast <= slow


def test_symbolic_mappings_are_an_error() -> None:
    with pytest.raises(InputError, match="symbolic mappings"):
        kernel(softmax_matmul_block(mapping=False), {"x": 64, "i": 32})


def test_warps_that_share_a_fragment_compute_it_each() -> None:
    """Tiles of 1 x 16 are one fragment of 16 x 8: eight columns for one row, and four times that with four warps."""
    graph, sizes = gemm(1, 1024, 256), {"x": 64, "y": 1, "i": 4}
    one, four = kernel(graph, sizes, warps=1), kernel(graph, sizes, warps=4)
    assert one.tensor_fma == 8 * 1024 * 256
    assert four.tensor_fma == 4 * one.tensor_fma


def test_an_accumulator_in_shared_memory_is_read_and_written_in_every_iteration() -> None:
    """Sum over 8 tiles of 8 x 512 halves, squared, element by element, then along the rows; shared memory gives a byte a clock.

    Each iteration copies a tile in and reads it, reads the f32 accumulator and writes it; then the rows are read, 8 sums written,
    and read when they are saved.
    """
    tile, sums = 8 * 512, 8 * 16  # each sum begins a row, which is 16 bytes at least
    moved = 8 * (2 * tile + 2 * tile + 4 * tile + 4 * tile) + 4 * tile + sums + 8 * 4
    latency = 530 + 8 * ((530 + 33) / 2 + 30)
    found = kernel(squares(8, 4096), {"x": 1, "i": 8}, target=replace(A100, shared_per_clock=1))
    assert found.limiter == "shared"
    assert found.sm_us == pytest.approx((moved + latency) / 1410)


def squares(rows: int, columns: int) -> KernelGraph:
    """Sums of the squares of rows; the loop goes along them."""
    x = TensorType((rows, columns), DType.F16)
    ops = (Load(0), unary("x**2"), Accum(), sum_(1))
    nodes = tuple(BlockNode(op, (k - 1,) if k else ()) for k, op in enumerate(ops))
    block = BlockGraph(("x",), "i", (x,), nodes, (3,))
    return KernelGraph((x,), (CustomNode(block, (0,), Mapping(((0,),), (1,), ((0,),))),), (1,))


def test_a_schedule_that_asks_for_more_blocks_than_its_registers_leave_is_refused() -> None:
    """64 x 128 f32 over 128 threads: an estimate of 40 + 64 registers; for 4 blocks 65536 / 512 = 128 are there, for 5 96."""
    graph, sizes = gemm(64, 128, 1024), (("i", 64), ("x", 1), ("y", 1))
    four, five = (ScheduledGraph(graph, Schedule(sizes, 4, 1, residency=n)) for n in (4, 5))
    assert cost(four, A100) == cost(ScheduledGraph(graph, Schedule(sizes, 4, 1)), A100)
    with pytest.raises(ScheduleError, match="104 registers a thread spill to memory: sm_80 has 96 for 5 blocks an SM"):
        cost(five, A100)
    assert cost(five, A100, registers=[96]).kernels[0].registers == 96  # as an assembler says
