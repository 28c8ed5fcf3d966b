"""What the fast engine does not finish, the reference engine does from the start: results, reports, reasons."""

from __future__ import annotations

import dataclasses
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ptx_control_flow import VARIABLES, SmallProgram
from ptx_harness import HEADER, kernel, launch

from prism_mlir.runtime.ptx import CheckError, Checks, LaunchError, Module, RuntimeLimit, TrapError
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

STORE = "mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r2;"
GEMM = (Path(__file__).parents[1] / "data" / "skinny_gemm.ptx").read_text()


TWO_STORES = f"""mad.wide.u32 %rd2, %r1, 4, %rd1; ld.global.u32 %r2, [%rd2]; add.u32 %r2, %r2, 1; {STORE}
  and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; {{leave}} add.u32 %r2, %r2, 1; {STORE} SKIP: ret;"""


def test_divergence_at_a_barrier_is_left_to_the_reference_engine() -> None:
    """Threads store 2, half of them leave, the others add. Had the first attempt not been undone, the sums would be larger."""
    out = np.ones(64, np.uint32)
    result = launch(kernel(TWO_STORES.format(leave="@%p1 exit; bar.sync 0;")), [out], block=64, engine="fast")
    assert result.engine == "reference" and "different ways" in result.fallback_reason
    assert "k.ptx:" in result.fallback_reason and "exit" in result.fallback_reason
    assert out.tolist() == [2, 3] * 32


def test_threads_that_meet_again_stay_in_the_fast_engine() -> None:
    out = np.ones(64, np.uint32)
    result = launch(kernel(TWO_STORES.format(leave="@%p1 bra SKIP;")), [out], block=64, engine="fast")
    assert result.engine == "fast" and result.counters.divergent_branches == 2
    assert out.tolist() == [2, 3] * 32
    assert result.counters.global_store_bytes == 4 * (64 + 32)


def test_early_exits_without_barriers() -> None:
    """The usual guard of a kernel whose data do not fill its last warp."""
    out = np.zeros(64, np.uint32)
    result = launch(
        kernel(f"setp.ge.u32 %p1, %r1, 50; @%p1 ret; mov.u32 %r2, 4; {STORE} ret;"), [out], block=64, engine="fast"
    )
    assert result.engine == "fast" and out.tolist() == [4] * 50 + [0] * 14


def test_warps_that_go_different_ways_do_not_diverge() -> None:
    text = kernel(f"setp.gt.u32 %p1, %r1, 31; mov.u32 %r2, 5; @%p1 bra L; mov.u32 %r2, 9; L: {STORE} ret;")
    out = np.zeros(96, np.uint32)
    result = launch(text, [out], block=96, engine="fast")
    assert result.engine == "fast" and result.fallback_reason == ""
    assert out.tolist() == [9] * 32 + [5] * 64


def test_a_guard_is_no_divergence() -> None:
    text = kernel("""and.b32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 0; mov.u32 %r2, 1; @%p1 mov.u32 %r2, 7;
      mad.wide.u32 %rd2, %r1, 4, %rd1; @!%p1 st.global.u32 [%rd2], %r2; ret;""")
    out = np.full(64, 99, np.uint32)
    result = launch(text, [out], block=64, engine="fast")
    assert result.engine == "fast"
    assert out.tolist() == [99, 1, 1, 1] * 16
    text = kernel("setp.lt.u32 %p1, %r1, 5; mov.u32 %r2, 1; @%p1 mov.u32 %r2, 7; mad.wide.u32 %rd2, %r1, 4, %rd1; "
                  "@%p1 st.global.u32 [%rd2], %r2; ret;")  # fmt: skip
    out = np.zeros(64, np.uint32)
    assert launch(text, [out], block=64, engine="fast").counters.global_store_bytes == 5 * 4
    assert out.tolist() == [7] * 5 + [0] * 59


def test_a_last_warp_that_is_not_whole() -> None:
    out = np.zeros(64, np.uint32)
    result = launch(kernel(f"mov.u32 %r2, 3; {STORE} ret;"), [out], block=40, engine="fast")
    assert result.engine == "fast" and out.tolist() == [3] * 40 + [0] * 24
    assert result.counters.global_store_bytes == 160 and result.counters.thread_instructions == 40 * 6


@pytest.mark.parametrize(("code", "what"), [
    ("atom.global.add.u32 %r2, [%rd1], 1; st.global.u32 [%rd1+4], %r2; red.global.max.u32 [%rd1], 9;", "atom.global.add.u32"),
    ("L: atom.global.cas.b32 %r2, [%rd1], 0, 1; setp.ne.u32 %p2, %r2, 0; atom.global.exch.b32 %r3, [%rd1], 0; @%p2 bra L;",
     "atom.global.cas.b32"),
    ("@%p1 bra L; mov.u32 %r2, 1; L: mov.u32 %r2, %clock; st.global.u32 [%rd1], %r2;", "mov.u32"),
    ("ld.volatile.global.u32 %r2, [%rd1];", "ld.volatile.global.u32"),
])  # fmt: skip
def test_what_is_not_compiled_is_named(code: str, what: str) -> None:
    out = np.zeros(64, np.uint32)
    result = launch(
        kernel(f"setp.eq.u32 %p1, %r1, 0; {code} ret;"), [out], block=64, engine="auto", checks=Checks.none()
    )
    assert result.engine == "reference" and what in result.fallback_reason


def test_bounds_are_reported_in_full() -> None:
    with pytest.raises(CheckError) as caught:
        launch(kernel(f"mov.u32 %r2, 3; {STORE} ret;"), [np.zeros(63, np.uint32)], block=64, engine="fast")
    assert caught.value.kind == "bounds" and caught.value.threads == (((0, 0, 0), (63, 0, 0)),)
    assert caught.value.address == "p0+252 of 252 bytes"


def test_reads_outside_give_zero_when_bounds_are_off() -> None:
    source, out = np.full(40, 7, np.uint32), np.ones(64, np.uint32)
    text = kernel("ld.param.u64 %rd3, [p1]; mad.wide.u32 %rd4, %r1, 4, %rd3; ld.global.u32 %r2, [%rd4]; " + STORE,
                  ".param .u64 p0, .param .u64 p1")  # fmt: skip
    result = launch(text, [out, source], block=64, engine="fast", checks=Checks.none())
    assert result.engine == "reference" and "outside" in result.fallback_reason
    assert out.tolist() == [7] * 40 + [0] * 24


def test_a_store_to_constant_memory_is_out_of_bounds() -> None:
    out = np.zeros(64, np.uint32)
    out.flags.writeable = False
    with pytest.raises(CheckError) as caught:
        launch(kernel(f"mov.u32 %r2, 3; {STORE} ret;"), [out], block=64, engine="fast")
    assert caught.value.kind == "bounds"


def test_misaligned_accesses() -> None:
    text = kernel("mad.wide.u32 %rd2, %r1, 4, %rd1; ld.global.u32 %r2, [%rd2+2]; st.global.u16 [%rd2], %r2; ret;")
    text = text.replace("st.global.u16 [%rd2], %r2", "cvt.u16.u32 %h1, %r2; st.global.u16 [%rd2], %h1")
    data = np.arange(66, dtype=np.uint32)
    with pytest.raises(CheckError) as caught:
        launch(text, [data], block=64, engine="fast")
    assert caught.value.kind == "alignment"
    plain = np.arange(66, dtype=np.uint32)
    checks = dataclasses.replace(FAST_CHECKS, alignment=False, cross_block=False)
    assert launch(text, [plain], block=64, engine="fast", checks=checks).engine == "fast"


RACE = """mov.u64 %rd5, s; mad.wide.u32 %rd6, %r1, 4, %rd5; st.shared.u32 [%rd6], %r1; {between}
  xor.b32 %r3, %r1, 32; mad.wide.u32 %rd7, %r3, 4, %rd5; ld.shared.u32 %r2, [%rd7]; """


def test_shared_memory_races_are_found() -> None:
    shared = ".shared .align 16 .b8 s[256];"
    good = kernel(RACE.format(between="bar.sync 0;") + STORE, shared=shared)
    out = np.zeros(64, np.uint32)
    assert launch(good, [out], block=64, engine="fast").engine == "fast"
    assert out.tolist() == [t ^ 32 for t in range(64)]
    bad = kernel(RACE.format(between="") + STORE, shared=shared)
    with pytest.raises(CheckError) as caught:
        launch(bad, [out], block=64, engine="fast")
    assert caught.value.kind == "race"


def test_a_write_after_a_read_is_a_race() -> None:
    code = """mov.u64 %rd5, s; mad.wide.u32 %rd6, %r1, 4, %rd5; st.shared.u32 [%rd6], %r1; bar.sync 0;
      ld.shared.u32 %r2, [%rd5+128]; setp.eq.u32 %p1, %r1, 32; {between} @%p1 st.shared.u32 [%rd5+128], %r1; """
    shared = ".shared .align 16 .b8 s[256];"
    out = np.zeros(64, np.uint32)
    good = kernel(code.format(between="bar.sync 0;") + STORE, shared=shared)
    assert launch(good, [out], block=64, engine="fast").engine == "fast"
    with pytest.raises(CheckError) as caught:
        launch(kernel(code.format(between="") + STORE, shared=shared), [out], block=64, engine="fast")
    assert caught.value.kind == "race"


def test_lanes_may_store_one_value_to_one_place() -> None:
    code = "mov.u64 %rd5, s; {value} st.shared.u32 [%rd5], %r3; ld.shared.u32 %r2, [%rd5+4]; "
    shared = ".shared .align 16 .b8 s[256];"
    same = kernel(code.format(value="mov.u32 %r3, 5;") + STORE, shared=shared)
    out = np.zeros(32, np.uint32)
    assert launch(same, [out], block=32, engine="fast").engine == "fast"
    with pytest.raises(CheckError) as caught:
        launch(kernel(code.format(value="mov.u32 %r3, %r1;") + STORE, shared=shared), [out], block=32, engine="fast")
    assert caught.value.kind == "race"


def test_warp_barriers_order_what_lanes_do() -> None:
    code = RACE.replace("xor.b32 %r3, %r1, 32", "xor.b32 %r3, %r1, 1")
    shared = ".shared .align 16 .b8 s[256];"
    out = np.zeros(32, np.uint32)
    result = launch(
        kernel(code.format(between="bar.warp.sync -1;") + STORE, shared=shared), [out], block=32, engine="fast"
    )
    assert result.engine == "fast" and out.tolist() == [t ^ 1 for t in range(32)]
    with pytest.raises(CheckError) as caught:
        launch(kernel(code.format(between="") + STORE, shared=shared), [out], block=32, engine="fast")
    assert caught.value.kind == "race"
    # One warp's barrier says nothing of another warp.
    with pytest.raises(CheckError) as caught:
        launch(kernel(RACE.format(between="bar.warp.sync -1;") + STORE, shared=shared), [out], block=64, engine="fast")
    assert caught.value.kind == "race"


def test_conflicts_between_blocks_are_found() -> None:
    with pytest.raises(CheckError) as caught:
        launch(
            kernel(f"mov.u32 %r2, %ctaid.x; {STORE} ret;"), [np.zeros(64, np.uint32)], grid=2, block=64, engine="fast"
        )
    assert caught.value.kind == "cross_block"


@pytest.mark.parametrize(("old", "new", "kinds"), [
    ("\tbar.sync \t0;\n", "", {"race"}),
    ("setp.gt.u64 \t%p3, %rd119, 60;", "setp.gt.u64 \t%p3, %rd119, 61;", {"bounds"}),
    ("mul.wide.u32 \t%rd5, %r1, 64;", "mul.wide.u32 \t%rd5, %r1, 32;", {"cross_block"}),
])  # fmt: skip
def test_mutants_of_a_gemm_are_caught(old: str, new: str, kinds: set[str]) -> None:
    x, w, out = np.ones((8, 4096), np.float16), np.ones((4096, 4096), np.float16), np.zeros((8, 4096), np.float16)
    with pytest.raises(CheckError) as caught:
        Module.load(GEMM.replace(old, new)).kernel("k").run(grid=(64,), block=(128,), args=[x, w, out], engine="fast")
    assert caught.value.kind in kinds


def test_copies_land_when_they_are_waited_for() -> None:
    """Without the wait the old content is read, on both engines; many copies in flight only need a longer queue."""
    code = """.reg .b32 %i; mov.u64 %rd5, s; mad.wide.u32 %rd6, %r1, 16, %rd5; mad.wide.u32 %rd7, %r1, 16, %rd1;
      st.shared.u32 [%rd6], 77; mov.u32 %i, 0;
      L: cp.async.cg.shared.global [%rd6], [%rd7], 16; cp.async.commit_group; add.u32 %i, %i, 1;
      setp.lt.u32 %p1, %i, 40; @%p1 bra L; {wait}
      ld.shared.u32 %r2, [%rd6]; ld.param.u64 %rd1, [p1]; """
    for wait, expected in (("", [77] * 32), ("cp.async.wait_all;", list(range(0, 128, 4)))):
        text = kernel(code.format(wait=wait) + STORE, ".param .u64 p0, .param .u64 p1", ".shared .align 16 .b8 s[512];")
        for engine in ("reference", "fast"):
            out = np.zeros(32, np.uint32)
            source = np.arange(128, dtype=np.uint32)
            assert launch(text, [source, out], engine=engine, checks=Checks.none()).engine == engine
            assert out.tolist() == expected


def test_without_llvmlite_the_reference_engine_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith("prism_mlir.runtime.ptx.jit")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.delattr("prism_mlir.runtime.ptx.jit", raising=False)
    out = np.zeros(32, np.uint32)
    result = launch(kernel(f"mov.u32 %r2, 3; {STORE} ret;"), [out], engine="fast")
    assert result.engine == "reference" and "llvmlite" in result.fallback_reason
    assert out.tolist() == [3] * 32


def test_endless_loops_end() -> None:
    with pytest.raises(RuntimeLimit) as caught:
        launch(kernel("L: bra L;"), [np.zeros(1, np.uint32)], engine="fast", max_steps=1000)
    assert "1000 instructions" in str(caught.value) and caught.value.location is not None


def test_traps() -> None:
    with pytest.raises(TrapError):
        launch(kernel("setp.eq.u32 %p1, %r1, 3; @%p1 trap; ret;"), [np.zeros(1, np.uint32)], engine="fast")


def test_warps_at_different_barriers() -> None:
    """Two barrier numbers: the warps never meet."""
    text = kernel("setp.gt.u32 %p1, %r1, 31; @%p1 bra B; bar.sync 1; bra E; B: bar.sync 2; E: ret;")
    with pytest.raises(CheckError) as caught:
        launch(
            text,
            [np.zeros(1, np.uint32)],
            block=64,
            engine="fast",
            checks=dataclasses.replace(Checks.none(), bounds=True),
        )
    assert caught.value.kind == "barrier"


def test_engines_that_do_not_fit() -> None:
    text, out = kernel("ret;"), [np.zeros(1, np.uint32)]
    with pytest.raises(LaunchError, match="unknown engine 'quick'"):
        launch(text, out, engine="quick")
    with pytest.raises(LaunchError, match="does not have: uninitialised"):
        launch(text, out, engine="fast", checks=Checks())
    with pytest.raises(LaunchError, match="detailed counters"):
        launch(text, out, engine="fast", detailed_counters=True)
    assert launch(text, out).engine == "reference"
    assert launch(text, out, engine="auto").engine == "reference"
    assert launch(text, out, engine="auto", checks=FAST_CHECKS).engine == "fast"
    assert HEADER in text


@pytest.mark.parametrize("shared", [False, True], ids=["apart", "together"])
@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int, shared: bool) -> None:
    """The random programs of the reference engine's tests, with values that differ from thread to thread, or (``shared``) only
    from warp to warp."""
    program = SmallProgram(random.Random(seed))
    interpret = program.body("START", "END", None, 3)
    body, declarations = program.text(), " ".join(program.declarations)
    values = ", ".join(f"%v{i}" for i in range(VARIABLES))
    start = " ".join(f"mad.lo.u32 %v{i}, %r6, {7 * i + 3}, {i}; and.b32 %v{i}, %v{i}, 255;" for i in range(VARIABLES))
    stores = " ".join(f"st.global.b32 [%rd1+{4 * i}], %v{i};" for i in range(VARIABLES))
    text = kernel(f""".reg .b32 {values}, %t; {declarations}
      mov.u32 %r3, %ctaid.x; mad.lo.u32 %r2, %r3, 64, %r1; shr.u32 %r6, %r2, {5 if shared else 0}; {start} bra START;
      {body}
      END: bar.sync 0; mad.wide.u32 %rd1, %r2, 16, %rd1; {stores} ret;""")
    expected = np.zeros((192, VARIABLES), dtype=np.uint32)
    for t in range(192):
        s: list[Any] = [((t // 32 if shared else t) * (7 * i + 3) + i) & 255 for i in range(VARIABLES)]
        interpret(s)
        expected[t] = s
    out = np.zeros((192, VARIABLES), dtype=np.uint32)
    result = launch(text, [out], block=64, grid=3, engine="fast")
    assert result.engine == "fast", result.fallback_reason
    assert (out == expected).all()
    again = launch(text, [np.zeros((192, VARIABLES), np.uint32)], block=64, grid=3, checks=FAST_CHECKS)
    assert result.counters == again.counters
