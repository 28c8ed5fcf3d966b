"""Each term of a modelled time against arithmetic on paper, for an A100 of 108 SMs at 1.41 GHz; warm and cold; bytes; spills."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tune_graphs import gemm, pointwise

from prism_mlir.graph.errors import CodegenError
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.cost import cost, working_set
from prism_mlir.tune.counted import Buffer, CountedKernel
from prism_mlir.tune.explain_cost import (
    Explanation,
    Term,
    compare_row,
    explain_counters,
    explain_floor,
    explain_model,
    residency_limits,
    schedule_text,
)
from prism_mlir.tune.roofline import Roofline
from prism_mlir.tune.targets import KIB, MIB, find_target

A100 = find_target("sm_80")
LAUNCH, GRAPH, RAMP, SUSTAINED = 2.7, 1.35, A100.ramp_us, A100.tensor_sustained
ACTIVE = 81  # three quarters of 108 SMs draw all of the bandwidth


def scheduled(graph: KernelGraph, sizes: dict[str, int], warps: int = 4, stages: int = 2) -> ScheduledGraph:
    return ScheduledGraph(graph, Schedule.of(sizes, warps, stages))


PRODUCT = scheduled(gemm(64, 1024, 512), {"x": 8, "y": 1, "i": 8})
POINTWISE = scheduled(pointwise(64, 1024), {"x": 16}, stages=1)


def only(explained: Explanation, name: str, unit: str) -> Term:
    (kernel,) = explained.kernels
    (found,) = [t for t in kernel.terms if (t.name, t.unit) == (name, unit)]
    return found


def check(explained: Explanation, wanted: dict[tuple[str, str], tuple[float, float]]) -> None:
    for (name, unit), (cold, warm) in wanted.items():
        term = only(explained, name, unit)
        assert (term.cold, term.warm) == (pytest.approx(cold), pytest.approx(warm)), name


def test_every_term_of_a_product() -> None:
    """X 64 x 512, W 512 x 1024, halves. Eight blocks of 4 warps make 64 x 128 each, in eight steps of 64 along the inner dim."""
    x, w, out = 64 * 512 * 2, 512 * 1024 * 2, 64 * 1024 * 2
    x_tile, w_tile = 64 * 64 * 2, 64 * 128 * 2
    everything = x + w + out
    l2 = 8 * x + w + out
    held = 40 + 16 * 4  # 4 x 16 fragments of 16 x 8, 16 a warp, 4 registers each
    tensor = 64 * 128 * 512 / (1024 * SUSTAINED)
    copies = 8 * (x_tile + w_tile) // 512  # warp instructions that copy 16 bytes a thread
    products = 64 * 128 * 512 // (16 * 8 * 16)
    integer, others = 200 * 4 + 3 * copies + products, copies + 2 * products
    reads = (
        8 * 4 * 4 * (2 * 16 + 8 * 8) * 16 * 2
    )  # steps, k16 in a step, warps, 2 fragments of 16 rows and 8 of 8, k, bytes
    chain, warm_chain = (n + 8 * ((n + 33) / 2 + 30) for n in (530, 205))
    sm, warm_sm = ((c + tensor) / 1410 for c in (chain, warm_chain))
    l2_us = l2 / (5400e3 * 8 / ACTIVE)
    dram_us = everything / (1555e3 * 0.8 * 8 / ACTIVE)
    assert dram_us > sm > l2_us
    explained = explain_model(PRODUCT, A100)
    same = {
        ("blocks", ""): 8,
        ("registers", "a thread"): held,
        ("shared memory", "B a block"): 2 * (x_tile + w_tile),
        ("resident", "blocks an SM"): 3,  # 48 KiB and 1 KiB, of 164 KiB
        ("full waves", ""): 0,
        ("L2", "B"): l2,
        ("in flight", "B"): 3 * (x_tile + w_tile),
        ("tensor", "clocks"): tensor,
        ("fma", "clocks"): 0,
        ("integer", "clocks"): integer / 2,
        ("issue", "clocks"): (integer + others) / 4,
        ("shared", "clocks"): (8 * (x_tile + w_tile) + reads) / 126,
        ("L2", "us"): l2_us,
        ("wait for copies", "us"): 0,
    }
    check(explained, {key: (value, value) for key, value in same.items()})
    different = {
        ("DRAM", "B"): (everything, 0),
        ("L2 in use", "B"): (x_tile + 8 * w_tile, everything),
        ("latency chain", "clocks"): (chain, warm_chain),
        ("SM", "us"): (sm, warm_sm),
        ("DRAM", "us"): (dram_us, 0),
        ("ramp", "us"): (RAMP, 0),
        ("kernel", "us"): (dram_us + RAMP, warm_sm),
    }
    check(explained, different)
    assert explained.kernels[0].limiter == ("dram", "tensor")
    assert explained.total_us == pytest.approx((dram_us + RAMP + LAUNCH, warm_sm + LAUNCH))
    assert only(explained, "L2", "B").note == f"{l2 // 32} sectors of 32 B"
    assert only(explained, "resident", "blocks an SM").note == "limited by shared memory"
    assert only(explained, "full waves", "").note == "8 blocks on 108 SMs in the last one"


def test_every_term_of_an_elementwise_kernel() -> None:
    """exp of 64 x 1024 halves, by 16 blocks of 4 warps with four rows each; no loop, so nothing overlaps but other blocks."""
    size, tile = 64 * 1024 * 2, 4 * 1024 * 2
    copies, f32 = tile // 512, 5 * 4 * 1024  # exp: a product, and a special function at a quarter of the rate
    integer, others = 200 * 4 + 3 * copies, copies
    chain, warm_chain = (n + n + 33 + 30 for n in (530, 205))
    sm, warm_sm = ((c + integer / 2) / 1410 for c in (chain, warm_chain))
    l2_us = 2 * size / (5400e3 * 16 / ACTIVE)
    dram_us = 2 * size / (1555e3 * 0.8 * 16 / ACTIVE)
    resident = 12  # 40 registers of 128 threads, of 65536
    wait, warm_wait = min(sm, dram_us) / resident, l2_us / resident
    explained = explain_model(POINTWISE, A100)
    same = {
        ("blocks", ""): 16,
        ("registers", "a thread"): 40,
        ("shared memory", "B a block"): tile,
        ("resident", "blocks an SM"): resident,
        ("L2", "B"): 2 * size,
        ("in flight", "B"): resident * tile,
        ("tensor", "clocks"): 0,
        ("fma", "clocks"): f32 / 64,
        ("integer", "clocks"): integer / 2,
        ("issue", "clocks"): (integer + others + f32 / 32) / 4,
        ("shared", "clocks"): 2 * tile / 126,  # copied in, and read
        ("L2", "us"): l2_us,
    }
    check(explained, {key: (value, value) for key, value in same.items()})
    different = {
        ("DRAM", "B"): (2 * size, 0),
        ("latency chain", "clocks"): (chain, warm_chain),
        ("SM", "us"): (sm, warm_sm),
        ("DRAM", "us"): (dram_us, 0),
        ("wait for copies", "us"): (wait, warm_wait),
        ("kernel", "us"): (max(sm, dram_us) + wait + RAMP, max(warm_sm, l2_us) + warm_wait),
    }
    check(explained, different)
    assert sm > dram_us
    assert explained.kernels[0].limiter == ("latency", "latency")
    assert only(explained, "resident", "blocks an SM").note == "limited by registers"


@pytest.mark.parametrize("rows", [1, 16, 64, 512])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_warm_is_never_slower_than_cold(rows: int, stages: int) -> None:
    one = scheduled(gemm(rows, 1024, 1024), {"x": 16, "y": max(1, rows // 64), "i": 8}, stages=stages)
    cold, warm = cost(one, A100), cost(one, A100, warm=True)
    assert warm.total_us <= cold.total_us
    assert warm.dram_bytes == 0 < cold.dram_bytes


def test_what_does_not_fit_is_not_warm() -> None:
    """4096 x 8192 halves are 64 MiB, more than the 40 of L2."""
    one = scheduled(gemm(16, 8192, 4096), {"x": 128, "y": 1, "i": 64})
    assert working_set(one) == 2 * (16 * 4096 + 4096 * 8192 + 16 * 8192) > 64 * MIB
    assert cost(one, A100, warm=True) == cost(one, A100)


def test_more_bytes_never_take_less_time() -> None:
    """The same blocks of the same tiles, with a longer loop."""
    times = [
        cost(scheduled(gemm(16, 4096, 64 * n), {"x": 64, "y": 1, "i": n}), A100, warm=warm).total_us
        for warm in (False, True)
        for n in (2, 4, 8, 16, 32)
    ]
    assert times[:5] == sorted(times[:5])
    assert times[5:] == sorted(times[5:])


def test_registers_of_an_assembler_replace_the_estimate() -> None:
    """128 registers of 128 threads fit four times into 65536; 48 KiB of shared memory three times; 255 registers twice."""
    assert [cost(PRODUCT, A100, registers=(n,)).kernels[0].resident for n in (128, 255)] == [3, 2]
    assert only(explain_model(PRODUCT, A100, registers=(128,)), "registers", "a thread").note == "as ptxas says"


def test_a_spill_is_a_rejection() -> None:
    with pytest.raises(ScheduleError, match="256 registers a thread spill to memory: sm_80 has 255"):
        cost(PRODUCT, A100, registers=(256,))
    few = replace(A100, registers_per_thread=100)  # the product holds 104
    with pytest.raises(ScheduleError, match="104 registers a thread spill to memory"):
        explain_model(PRODUCT, few)
    with pytest.raises(CodegenError, match="8 bytes of registers spill"):
        explain_counters([counted(spills=8)], A100)


def counted(spills: int = 0) -> CountedKernel:
    """108 blocks of 128 threads: 1000 integer instructions and 512 wavefronts each; 108 x 64 sectors of one buffer."""
    return CountedKernel(
        blocks=108,
        threads=128,
        registers=32,
        shared_bytes=80 * KIB,
        spills=spills,
        instructions={"alu": 108_000},
        mma_flops=0,
        shared_wavefronts=108 * 512,
        barriers=0,
        global_sectors=108 * 64,
        buffers=(Buffer("x", 108 * 64 * 32),),
    )


def test_terms_of_counts() -> None:
    """A block takes 530 clocks of latency, or 205, and 512 of shared memory; 80 and 1 KiB fit twice into 164."""
    explained = explain_counters([counted(), counted()], A100)
    assert len(explained.kernels) == 2
    first, second = ({(t.name, t.unit): t for t in k.terms} for k in explained.kernels)
    assert first["resident", "blocks an SM"].cold == 2
    assert (first["integer", "clocks"].cold, first["shared", "clocks"].cold) == (500, 512)
    assert (first["SM", "us"].cold, first["SM", "us"].warm) == (pytest.approx(1042 / 1410), pytest.approx(1042 / 1410))
    assert (second["SM", "us"].cold, second["SM", "us"].warm) == (pytest.approx(1042 / 1410), pytest.approx(717 / 1410))
    assert (second["DRAM", "B"].cold, second["DRAM", "B"].warm) == (108 * 64 * 32, 0)  # the first one left it in L2
    assert explained.total_us == pytest.approx((2 * LAUNCH + 2 * 1042 / 1410, 2 * LAUNCH + (1042 + 717) / 1410))


def test_the_floor() -> None:
    floor = Roofline(bytes=1000, fma=2000, dram_us=5.0, tensor_us=1.0, launch_us=2.7)
    terms = {t.name: t for t in explain_floor(floor, (15.4, 3.85))}
    assert terms["roofline"].cold == pytest.approx(7.7)
    assert (terms["over roofline"].cold, terms["over roofline"].warm) == (pytest.approx(2.0), pytest.approx(0.5))


def test_limits_of_residency() -> None:
    """80 KiB and 1 KiB: 2 of 164 KiB; 64 registers of 256 threads: 4 of 65536; 256 threads: 8 of 2048; at most 32 blocks."""
    found = residency_limits(80 * KIB, 64, 256, A100)
    assert found == {"shared memory": 2, "registers": 4, "threads": 8, "blocks": 32}


def test_explanations_are_plain_data() -> None:
    data = explain_model(PRODUCT, A100).to_dict()
    assert (data["source"], data["kernels"][0]["limiter"]) == ("model", {"cold": "dram", "warm": "tensor"})
    assert [t["name"] for t in data["totals"]][-1] == "total in a stream"
    row = compare_row(3, PRODUCT, cost(PRODUCT, A100), cost(PRODUCT, A100, warm=True))
    assert (row["graph"], row["schedule"], row["blocks"]) == (3, "i=8,x=8,y=1,warps=4,stages=2", 8)
    assert schedule_text(Schedule.of({}, 1, 1)) == "warps=1,stages=1"
