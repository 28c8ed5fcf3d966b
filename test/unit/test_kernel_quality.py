"""The table of kernel quality (``benchmarks/kernel_quality.py``): its counts against counts on paper, its peers against NumPy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_mlir.codegen.compile import compile_graph
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import MATMUL
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.runtime.ptx import Module
from prism_mlir.runtime.ptx.counters import Counters
from prism_mlir.tune.cost import cost
from prism_mlir.tune.targets import find_target

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from harness.quality import (
    Launch,
    Resources,
    alone,
    busiest_sm_us,
    count,
    groups,
    issue_us,
    misses,
    narrow_accesses,
    narrow_text,
    occupancy,
    summary,
    whole,
)

A100 = find_target("sm_80")

# Thread t of block c stores the half c at 32 c + t, and in shared memory a word at 8 t: two threads a bank.
STORES = """
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 buf[256];
.visible .entry stores(.param .u64 out) {
  .reg .b16 %rs<2>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  shl.b32 %r3, %r1, 3;
  mov.u32 %r4, buf;
  add.u32 %r5, %r4, %r3;
  st.shared.b32 [%r5], %r1;
  mad.lo.u32 %r3, %r2, 32, %r1;
  mul.wide.u32 %rd2, %r3, 2;
  add.u64 %rd3, %rd1, %rd2;
  cvt.u16.u32 %rs1, %r2;
  st.global.b16 [%rd3], %rs1;
  ret;
}
"""


def stores(blocks: int) -> Launch:
    return Launch(STORES, "stores", (blocks, 1, 1), (32, 1, 1), 0, (np.zeros(32 * blocks, np.uint16),))


def test_a_launch_is_counted_by_its_ends() -> None:
    """A warp stores 64 bytes, two sectors, by one request; and takes two wavefronts where one would do. Six blocks."""
    launch = stores(6)
    found = count(launch)
    assert (found.blocks, found.even) == (6, True)
    assert (found.global_requests, found.global_sectors, found.global_bytes) == (6, 12, 6 * 64)
    assert (found.shared_wavefronts, found.shared_wavefronts_ideal) == (12, 6)
    (out,) = launch.arguments
    assert list(np.flatnonzero(out)) == list(range(5 * 32, 6 * 32))  # the last block stored 5s, the first one zeros


def test_a_block_alone_keeps_its_place() -> None:
    text = alone("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x;", (8, 4, 1), (7, 2, 0))
    assert text == "mov.u32 %r1, 7; mov.u32 %r2, 2; mov.u32 %r3, 8;"


def test_uneven_blocks_count_as_their_mean() -> None:
    """Blocks of 10, 20, 30, 40 sectors are 100, and so are four of the mean of the first and the last."""
    found = whole([Counters(global_sectors=10), Counters(global_sectors=40)], 4)
    assert (found.global_sectors, found.even) == (100, False)


def test_classes_add_up() -> None:
    found = groups(
        {"mma": 2, "ld.shared": 3, "ldmatrix": 4, "st.global": 5, "cp.async": 6, "cp.async.wait": 7, "alu": 8}
    )
    assert found == {"mma": 2, "ld/st shared": 7, "ld/st global": 5, "cp.async": 6, "other": 15}


def test_columns_of_a_launch() -> None:
    """6 blocks x 64 bytes over 192 compulsory ones; half of the wavefronts are conflicts; 2-byte stores are narrow."""
    row = summary([count(stores(6))], [Resources(32, 256, 0, 32)], [STORES], (192, 0), A100)
    assert (row["global/min"], row["sectors/request"], row["conflicts"]) == (2.0, 2.0, 0.5)
    assert (row["narrow"], row["flops/needed"]) == ("1 st×2", None)
    assert row["misses"] == ["bytes", "banks", "narrow"]
    assert (row["ld/st shared"], row["ld/st global"], row["mma"]) == (6, 6, 0)


def test_several_kernels_may_move_more_than_compulsory_bytes() -> None:
    row = {"kernels": 2, "global/min": 2.0, "spills": 8, "conflicts": None, "narrow": ""}
    assert misses(row) == ["spills"]


def test_narrow_accesses_are_those_of_fewer_than_16_bytes() -> None:
    text = """
    ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
    @%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];
    cp.async.cg.shared.global [%r1], [%rd2], 16, %r9;
    cp.async.ca.shared.global [ %r1 + 0 ], [ %rd2 + 0 ], 0x8, %r9;
    st.shared.b16 [%r1], %rs1;
    st.global.b16 [%rd2], %rs1;
    st.global.b16 [%rd2+2], %rs1;
    """
    found = narrow_accesses(text)
    assert found == [("ld", 8), ("cp.async", 8), ("st", 2), ("st", 2)]
    assert narrow_text(found) == "1 cp.async×8, 1 ld×8, 2 st×2"


def test_the_busiest_sm_has_the_ragged_wave() -> None:
    """109 blocks on 108 SMs: one SM has two. 2 x 1410 instructions, 4 a clock at 1410 MHz: half a microsecond."""
    assert busiest_sm_us(109 * 1410, 109, 4, A100) == pytest.approx(0.5)


def test_a_lone_warp_issues_one_instruction_a_clock() -> None:
    """108 blocks of 1410 instructions, one an SM: a microsecond for one warp, a quarter for four or eight."""
    counted = whole([Counters(warp_instructions={"alu": 1410})], 108)
    for warps, wanted in ((1, 1.0), (2, 0.5), (4, 0.25), (8, 0.25)):
        assert issue_us(counted, Resources(32, 0, 0, 32 * warps), A100) == pytest.approx(wanted)


def test_occupancy_is_in_warps() -> None:
    """80 KiB and the system's 1 KiB fit twice into 164 KiB: 2 blocks of 4 warps, of 64."""
    assert occupancy(Resources(64, 80 << 10, 0, 128), A100) == 8 / 64


@pytest.mark.parametrize("warps", [1, 4])
def test_emitted_code_multiplies_what_the_cost_model_says(warps: int) -> None:
    """1 x 256 by 256 x 1024 in tiles of 1 x 16: each of the warps computes the fragment, eight columns for the one row."""
    program = build_program("row", {"X": (1, 256), "W": (256, 1024)}, [(MATMUL, (0, 1))])
    graph, schedule = one_row(), Schedule.of({"x": 64, "i": 4}, warps, 2)
    built = compile_graph(program, graph, schedule, "sm_80")
    (kernel,) = built.launch.kernels
    arguments = tuple(np.zeros(a.shape, a.dtype.storage) for a in kernel.arguments)
    found = count(Launch(built.ptx, kernel.entry, kernel.grid, kernel.block, kernel.shared_bytes, arguments))
    assert found.mma_flops == 2 * 8 * warps * 1024 * 256
    assert cost(ScheduledGraph(graph, schedule), A100).kernels[0].tensor_fma == 8 * warps * 1024 * 256


def one_row() -> KernelGraph:
    x, w = TensorType((1, 256), DType.F16), TensorType((256, 1024), DType.F16)
    nodes = (BlockNode(Load(0)), BlockNode(Load(1)), BlockNode(MATMUL, (0, 1)), BlockNode(Accum(), (2,)))
    mapping = Mapping(imap=((-1,), (1,)), fmap=(1, 0), omap=((1,),))
    return KernelGraph((x, w), (CustomNode(BlockGraph(("x",), "i", (x, w), nodes, (3,)), (0, 1), mapping),), (2,))


@pytest.mark.extras
@pytest.mark.parametrize("norm", [False, True])
def test_peers_compute_what_the_programs_do(norm: bool) -> None:
    """At small sizes, against NumPy in f64; weights of halves near 1, so that errors stay near 2**-11 of the results."""
    pytest.importorskip("triton")
    from peers.table import decode, gated

    rng = np.random.default_rng(5)

    def half(*shape: int) -> Any:
        return (rng.standard_normal(shape) / 4).astype(np.float16)

    x, w, v = half(8, 256), half(256, 64), half(256, 64)
    wide = [a.astype(np.float64) for a in (x, w, v)]
    first, second = ((normed(wide[0]) if norm else wide[0]) @ m for m in wide[1:])
    launches = gated(8, 256, 64, norm=norm, gate=True, silu=True, block_k=64, stages=2)
    (out,) = run_peer(launches, {"x": x, "w": w, "v": v}, "out")
    np.testing.assert_allclose(out, first / (1 + np.exp(-first)) * second, rtol=4e-3, atol=4e-3)

    q, k, z = half(2, 3, 64), half(2, 128, 64), half(2, 128, 64)
    wide = [a.astype(np.float64) for a in (q, k, z)]
    p = np.exp((normed(wide[0]) if norm else wide[0]) @ wide[1].transpose(0, 2, 1))
    (out,) = run_peer(decode(2, 3, 128, 64, norm=norm, parts=4, block_n=32), {"q": q, "k": k, "v": z}, "out")
    np.testing.assert_allclose(out, p / p.sum(2, keepdims=True) @ wide[2], rtol=4e-3, atol=4e-3)


def normed(x: Any) -> Any:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)


def run_peer(launches: Any, given: dict[str, Any], *results: str) -> list[Any]:
    buffers = dict(given)
    for one in launches:
        arguments: list[Any] = []
        for a in one.arguments:
            arguments.append(buffers.setdefault(a[0], np.zeros(a[1], a[2])) if isinstance(a, tuple) else a)
        arguments += [np.zeros(1, np.uint8)] * one.compiled.hidden
        kernel = Module.load(one.compiled.ptx).kernel(one.compiled.entry)
        kernel.run(grid=one.grid, block=one.compiled.block, args=arguments, shared_bytes=one.compiled.shared_bytes)
    return [buffers[name].astype(np.float64) for name in results]
