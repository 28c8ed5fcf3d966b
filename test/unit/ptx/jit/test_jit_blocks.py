"""Barriers of all kinds, atomics and clocks in compiled code, against results worked out here and the reference engine."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import CheckError, Module, RunResult
from prism_mlir.runtime.ptx.jit import library
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

STORE = "mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r2; ret;"
SHARED = ".shared .align 16 .b8 s[512];"
TWO = ".param .u64 p0, .param .u64 p1"


def both(text: str, args: list[Any], **shape: Any) -> RunResult:
    """Run on both engines, which must agree on bytes and counts; ``args`` have the results of the fast one."""
    copies = [a.copy() for a in args]
    slow = launch(text, copies, checks=FAST_CHECKS, **shape)
    fast = launch(text, args, checks=FAST_CHECKS, engine="fast", **shape)
    assert fast.engine == "fast", fast.fallback_reason
    assert fast.counters == slow.counters
    for a, b in zip(args, copies, strict=True):
        assert a.tobytes() == b.tobytes()
    return fast


@pytest.mark.parametrize(("what", "threads", "expected"), [
    ("popc.u32 %r2, 0, %p1", 96, 5), ("popc.u32 %r2, 0, !%p1", 96, 91), ("popc.u32 %r2, 0, !%p1", 50, 45),
    ("popc.u32 %r2, 3, 64, %p1", 64, 5), ("and.pred %p2, 0, %p1", 96, 0), ("and.pred %p2, 0, !%p3", 50, 1),
    ("or.pred %p2, 0, %p1", 96, 1), ("or.pred %p2, 0, %p3", 96, 0),
])  # fmt: skip
def test_reductions_at_barriers(what: str, threads: int, expected: int) -> None:
    """%p1 holds for threads 0 to 4, %p3 for none."""
    code = f"setp.lt.u32 %p1, %r1, 5; setp.gt.u32 %p3, %r1, 999; bar.red.{what};"
    out = np.zeros(96, np.uint32)
    result = both(kernel(code + ("" if "%r2" in what else "selp.u32 %r2, 1, 0, %p2;") + STORE), [out], block=threads)
    assert out[:threads].tolist() == [expected] * threads and result.counters.barriers == 1


EXCHANGE = """mov.u64 %rd5, s; mad.wide.u32 %rd6, %r1, 4, %rd5; shr.u32 %r4, %r1, {shift}; add.u32 %r4, %r4, 1;
  st.shared.u32 [%rd6], %r1; bar.sync %r4, 64; xor.b32 %r5, %r1, {mask}; mad.wide.u32 %rd6, %r5, 4, %rd5;
  ld.shared.u32 %r2, [%rd6]; """


def test_barriers_of_parts_of_a_block() -> None:
    """Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2; the number is in a register."""
    out = np.zeros(128, np.uint32)
    result = both(kernel(EXCHANGE.format(shift=6, mask=32) + STORE, shared=SHARED), [out], block=128)
    assert out.tolist() == [t ^ 32 for t in range(128)] and result.counters.barriers == 2


def test_barriers_of_parts_order_no_others() -> None:
    with pytest.raises(CheckError) as caught:
        launch(
            kernel(EXCHANGE.format(shift=6, mask=64) + STORE, shared=SHARED),
            [np.zeros(128, np.uint32)],
            block=128,
            engine="fast",
        )
    assert caught.value.kind == "race"


PIPE = """mov.u64 %rd5, s; and.b32 %r3, %r1, 31; mad.wide.u32 %rd6, %r3, 4, %rd5; shr.u32 %r4, %r1, 5; setp.eq.u32 %p1, %r4, 0;
  mov.u32 %r2, 0; mov.u32 %r6, 0; @%p1 bra WRITER;
  READER: bar.sync 1, 64; ld.shared.u32 %r7, [%rd6]; add.u32 %r2, %r2, %r7; {empty} add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, 5; @%p2 bra READER; bra END;
  WRITER: st.shared.u32 [%rd6], %r6; bar.arrive 1, 64; {wait} add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, 5; @%p2 bra WRITER;
  END: """


def test_a_producer_that_only_arrives() -> None:
    """Warp 0 writes 0 1 2 3 4, warp 1 adds them: 10."""
    text = kernel(PIPE.format(empty="bar.arrive 2, 64;", wait="bar.sync 2, 64;") + STORE, shared=SHARED)
    out = np.zeros(64, np.uint32)
    both(text, [out], block=64)
    assert out.tolist() == [0] * 32 + [10] * 32
    text = kernel(PIPE.format(empty="bar.arrive 3, 64;", wait="bar.sync 2, 32;") + STORE, shared=SHARED)
    with pytest.raises(CheckError):  # the writer does not wait for the reader
        launch(text, [out], block=64, engine="fast")


def test_a_branch_table_by_warps() -> None:
    text = kernel(f"""shr.u32 %r4, %r1, 5; T: .branchtargets A, B, C; brx.idx %r4, T; A: mov.u32 %r2, 5; bra E;
      B: mov.u32 %r2, 6; bra E; C: mov.u32 %r2, 7; E: {STORE}""")
    out = np.zeros(96, np.uint32)
    both(text, [out], block=96)
    assert out.tolist() == [5] * 32 + [6] * 32 + [7] * 32
    out = np.zeros(96, np.uint32)
    result = launch(text.replace("shr.u32 %r4, %r1, 5", "rem.u32 %r4, %r1, 3"), [out], block=96, engine="fast")
    assert result.engine == "reference" and "differs from thread to thread" in result.fallback_reason
    assert out.tolist() == [5, 6, 7] * 32


def test_tickets() -> None:
    """A single atomic instruction: threads draw numbers in order, block by block."""
    text = kernel(f"""ld.param.u64 %rd3, [p1]; atom.global.add.u32 %r2, [%rd3], 2; mov.u32 %r3, %ctaid.x;
      mad.lo.u32 %r1, %r3, 64, %r1; {STORE}""", TWO)  # fmt: skip
    out, cell = np.zeros(192, np.uint32), np.zeros(1, np.uint32)
    result = both(text, [out, cell], block=64, grid=3)
    assert out.tolist() == list(range(0, 384, 2)) and cell[0] == 384
    assert result.counters.global_store_bytes == 4 * 2 * 192


def test_sums_in_any_order_are_compiled_in_loops() -> None:
    text = kernel(f"""mov.u64 %rd5, s; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%rd5], 0; bar.sync 0; mov.u32 %r6, 0;
      L: red.shared.add.u32 [%rd5], %r1; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 3; @%p2 bra L; bar.sync 0;
      ld.shared.u32 %r2, [%rd5]; {STORE}""", shared=SHARED)  # fmt: skip
    out = np.zeros(64, np.uint32)
    both(text, [out], block=64)
    assert out.tolist() == [3 * 63 * 32] * 64
    for sum_ in (
        "red.shared.add.f32 [%rd5], 0f3DCCCCCD;",
        "atom.shared.add.u32 %r7, [%rd5], %r1; add.u32 %r9, %r9, %r7;",
    ):
        changed = text.replace("red.shared.add.u32 [%rd5], %r1;", sum_)
        changed = changed.replace("mov.u32 %r6, 0;", "mov.u32 %r6, 0; mov.u32 %r9, 0;")
        changed = changed.replace(
            "ld.shared.u32 %r2", "ld.shared.u32 %r2, [%rd5]; add.u32 %r2, %r2, %r9; ld.shared.u32 %r8"
        )
        result = launch(changed, [out], block=64, engine="fast")
        assert result.engine == "reference" and "order" in result.fallback_reason


def test_an_atomic_and_a_plain_store_race() -> None:
    code = "mov.u64 %rd5, s; setp.eq.u32 %p1, %r1, {}; @%p1 st.shared.u32 [%rd5], 0; {} red.shared.add.u32 [%rd5], %r1; ret;"
    out = [np.zeros(1, np.uint32)]
    good = kernel(code.format(63, "bar.sync 0;"), shared=SHARED)
    assert launch(good, out, block=64, engine="fast").engine == "fast"
    for thread in (63, 0):  # thread 0 comes first to its own cell, which must not hide its store from the others
        with pytest.raises(CheckError) as caught:
            launch(kernel(code.format(thread, ""), shared=SHARED), out, block=64, engine="fast")
        assert caught.value.kind == "race"


def test_atomics_of_several_blocks_do_not_conflict_but_a_load_does() -> None:
    text = "red.global.add.u32 [%rd1], 1; {} ret;"
    cell = np.zeros(1, np.uint32)
    assert launch(kernel(text.format("")), [cell], block=64, grid=3, engine="fast").engine == "fast"
    assert cell[0] == 192
    with pytest.raises(CheckError) as caught:
        launch(
            kernel(text.format("ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd1+4], %r2;")),
            [np.zeros(2, np.uint32)],
            block=64,
            grid=3,
            engine="fast",
        )
    assert caught.value.kind == "cross_block"


def test_clocks_count_instructions() -> None:
    """The kernel's first block has 13 instructions: three of the harness, then these with the reader, then the store's three."""
    out = np.zeros(64, np.uint32)
    both(kernel("mov.u32 %r3, 1; mov.u32 %r2, %clock; " + STORE), [out], block=64)
    assert out.tolist() == [7] * 64


def test_results_that_wait_in_an_open_loop() -> None:
    """The shuffle's results and the addresses of the store take turns in the same temporary memory."""
    text = kernel(f"""mov.u32 %r10, s; shr.u32 %r11, %r1, 3; and.b32 %r11, %r11, 12; add.u32 %r10, %r10, %r11;
      shr.u32 %r2, %r1, 5; shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; add.u32 %r2, %r2, %r3; st.shared.b32 [%r10], %r2;
      bar.sync 0; and.b32 %r12, %r1, 3; shl.b32 %r12, %r12, 2; mov.u32 %r13, s; add.u32 %r13, %r13, %r12;
      ld.shared.b32 %r2, [%r13]; {STORE}""", shared=SHARED)  # fmt: skip
    out = np.zeros(128, np.uint32)
    both(text, [out], block=128)
    assert out.tolist() == [0, 2, 4, 6] * 32


def test_shared_functions_are_compiled_once() -> None:
    out = np.zeros(64, np.uint32)
    launch(kernel("mov.u32 %r2, 3; " + STORE), [out], block=64, engine="fast")
    before = dict(library._ADDRESSES)
    launch(kernel("mov.u32 %r2, 4; " + STORE), [out], block=64, engine="fast")
    assert before == library._ADDRESSES and out.tolist() == [4] * 64


def test_two_threads_run_one_kernel() -> None:
    text = kernel(f"mov.u32 %r3, 0; mov.u32 %r2, 0; L: add.u32 %r2, %r2, %r1; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 99; "
                  f"@%p1 bra L; {STORE}")  # fmt: skip
    handle = Module.load(text).kernel("k")
    outs = [np.zeros(64, np.uint32) for _ in range(2)]
    runs = [
        threading.Thread(target=handle.run, kwargs={"grid": (1,), "block": (64,), "args": [out], "engine": "fast"})
        for out in outs
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert all(out.tolist() == [99 * t for t in range(64)] for out in outs)
