"""The table of kernel quality (``benchmarks/kernel_quality.py``): its counts against counts on paper, its peers against NumPy."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_mlir.codegen.compile import compile_graph
from prism_mlir.compiler.counting import Launch, Resources, alone, count, counted_kernel, whole
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import MATMUL
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.runtime.ptx import Checks, Module
from prism_mlir.runtime.ptx.counters import Counters
from prism_mlir.tune.cost import cost
from prism_mlir.tune.counted import Buffer
from prism_mlir.tune.roofline import Roofline
from prism_mlir.tune.targets import find_target

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from harness.quality import (
    busiest_sm_us,
    compare,
    groups,
    issue_us,
    misses,
    narrow_accesses,
    narrow_text,
    occupancy,
    summary,
    times,
    verdict,
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
    out, buffer = np.zeros(32 * blocks, np.uint16), Buffer("out", 64 * blocks)
    return Launch(STORES, "stores", (blocks, 1, 1), (32, 1, 1), 0, (out,), (buffer,))


def test_a_launch_is_counted_by_its_ends() -> None:
    """A warp stores 64 bytes, two sectors, by one request; and takes two wavefronts where one would do. Six blocks."""
    launch = stores(6)
    found = count(launch)
    assert (found.blocks, found.heaviest) == (6, 1.0)
    assert (found.global_requests, found.global_sectors, found.global_bytes) == (6, 12, 6 * 64)
    assert (found.shared_wavefronts, found.shared_wavefronts_ideal) == (12, 6)
    (out,) = launch.arguments
    assert list(np.flatnonzero(out)) == list(range(5 * 32, 6 * 32))  # the last block stored 5s, the first one zeros


def test_a_block_alone_keeps_its_place() -> None:
    text = alone("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x;", (8, 4, 1), (7, 2, 0))
    assert text == "mov.u32 %r1, 7; mov.u32 %r2, 2; mov.u32 %r3, 8;"


def test_uneven_blocks_count_as_their_mean() -> None:
    """Blocks of 10, 20, 30, 40 sectors are 100, and so are four of the mean of the first and the last."""
    ends = [
        Counters(global_sectors=10, warp_instructions={"alu": 3}),
        Counters(global_sectors=40, warp_instructions={"alu": 4, "mma": 2}),
    ]
    found = whole(ends, 4)
    assert (found.global_sectors, found.heaviest) == (100, 6 / 4.5)


def test_classes_add_up() -> None:
    found = groups(
        {"mma": 2, "ld.shared": 3, "ldmatrix": 4, "st.global": 5, "cp.async": 6, "cp.async.wait": 7, "alu": 8}
    )
    assert found == {"mma": 2, "ld/st shared": 7, "ld/st global": 5, "cp.async": 6, "other": 15}


def test_columns_of_a_launch() -> None:
    """6 blocks x 64 bytes over 192 compulsory ones; half of the wavefronts are conflicts; 2-byte stores are narrow."""
    row = summary([stores(6)], [count(stores(6))], [Resources(32, 256, 0, 32)], Roofline(192, 0, 0.5, 0.0, 2.7), A100)
    assert (row["global/min"], row["sectors/request"], row["conflicts"]) == (2.0, 2.0, 0.5)
    assert (row["narrow"], row["flops/needed"]) == ("1 st×2", None)
    assert row["misses"] == ["bytes", "banks", "narrow"]
    assert (row["dram/min"], row["limiter"]) == (2.0, "latency")
    assert row["/floor"] == pytest.approx(row["cold us"] / 3.2)
    assert (row["ld/st shared"], row["ld/st global"], row["mma"]) == (6, 6, 0)


def missing(**fields: Any) -> list[str]:
    whole_row = {"kernels": 1, "dram/min": 1.0, "spills": 0, "conflicts": None, "flops/needed": None, "narrow": ""}
    return misses({**whole_row, **fields})


def test_a_row_misses_what_it_exceeds() -> None:
    assert missing() == missing(conflicts=0.02) == missing(**{"flops/needed": 1.1}) == missing(spills=None) == []
    assert missing(conflicts=0.021, spills=8) == ["spills", "banks"]
    assert missing(**{"flops/needed": 2.0}, narrow="1 st×2") == ["padding", "narrow"]


def test_several_kernels_may_move_more_than_compulsory_bytes() -> None:
    assert missing(**{"dram/min": 1.05}) == missing(kernels=2, **{"dram/min": 1.1}) == []
    assert missing(**{"dram/min": 1.06}) == missing(kernels=2, **{"dram/min": 1.11}) == ["bytes"]
    assert missing(**{"dram/min": None}) == []  # nothing is known of what spills


def test_what_spills_has_no_time() -> None:
    kernel = counted_kernel(count(stores(6)), Resources(32, 256, 8, 32), ())
    assert set(times([kernel], Roofline(192, 0, 0.5, 0.0, 2.7), A100).values()) == {None}


def test_buffers_that_kernels_pass_on_are_read_once_from_memory() -> None:
    """384 bytes written by one kernel and written again by the next: 768 bytes of DRAM cold, half of it warm."""
    kernel = counted_kernel(count(stores(6)), Resources(32, 256, 0, 32), (Buffer("out", 384),))
    row = times([kernel, kernel], Roofline(384, 0, 0.5, 0.0, 2.7), A100)
    assert row["dram/min"] == 1.0
    assert row["cold us"] > row["warm us"]


def timed(by: str, cold: float | None, warm: float | None, *missed: str, l2: float = 1.0) -> dict[str, Any]:
    base = {"kernels": 1, "global/min": l2, "spills": 0, "conflicts": None, "flops/needed": None, "narrow": ""}
    return {**base, "by": by, "cold us": cold, "warm us": warm, "misses": list(missed)}


def test_ours_is_compared_with_the_best_other_row() -> None:
    rows = compare(
        [timed("ours", 6.0, 5.0), timed("unfused", 12.0, 10.0), timed("triton", 8.0, 4.0), timed("iree", None, None)]
    )
    assert (rows[0]["ratio"], rows[0]["warm ratio"], rows[0]["best other"]) == (0.75, 1.25, "triton")
    assert all("ratio" not in row for row in rows[1:])
    assert "ratio" not in compare([timed("ours", 6.0, 5.0)])[0]


def test_the_verdict_counts_programs() -> None:
    rows = [*compare([timed("ours", 6.0, 5.0, "banks", l2=1.2), timed("triton", 8.0, 4.0, "spills")])]
    rows += [*compare([timed("ours", 8.0, 8.0), timed("triton", 8.0, 8.0)]), timed("ours", 1.0, 1.0)]
    lines = verdict(rows)
    assert lines[0].endswith("cold: of 2 programs 2 <= 1.0, 1 <= 0.8")
    assert lines[1].endswith("warm: of 2 programs 1 <= 1.0, 0 <= 0.8")
    assert lines[2].endswith(": 2 of 3")
    assert [line.split(" (")[0] for line in lines[3:]] == [
        "bytes: 3 of 3",
        "spills: 3 of 3",
        "banks: 2 of 3",
        "padding: 3 of 3",
        "narrow: 3 of 3",
    ]


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


def half(seed: int, *shape: int) -> Any:
    """Halves near 0, of weights near 1/4, so that errors of results stay near 2**-11 of them."""
    return (np.random.default_rng(seed).standard_normal(shape) / 4).astype(np.float16)


def close(found: Any, wanted: Any) -> None:
    """Inputs and results are halves, intermediate ones at best: four roundings of 2**-11, relative to the size of the terms."""
    np.testing.assert_allclose(found, wanted, rtol=4e-3, atol=4e-3)


def wide(*arrays: Any) -> list[Any]:
    return [a.astype(np.float64) for a in arrays]


@pytest.mark.extras
@pytest.mark.parametrize(
    ("rows", "cut"),
    [
        (8, {}),
        (16, {}),
        (8, {"swap": False}),
        (8, {"swap": False, "gram": True}),
        (8, {"swap": False, "n": 8}),
        (16, {"swap": False, "n": 8, "warps": 1, "gram": True}),
        (8, {"n": 32, "warps": 4, "chunk": 64}),
    ],
)
@pytest.mark.parametrize(("norm", "k_inside", "packed"), [("", False, False), ("rms", True, False), ("", False, True)])
def test_peers_of_gated_products(rows: int, cut: dict[str, Any], norm: str, k_inside: bool, packed: bool) -> None:
    """``silu(x w) * (x v)``, x normalised or not, at small sizes against NumPy in f64."""
    pytest.importorskip("triton")
    from peers.table import Tile, linear

    x, w, v = half(1, rows, 256), half(2, 256, 64), half(3, 256, 64)
    x64, w64, v64 = wide(x, w, v)
    first, second = (((normed(x64) if norm else x64) @ m) for m in (w64, v64))
    form = {"norm": norm, "gate": True, "act": "silu", "k_inside": k_inside, "packed": packed}
    launches = linear(rows, 256, 64, Tile(**{"k": 64, "stages": 2, **cut}), **form)
    lie = np.ascontiguousarray(np.concatenate([w, v], axis=1)) if packed else w.T.copy() if k_inside else w
    (out,) = run_peer(launches, {"x": x, "w": lie, "v": v.T.copy() if k_inside else v}, "out")
    close(out, first / (1 + np.exp(-first)) * second)


@pytest.mark.extras
@pytest.mark.parametrize("swap", [False, True])
def test_peers_of_layers_in_a_row(swap: bool) -> None:
    """LayerNorm with weights before a product; a product with weights of RMSNorm; two layers with GELU, and a residual."""
    pytest.importorskip("triton")
    from peers.table import Tile, linear, mlp

    tile = Tile(k=64, stages=2, swap=swap)
    x, w, gain, shift = half(4, 8, 256), half(5, 256, 64), half(6, 256), half(7, 256)
    x64, w64, gain64, shift64 = wide(x, w, gain, shift)
    centred = x64 - x64.mean(axis=1, keepdims=True)
    wanted = (centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * gain64 + shift64) @ w64
    given = {"x": x, "w": w, "gain": gain, "shift": shift}
    (out,) = run_peer(linear(8, 256, 64, tile, norm="layer", gain=True, eps=1e-5), given, "out")
    close(out, wanted)
    (out,) = run_peer(linear(8, 256, 64, tile, norm="rms", gain=True), given, "out")
    close(out, (normed(x64) * gain64) @ w64)

    down = half(8, 64, 256)
    hidden = x64 @ w64
    hidden = 0.5 * hidden * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2)))
    for splits in (1, 2):
        second = Tile(k=32, stages=2, swap=swap, splits=splits)
        launches = mlp(8, 256, 64, tile, second, gate=False, act="gelu", rest=True)
        (out,) = run_peer(launches, {"rest": x, "w": w, "down": down}, "out")
        close(out, hidden @ down.astype(np.float64) + x64)


@pytest.mark.extras
@pytest.mark.parametrize("swap", [False, True])
def test_peers_of_several_products_of_one_input(swap: bool) -> None:
    """Low-rank weights beside full ones, and three products of different widths after RMSNorm."""
    pytest.importorskip("triton")
    from peers.table import Tile, lora, norm_qkv

    tile = Tile(k=64, stages=2, swap=swap)
    given = {"x": half(9, 16, 256), "w": half(10, 256, 64), "down": half(11, 256, 16), "up": half(12, 16, 64)}
    x64, w64, down64, up64 = wide(*given.values())
    (out,) = run_peer(lora(16, 256, 64, 16, tile), given, "out")
    close(out, x64 @ w64 + x64 @ down64 @ up64)

    given = {"x": half(13, 8, 256), "wq": half(14, 256, 64), "wk": half(15, 256, 32), "wv": half(16, 256, 32)}
    x64, *weights = wide(*given.values())
    for out, weight in zip(run_peer(norm_qkv(8, 256, 64, 32, tile), given, "q", "k", "v"), weights, strict=True):
        close(out, normed(x64) @ weight)


@pytest.mark.extras
def test_the_peer_of_rms_norm() -> None:
    pytest.importorskip("triton")
    from peers.table import rms_norm

    x, gain = half(17, 4, 256), half(18, 256)
    (out,) = run_peer(rms_norm(4, 256, 2), {"x": x, "gain": gain}, "out")
    x64, gain64 = wide(x, gain)
    close(out, normed(x64) * gain64)


ATTENTION: list[tuple[int, dict[str, Any], dict[str, Any]]] = [
    (3, {"parts": 4, "n": 32}, {"norm": True}),
    (3, {"n": 32}, {}),
    (16, {"slices": 2, "n": 32}, {"mask": True}),
    (24, {"parts": 2, "n": 32}, {"mask": True}),
    (128, {"m": 32, "n": 32}, {"causal": True}),
    (128, {"m": 16, "n": 32, "parts": 2}, {"causal": True}),
    (1, {"parts": 5, "n": 32}, {"more": 32}),
    (1, {"slices": 4, "n": 32}, {"more": 32}),
]


@pytest.mark.extras
@pytest.mark.parametrize(("rows", "cut", "form"), ATTENTION)
def test_peers_of_attention(rows: int, cut: dict[str, Any], form: dict[str, Any]) -> None:
    """Two heads, 128 keys and more, against the softmax of all scores."""
    pytest.importorskip("triton")
    from peers.table import Cut, attention

    given = attention_inputs(rows, form.get("more", 0))
    (out,) = run_peer(attention(2, rows, 128, 64, Cut(**cut), scale=0.5, **form), given, "out")
    close(out, softmax_attention(given, **form))


@pytest.mark.extras
@pytest.mark.parametrize(
    ("cut", "form"),
    [
        ({"slices": 2}, {}),
        ({"slices": 2}, {"more": 32}),
        ({"parts": 4}, {"norm": True}),
        ({"parts": 5}, {"more": 32}),
    ],
)
def test_peers_of_attention_of_one_row(cut: dict[str, Any], form: dict[str, Any]) -> None:
    pytest.importorskip("triton")
    from peers.table import Cut, row_attention

    given = attention_inputs(1, form.get("more", 0))
    (out,) = run_peer(row_attention(2, 128, 64, Cut(n=32, **cut), scale=0.5, **form), given, "out", race=False)
    close(out, softmax_attention(given, **form))


def attention_inputs(rows: int, more: int) -> dict[str, Any]:
    given = {"q": 4 * half(19, 2, rows, 64), "k": half(20, 2, 128, 64), "v": half(21, 2, 128, 64)}
    if more:
        given |= {"more_k": half(22, 2, more, 64), "more_v": half(23, 2, more, 64)}
    return {**given, "mask": 8 * half(24, rows, 128)}


def softmax_attention(
    given: dict[str, Any], *, norm: bool = False, causal: bool = False, mask: bool = False, more: int = 0
) -> Any:
    q, k, v, bias = wide(*(given[name] for name in ("q", "k", "v", "mask")))
    if more:
        k, v = (
            np.concatenate([a, given[name].astype(np.float64)], axis=1) for a, name in ((k, "more_k"), (v, "more_v"))
        )
    scores = 0.5 * (normed(q) if norm else q) @ k.transpose(0, 2, 1)
    if mask:
        scores = scores + bias
    if causal:
        scores = np.where(np.arange(k.shape[1]) <= np.arange(q.shape[1])[:, None], scores, -np.inf)
    p = np.exp(scores)
    return p / p.sum(axis=2, keepdims=True) @ v


def normed(x: Any) -> Any:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)


def run_peer(launches: Any, given: dict[str, Any], *results: str, race: bool = True) -> list[Any]:
    """``race``: off where threads of Triton's store copies of a sum that they contracted differently, all of them good."""
    buffers = dict(given)
    for one in launches:
        arguments: list[Any] = []
        for a in one.arguments:
            arguments.append(buffers.setdefault(a[0], np.zeros(a[1], a[2])) if isinstance(a, tuple) else a)
        arguments += [np.zeros(1, np.uint8)] * one.compiled.hidden
        kernel = Module.load(one.compiled.ptx).kernel(one.compiled.entry)
        kernel.run(
            grid=one.grid,
            block=one.compiled.block,
            args=arguments,
            shared_bytes=one.compiled.shared_bytes,
            checks=Checks(race=race),
        )
    return [buffers[name].astype(np.float64) for name in results]


# What of IREE's phase ``executable-targets`` is read, for two launches of one kernel and a program of constants before them.
IREE_MODULE = """
hal.executable private @part {
  hal.executable.variant public @cuda_nvptx_fb target(#executable_target_cuda_nvptx_fb) {
    hal.executable.export public @twice ordinal(0) layout(#layout) count(%arg0: !hal.device) -> (index, index, index) {
      %c8 = arith.constant 8 : index
      %c1 = arith.constant 1 : index
      hal.return %c8, %c1, %c1 : index, index, index
    } <workgroup_size = [64 : index, 2 : index, 1 : index], subgroup_size = 32, workgroup_local_memory = 48>
  }
}
util.func private @constants() {
  stream.cmd.dispatch @part::@cuda_nvptx_fb::@twice {
    ro %arg0[%c0 for %c4] : !stream.resource<constant>{%c4}
  }
}
util.func public @main() {
  stream.cmd.dispatch @part::@cuda_nvptx_fb::@twice(%c0_i32 : i32) {
    ro %arg3[%c0 for %c512] : !stream.resource<external>{%c512},
    wo %arg5[%c0 for %c1024_0] : !stream.resource<transient>{%c1024_0}
  }
  stream.cmd.dispatch @part::@cuda_nvptx_fb::@twice(%c64_i32 : i32) {
    ro %arg4[%c0 for %c512] : !stream.resource<external>{%c512},
    wo %arg5[%c0 for %c1024_0] : !stream.resource<transient>{%c1024_0}
  }
}
"""
IREE_PTX = """.version 7.6
.visible .entry other(
\t.param .u64 .ptr .global .align 16 other_param_0
)
{
\tret;
}
.visible .entry twice(
\t.param .u64 .ptr .global .align 16 twice_param_0,
\t.param .u64 .ptr .global .align 16 twice_param_1,
\t.param .u32 twice_param_2
)
{
\tret;
}
"""


def test_launches_are_read_out_of_what_iree_writes() -> None:
    from peers.iree import launches

    first, second = launches(IREE_MODULE, IREE_PTX)
    assert (first.entry, first.grid, first.block, first.shared_bytes) == ("twice", (8, 1, 1), (64, 2, 1), 48)
    assert first.buffers == (("%arg3", 512), ("%arg5", 1024))
    assert second.buffers == (("%arg4", 512), ("%arg5", 1024))
    assert (first.numbers, second.numbers) == ((0,), (64,))
    assert first.ptx.startswith(".version 7.6") and "twice_param_2" in first.ptx and "other" not in first.ptx


def test_launches_of_sizes_that_are_not_constant_are_refused() -> None:
    from peers.iree import launches

    with pytest.raises(ValueError, match="%n is known at run time only"):
        launches(IREE_MODULE.replace("hal.return %c8", "hal.return %n"), IREE_PTX)
    with pytest.raises(ValueError, match="a pointer of twice starts inside its buffer"):
        launches(IREE_MODULE.replace("%arg5[%c0", "%arg5[%c64"), IREE_PTX)
    with pytest.raises(ValueError, match="twice has 2 parameters, 2 buffers and 1 numbers are given"):
        launches(IREE_MODULE, IREE_PTX.replace(",\n\t.param .u32 twice_param_2", ""))


@pytest.mark.extras
def test_launches_of_iree_compute_the_program(tmp_path: Path) -> None:
    """RMSNorm and three products at small sizes, on the buffers and in the order that were read out, against NumPy in f64.

    The first launch normalises, and each of the others multiplies by weights of its own into a part of one buffer.
    """
    from peers.iree import COMPILE, compile_program

    if not COMPILE.exists():
        pytest.skip("the wheel iree-base-compiler is not installed")
    text = (Path(__file__).resolve().parents[1] / "inputs" / "programs" / "rms_norm_qkv.mlir").read_text()
    small = text.replace("1.024000e+03", "1.28e+02").replace("1024", "128").replace("256", "64")
    (path := tmp_path / "small.mlir").write_text(small)
    found = compile_program(path)
    x, weights = half(30, 8, 128), [half(31, 128, 128), half(32, 128, 64), half(33, 128, 64)]
    buffers = {name: np.zeros(size, np.uint8) for one in found for name, size in one.buffers}
    buffers[found[0].buffers[0][0]][:] = x.reshape(-1).view(np.uint8)
    for one, weight in zip(found[1:], weights, strict=True):
        buffers[one.buffers[1][0]][:] = weight.reshape(-1).view(np.uint8)
    for one in found:
        arguments = [*(buffers[name] for name, _ in one.buffers), *one.numbers]
        kernel = Module.load(one.ptx).kernel(one.entry)
        kernel.run(grid=one.grid, block=one.block, args=arguments, shared_bytes=one.shared_bytes)
    results = buffers[found[1].buffers[2][0]].view(np.float16).astype(np.float64)
    x64 = normed(x.astype(np.float64))
    close(results[: 8 * 128].reshape(8, 128), x64 @ weights[0].astype(np.float64))
    for start, weight in ((8 * 128, weights[1]), (8 * 192, weights[2])):
        close(results[start : start + 8 * 64].reshape(8, 64), x64 @ weight.astype(np.float64))
