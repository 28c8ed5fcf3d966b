"""Barriers by the rules of the PTX ISA ("bar, barrier", "exit"): who counts, who may not meet, and who never arrives."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import kernel, launch
from test_checks import BUF, STORE, fails, out

from prism_mlir.runtime.ptx import PtxSyntaxError

LATE = "setp.ge.u32 %p1, %r1, {n};"
# Threads store, meet, and those that are left read what a thread of another warp stored.
SHARE = "mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 4, %rd2; st.shared.b32 [%rd3], %r1; {leave} {meet} xor.b32 %r2, %r1, 32;"
SHARE += "mad.wide.u32 %rd4, %r2, 4, %rd2; ld.shared.b32 %r3, [%rd4];" + STORE


@pytest.mark.parametrize("meet", ["bar.sync 0;", "bar.sync 3, 64;", "barrier.sync.aligned 15, 64;", "barrier.cta.sync 1;",
                                  "bar.red.popc.u32 %r9, 2, %p1;", "bar.red.popc.u32 %r9, 2, 64, %p1;"])  # fmt: skip
@pytest.mark.parametrize("n", [64, 40, 33, 16])
def test_threads_that_have_exited_are_not_waited_for(meet: str, n: int) -> None:
    """A warp counts as 32 threads, whatever is left of it; a count for which warps are missing is never reached."""
    text = kernel(SHARE.format(leave=LATE.format(n=n) + "@%p1 exit;", meet=meet), shared=BUF)
    result = out()
    if "64" in meet and n <= 32:
        assert "waits for 64 threads" in fails("barrier", text, [result], block=64).message
        return
    launch(text, [result], block=64)
    assert result.tolist() == [t ^ 32 if t < n else 0 for t in range(64)]


@pytest.mark.parametrize("early", [32, 48, 50])
def test_exits_complete_barriers_that_wait_for_nobody_else(early: int) -> None:
    """The first threads wait at the barrier while the others loop, and then exit, some of them from the warp of a waiting one."""
    body = (
        LATE.format(n=early)
        + """mov.u32 %r2, 0; @!%p1 bra MEET; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra L;
      exit; MEET: bar.sync 0; mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], 7; ret;"""
    )
    result = out()
    assert launch(kernel(body), [result], block=64).counters.barriers == 1
    assert result.tolist() == [7] * early + [0] * (64 - early)


def test_a_warp_counts_when_all_that_is_left_of_it_has_arrived() -> None:
    """barrier.sync without .aligned: the halves of the first warp arrive one after the other, from different places."""
    body = """setp.lt.u32 %p1, %r1, 16; @%p1 bra FIRST; barrier.sync 1, 64; bra OUT; FIRST: barrier.sync 1, 64; OUT: ret;"""
    assert launch(kernel(body), [out()], block=64).counters.barriers == 1
    elsewhere = body.replace(
        "FIRST: barrier.sync 1", "FIRST: barrier.sync 2"
    )  # so that only one warp arrives at either
    assert "waits for 64 threads" in fails("barrier", kernel(elsewhere), [out()], block=64).message


def test_warps_may_meet_at_different_instructions() -> None:
    body = LATE.format(n=32) + "@%p1 bra B; {a} bra OUT; B: {b} OUT: ret;"
    for a, b in (
        ("bar.sync 1;", "bar.sync 1;"),
        ("bar.sync 1, 64;", "bar.sync 1;"),
        ("bar.arrive 2, 64;", "bar.sync 2, 64;"),
    ):
        assert launch(kernel(body.format(a=a, b=b)), [out()], block=64).counters.barriers == 1


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ("bar.sync 1, 64;", "bar.sync 1, 32;", "disagree about how many it waits for: 32 and 64"),
        ("bar.sync 1;", "bar.sync 1, 32;", "disagree about how many it waits for: 32 and 64"),
        ("bar.arrive 1, 64;", "bar.sync 1, 96;", "disagree about how many it waits for: 64 and 96"),
        ("bar.sync 1;", "bar.red.popc.u32 %r9, 1, %p1;", "bar.red meets other barrier instructions"),
        ("bar.arrive 1, 64; bar.arrive 1, 64;", "bar.sync 1, 64;", "arrives at barrier 1 again"),
        ("bar.arrive 1, 64; bar.sync 1, 64;", "bar.sync 1, 64;", "arrives at barrier 1 again"),
        ("bar.arrive 1, 64; bar.red.popc.u32 %r9, 1, 64, %p1;", "bar.sync 1, 64;", "arrives at barrier 1 again"),
    ],
)
def test_what_must_not_meet(first: str, second: str, what: str) -> None:
    """The second warp runs first."""
    error = fails(
        "barrier", kernel(LATE.format(n=32) + f"@%p1 bra A; {second} exit; A: {first} ret;"), [out()], block=64
    )
    assert what in error.message
    assert {t[1][0] // 32 for t in error.threads} == ({1} if "again" in what else {0, 1})


def test_more_threads_than_the_barrier_waits_for() -> None:
    """Which two of the four warps would meet first is open."""
    error = fails("barrier", kernel("bar.sync 1, 64; ret;"), [out()], block=128)
    assert "128 threads arrive at a barrier that waits for 64" in error.message


@pytest.mark.parametrize(
    ("number", "count", "what"),
    [
        (16, 64, "there is no barrier 16"),
        (2**32 - 1, 64, "there is no barrier"),
        (1, 48, "cannot wait for 48 threads"),
        (1, 0, "cannot wait for 0 threads"),
    ],
)
def test_numbers_and_counts_in_registers(number: int, count: int, what: str) -> None:
    body = f"mov.u32 %r2, {number}; mov.u32 %r3, {count}; bar.sync %r2, %r3; ret;"
    assert what in fails("barrier", kernel(body), [out()], block=64).message
    launch(kernel("mov.u32 %r2, 15; mov.u32 %r3, 64; bar.sync %r2, %r3; ret;"), [out()], block=64)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("bar.sync 16;", "barriers 0 to 15"),
        ("bar.sync -1;", "barriers 0 to 15"),
        ("bar.red.popc.u32 %r2, 16, %p1;", "barriers 0 to 15"),
        ("bar.sync 0, 40;", "multiple of 32"),
        ("bar.arrive 1, 0;", "multiple of 32"),
        ("bar.arrive 1;", "needs a thread count"),
    ],
)
def test_literals_are_checked_when_the_module_is_loaded(code: str, what: str) -> None:
    with pytest.raises(PtxSyntaxError, match=what):
        launch(kernel(code + "ret;"), [out()])


def test_reused_numbers() -> None:
    """Two pairs of warps use one barrier number in turn, kept apart by a barrier of all."""
    body = "@%p1 bra A; bar.sync 1, 64; A: bar.sync 0; @!%p1 bra B; bar.sync 1, 64; B: ret;"
    assert launch(kernel(LATE.format(n=64) + body), [out()], block=128).counters.barriers == 3


def test_reductions_count_threads_that_are_there() -> None:
    """40 of 64 threads are left, of which those below 10 vote."""
    body = (
        LATE.format(n=40)
        + """@%p1 exit; setp.lt.u32 %p2, %r1, 10; bar.red.popc.u32 %r2, 0, %p2; bar.red.and.pred %p3, 0, !%p2;
      bar.red.or.pred %p4, 0, %p2; selp.b32 %r3, 100, 0, %p3; selp.b32 %r4, 1000, 0, %p4; add.u32 %r2, %r2, %r3;
      add.u32 %r2, %r2, %r4;
      mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], %r2; ret;"""
    )
    result = np.zeros(64, np.uint32)
    launch(kernel(body), [result], block=64)
    assert result.tolist() == [1010] * 40 + [0] * 24
