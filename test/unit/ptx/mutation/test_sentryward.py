"""A second opinion on races from SentryWard, a static verifier of PTX (PyPI: sentryward).

It decides for one launch whether every two conflicting accesses to shared and global memory are ordered in every schedule, and
whether barriers match. It says nothing of bounds, alignment and undefined data. On every kernel below that it decides, it agrees
with the machine about races, copies and barriers, except:

- Threads that store one value to one place in one instruction (in Triton's reductions all lanes of a warp do). SentryWard counts
  any two unordered stores as a race; the machine allows equal values, since it makes no difference which one lands. Where only
  lane 0 stores, both agree.
- Threads of a block that touch one word of *global* memory. SentryWard reports the race; the machine does not look for races
  between threads of one block there (``harness/ptx_order.py`` does, for mutants).
- A barrier after some threads have left. SentryWard waits for them for ever; the machine, like GPUs, does not count threads that
  have exited.

What it does not decide, by name: ``functions`` and ``histogram-i32`` (control flow that depends on data), ``split_k-f16-f32``
(atomic additions: any ``red`` or ``atom``), blocks that are no whole warps. ``skinny_gemm`` and ``triton_matmul`` take more than
100 s.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.ptx_cases import Case, cases
from harness.ptx_judge import CAUGHT, SYNCHRONISATION, observe
from harness.ptx_mutants import Mutant, mutants
from ptx_harness import kernel, launch
from test_checks import BUF, COPY, EXCHANGE, SETUP, TWO

from prism_mlir.runtime.ptx import CheckError
from prism_mlir.runtime.ptx.program import Param

sentryward = pytest.importorskip("sentryward", reason="the wheel sentryward is not installed")
pytestmark = pytest.mark.extras

ONE = ".param .u64 p0"
BAR = "bar.sync 0;"
WARP = EXCHANGE.replace("63", "31")
REREAD = (
    SETUP + "st.shared.b32 [%rd3], %r1; bar.sync 0; ld.shared.b32 %r3, [%rd4]; {sync} st.shared.b32 [%rd3], %r3; ret;"
)
SECOND = (
    SETUP
    + """setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%rd2], 5; bar.sync 0; ld.shared.b32 %r3, [%rd2];
  @%p1 ld.shared.b32 %r3, [%rd2]; {sync} @%p1 st.shared.b32 [%rd2], 6; ret;"""
)
CELL = "mov.u64 %rd2, buf; {guard} st.shared.b32 [%rd2], {value}; ret;"
HALVES = """cvt.u16.u32 %h1, %r1; mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 2, %rd2; st.shared.b16 [%rd3], %h1; bar.sync 0;
  ld.shared.b16 %h2, [%rd3]; st.shared.b16 [%rd3], %h2; ret;"""
OVERLAP = """mov.u64 %rd2, buf; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 1; mov.b16 %h1, 3;
  @%p1 st.shared.b32 [%rd2], 7; @%p2 st.shared.b16 [%rd2+2], %h1; ret;"""
ARRIVE = """mov.u64 %rd2, buf; and.b32 %r2, %r1, 31; mad.wide.u32 %rd3, %r2, 4, %rd2; setp.ge.u32 %p1, %r1, 32;
  @!%p1 st.shared.u32 [%rd3], 0; bar.sync 0; @%p1 bra CONSUMER; {first} bar.arrive 1, 64; {second} ret;
  CONSUMER: bar.sync 1, 64; ld.shared.u32 %r5, [%rd3]; ret;"""
FILL = "st.shared.u32 [%rd3], %r1;"
GLOBAL = "mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], %r1; ret;"
DIVERGED = "setp.lt.u32 %p1, %r1, 16; @%p1 bra IN; bra OUT; IN: bar.sync 0; OUT: bar.sync 0; ret;"
NEVER = "setp.lt.u32 %p1, %r1, 32; @%p1 bra IN; bar.sync 1; ret; IN: bar.sync 0; ret;"

# body, parameters, threads, blocks, what both say: "" for a clean kernel.
AGREED: list[tuple[str, str, int, int, str]] = [
    (EXCHANGE.format(sync=""), ONE, 64, 1, "race"),
    (EXCHANGE.format(sync=BAR), ONE, 64, 1, ""),
    (EXCHANGE.format(sync="bar.warp.sync -1;"), ONE, 64, 1, "race"),
    (WARP.format(sync=""), ONE, 32, 1, "race"),
    (WARP.format(sync="bar.warp.sync 0xffffffff;"), ONE, 32, 1, ""),
    (WARP.format(sync="shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;"), ONE, 32, 1, "race"),
    (REREAD.format(sync=""), ONE, 64, 1, "race"),
    (REREAD.format(sync=BAR), ONE, 64, 1, ""),
    (SECOND.format(sync=""), ONE, 64, 1, "race"),
    (SECOND.format(sync=BAR), ONE, 64, 1, ""),
    (CELL.format(guard="", value="%r1"), ONE, 32, 1, "race"),
    (CELL.format(guard="setp.eq.u32 %p1, %r1, 0; @%p1", value="%r1"), ONE, 64, 1, ""),
    (HALVES, ONE, 64, 1, ""),
    (OVERLAP, ONE, 32, 1, "race"),
    (COPY.format(wait="", other=0), TWO, 32, 1, "async_copy"),
    (COPY.format(wait="cp.async.wait_group 2;", other=0), TWO, 32, 1, "async_copy"),
    (COPY.format(wait=BAR, other=0), TWO, 32, 1, "async_copy"),
    (COPY.format(wait="cp.async.wait_group 1;", other=0), TWO, 32, 1, ""),
    (COPY.format(wait="cp.async.wait_all;", other=0), TWO, 32, 1, ""),
    (COPY.format(wait="cp.async.wait_group 1;", other=3), TWO, 32, 1, "race"),
    (COPY.format(wait="cp.async.wait_group 1;" + BAR, other=3), TWO, 32, 1, ""),
    (ARRIVE.format(first=FILL, second=""), ONE, 64, 1, ""),
    (ARRIVE.format(first="", second=FILL), ONE, 64, 1, "race"),
    (GLOBAL, ONE, 32, 1, ""),
    (GLOBAL, ONE, 32, 2, "cross_block"),
    (DIVERGED, ONE, 64, 1, "barrier"),
    (NEVER, ONE, 64, 1, "barrier"),
]
THEIRS = {"": "race_free", "race": "potential_race", "async_copy": "potential_race", "cross_block": "potential_race",
          "barrier": "not_wellsynced"}  # fmt: skip
# The disagreements of the module's text; the machine finds nothing.
DISAGREED = [
    (CELL.format(guard="", value="7"), ONE, 32, 1, "potential_race"),
    (CELL.format(guard="", value="7"), ONE, 64, 1, "potential_race"),
    ("st.global.b32 [%rd1], %r1; ret;", ONE, 64, 1, "potential_race"),
    ("setp.lt.u32 %p1, %r1, 32; @%p1 exit; bar.sync 0; ret;", ONE, 64, 1, "not_wellsynced"),
]


def opinion(folder: Path, text: str, grid: int, block: int, shared: int, params: list[tuple[Param | str, Any]]) -> str:
    """SentryWard's verdict on a launch; ``params``: parameters with their arguments (any array for a pointer)."""
    (folder / "kernel.ptx").write_text(text)
    config: dict[str, Any] = {
        "schema": "spverify.kernel-input/v1",
        "launch": {"grid_dim": [grid, 1, 1], "block_dim": [block, 1, 1], "dynamic_shared_bytes": shared},
        "declarations": [{"parameter": p if isinstance(p, str) else p.name, "type": "pointer"}
                         for p, a in params if isinstance(a, np.ndarray)],
        "arguments": [{"parameter": p.name, "type": p.scalar.name, "value": a.item() if isinstance(a, np.generic) else a}
                      for p, a in params if isinstance(p, Param) and not isinstance(a, np.ndarray)],
    }  # fmt: skip
    (folder / "input.json").write_text(json.dumps(config))
    result: str = sentryward.verify(folder / "kernel.ptx", input=folder / "input.json", timeout_seconds=300)["result"]
    return result


def machine(text: str, params: str, block: int, grid: int) -> str:
    """The check that a kernel on arrays of 128 numbers fails, or ""."""
    try:
        launch(text, [np.arange(128, dtype=np.uint32) for _ in range(params.count(".param"))], block, grid)
    except CheckError as error:
        return error.kind
    return ""


@pytest.mark.parametrize("row", [*AGREED, *DISAGREED])
def test_small_kernels(row: tuple[str, str, int, int, str], tmp_path: Path) -> None:
    body, params, block, grid, expected = row
    text = kernel(body, params, BUF)
    pointers: list[tuple[Param | str, Any]] = [(f"p{n}", np.zeros(0)) for n in range(params.count(".param"))]
    ours, theirs = ("", expected) if row in DISAGREED else (expected, THEIRS[expected])
    assert machine(text, params, block, grid) == ours
    assert opinion(tmp_path, text, grid, block, 0, pointers) == theirs


CASES = {c.name: c for c in cases()}
CLEAN = ["dropout-f32", "iree-convolution", "emitted_rms_norm_whole", "emitted_swiglu_f32"]
ONE_LANE = {  # the stores that all lanes of a warp make, and the register with the number of the thread
    "triton_softmax": (["st.shared.b32 \t[%r50], %r46;", "st.shared.b32 \t[%r50], %r99;"], "%r20"),
}


def one_block(case: Case, text: str, folder: Path) -> str:
    """The verdict on the first block of a case's launch."""
    run = case.launches[0]
    return opinion(
        folder, text, 1, run.block[0], run.shared_bytes, list(zip(case.kernel.params, run.args, strict=True))
    )


def without(case: Case, m: Mutant) -> str:
    """The text of a kernel without the instruction that a mutant leaves out."""
    lines = case.text.splitlines(keepends=True)
    start = sum(map(len, lines[: m.location.line - 1])) + m.location.col - 1
    return case.text[:start] + case.text[case.text.index(";", start) + 1 :]


@pytest.mark.parametrize("name", CLEAN)
def test_whole_kernels_and_mutants(name: str, tmp_path: Path) -> None:
    """Both find nothing in the kernel, and the same in its mutants without a barrier, a wait or a group."""
    case = CASES[name]
    assert one_block(case, case.text, tmp_path) == "race_free"
    for m in mutants(case.kernel):
        if m.kind in SYNCHRONISATION and m.dropped:
            found = observe(case, m)
            caught = found is not None and found.outcome == CAUGHT and found.by in ("race", "async_copy")
            assert one_block(case, without(case, m), tmp_path) == ("potential_race" if caught else "race_free"), str(m)


@pytest.mark.parametrize("name", ["triton_softmax", "layer_norm-f16", "softmax_online-f32"])
def test_reductions_in_which_all_lanes_store(name: str, tmp_path: Path) -> None:
    assert one_block(CASES[name], CASES[name].text, tmp_path) == "potential_race"


def test_both_agree_where_one_lane_stores(tmp_path: Path) -> None:
    case = CASES["triton_softmax"]
    stores, thread = ONE_LANE["triton_softmax"]
    for dropped in (None, *(m for m in mutants(case.kernel) if m.kind == "barrier")):
        text = case.text if dropped is None else without(case, dropped)
        for store in stores:
            assert store in text
            text = text.replace(store, f"and.b32 %lane, {thread}, 31; setp.eq.u32 %first, %lane, 0; @%first {store}")
        text = text.replace(".reg .pred", ".reg .pred %first; .reg .b32 %lane; .reg .pred", 1)
        assert one_block(case, text, tmp_path) == ("race_free" if dropped is None else "potential_race")


@pytest.mark.parametrize("name", ["functions", "histogram-i32", "split_k-f16-f32"])
def test_not_supported(name: str, tmp_path: Path) -> None:
    assert one_block(CASES[name], CASES[name].text, tmp_path) == "unsupported"
