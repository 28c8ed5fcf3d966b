"""What orders accesses to shared memory, and what does not: barriers of parts of a warp, fences, release and acquire, atomics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ptx_harness import kernel, launch
from test_checks import BUF, SETUP, STORE, fails, out

from prism_mlir.runtime.ptx import PtxSyntaxError

# Every thread stores its index at its own word and reads what thread `t ^ other` stored.
MEET = "mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 4, %rd2; st.shared.b32 [%rd3], %r1; setp.lt.u32 %p1, %r1, 16;"
READ = "xor.b32 %r2, %r1, {other}; mad.wide.u32 %rd4, %r2, 4, %rd2; ld.shared.b32 %r3, [%rd4];"


def exchange(between: str, other: int) -> str:
    return kernel(MEET + between + READ.format(other=other) + STORE, shared=BUF)


# -- parts of a warp ----------------------------------------------------------------------------------------------

HALVES = "selp.b32 %r4, 0xffff, 0xffff0000, %p1; bar.warp.sync %r4;"
APART = "@%p1 bra IN; bar.warp.sync 0xffff0000; bra ON; IN: bar.warp.sync 0xffff; ON:"
MEET_AGAIN = "@%p1 bra IN; bar.warp.sync -1; bra ON; IN: bar.warp.sync 0xffffffff; ON:"


@pytest.mark.parametrize(
    ("between", "other"), [(HALVES, 15), (APART, 15), (MEET_AGAIN, 31), ("bar.warp.sync -1;", 31), (HALVES * 2, 1)]
)
def test_warp_barriers_order_those_that_they_name(between: str, other: int) -> None:
    result = out(32)
    launch(exchange(between, other), [result], outputs={0})
    assert result.tolist() == [t ^ other for t in range(32)]


@pytest.mark.parametrize("between", [HALVES, APART, "@!%p1 bra ON; bar.warp.sync 0xffff; ON:", ""])
def test_warp_barriers_of_halves_do_not_order_the_halves(between: str) -> None:
    error = fails("race", exchange(between, 16), [out(32)])
    assert abs(error.threads[0][1][0] - error.threads[1][1][0]) == 16


def test_what_one_half_learned_the_next_barrier_hands_on() -> None:
    """Halves meet, then the pairs (0, 16), (1, 17) …: together they order every pair of threads."""
    pairs = "and.b32 %r5, %r1, 15; mov.u32 %r6, 0x10001; shl.b32 %r6, %r6, %r5; bar.warp.sync %r6;"
    launch(exchange(HALVES + pairs, 31), [out(32)])
    fails("race", exchange(pairs + HALVES.replace("0xffff,", "0xff00ff,").replace("0xffff0000", "0xff00ff00")
                           .replace("%p1;", "%p2;").replace("selp", "and.b32 %r7, %r1, 8; setp.eq.u32 %p2, %r7, 0; selp"), 8),
          [out(32)])  # fmt: skip


def test_threads_must_be_named_by_their_own_warp_barrier() -> None:
    error = fails("convergence", exchange("bar.warp.sync 0xffff;", 1), [out(32)])
    assert "does not name it" in error.message and error.threads[0][1] == (16, 0, 0)


def test_a_guard_must_not_keep_named_threads_away() -> None:
    fails("convergence", exchange("@%p1 bar.warp.sync -1;", 1), [out(32)])
    launch(exchange("@%p1 bar.warp.sync 0xffff; @!%p1 bar.warp.sync 0xffff0000;", 1), [out(32)])


def test_named_barriers_order_those_that_meet() -> None:
    """Of three warps the first two meet: they may read what the other stored, the third one may not."""
    body = MEET + "mov.u32 %r3, 0; setp.lt.u32 %p2, %r1, 64; @%p2 bar.sync 1, 64;" + READ + STORE
    launch(kernel(body.format(other=32).replace("ld.shared", "@%p2 ld.shared"), shared=BUF), [out(96)], block=96)
    body = body.replace("xor.b32 %r2, %r1, {other}", "sub.u32 %r2, 95, %r1")
    error = fails("race", kernel(body, shared=BUF), [out(96)], block=96)
    assert {t[1][0] // 32 for t in error.threads} == {0, 2}


# -- fences, release and acquire ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fence", ["membar.cta;", "membar.gl;", "fence.acq_rel.cta;", "fence.sc.gpu;", "fence.proxy.async;"]
)
def test_fences_do_not_make_threads_wait(fence: str) -> None:
    fails("race", exchange(fence, 1), [out(32)])


def test_fences_that_do_not_exist() -> None:
    for fence in ("membar.gpu", "fence.cta.sc", "fence", "fence.proxy.generic", "membar.sc.cta", "fence.acq_rel"):
        with pytest.raises(PtxSyntaxError, match="unknown instruction"):
            launch(kernel(f"{fence}; ret;"), [out()])


# Thread 32 stores 42 and raises a flag (the word at 4), for which thread 0 waits.
MESSAGE = """mov.u64 %rd2, buf; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32; @%p1 st.shared.b32 [%rd2+4], 0; bar.sync 0;
  @%p1 bra WAIT; @%p2 bra SEND; {third} bra OUT;
  WAIT: {read} setp.ne.u32 %p3, %r4, {want}; @%p3 bra WAIT; {after} ld.shared.b32 %r5, [%rd2]; st.global.b32 [%rd1], %r5; bra OUT;
  SEND: st.shared.b32 [%rd2], 42; {before} {write} OUT: ret;"""
READS = {"volatile": "ld.volatile.shared.b32 %r4, [%rd2+4];", "relaxed": "ld.relaxed.cta.shared.b32 %r4, [%rd2+4];",
         "acquire": "ld.acquire.cta.shared.b32 %r4, [%rd2+4];", "atom": "atom.shared.or.b32 %r4, [%rd2+4], 0;",
         "atom.acquire": "atom.acquire.cta.shared.or.b32 %r4, [%rd2+4], 0;",
         "generic": "cvta.shared.u64 %rd5, %rd2; ld.acquire.cta.b32 %r4, [%rd5+4];"}  # fmt: skip
WRITES = {"volatile": "st.volatile.shared.b32 [%rd2+4], 1;", "relaxed": "st.relaxed.cta.shared.b32 [%rd2+4], 1;",
          "release": "st.release.cta.shared.b32 [%rd2+4], 1;", "red": "red.shared.add.u32 [%rd2+4], 1;",
          "red.release": "red.release.cta.shared.add.u32 [%rd2+4], 1;",
          "exch.acq_rel": "atom.acq_rel.cta.shared.exch.b32 %r6, [%rd2+4], 1;",
          "generic": "cvta.shared.u64 %rd5, %rd2; st.release.cta.b32 [%rd5+4], 1;"}  # fmt: skip
F = "membar.cta;"


def message(read: str, write: str, before: str = "", after: str = "", third: str = "", want: int = 1) -> str:
    body = MESSAGE.format(read=READS[read], write=WRITES[write], before=before, after=after, third=third, want=want)
    return kernel(body, shared=BUF)


@pytest.mark.parametrize(
    ("read", "write", "before", "after"),
    [("acquire", "release", "", ""), ("volatile", "volatile", F, F), ("atom", "red", F, F), ("acquire", "relaxed", F, ""),
     ("atom.acquire", "red.release", "", ""), ("relaxed", "relaxed", "fence.acq_rel.cta;", "fence.sc.cta;"),
     ("volatile", "release", "", F), ("generic", "generic", "", ""), ("acquire", "exch.acq_rel", "", "")],
)  # fmt: skip
def test_messages_are_ordered(read: str, write: str, before: str, after: str) -> None:
    """A release, or a fence and a strong write; an acquire, or a strong read and a fence."""
    result = out(1)
    launch(message(read, write, before, after), [result], block=64, outputs={0})
    assert result[0] == 42
    fast = out(1)
    launch(message(read, write, before, after), [fast], block=64, engine="fast")
    assert fast[0] == 42


@pytest.mark.parametrize(
    ("read", "write", "before", "after"),
    [("volatile", "volatile", "", ""), ("volatile", "volatile", F, ""), ("volatile", "volatile", "", F),
     ("relaxed", "release", "", ""), ("acquire", "relaxed", "", ""), ("atom", "red", "", ""), ("atom", "red.release", "", ""),
     ("volatile", "volatile", "fence.proxy.async;", "fence.proxy.async;")],
)  # fmt: skip
def test_messages_that_lack_an_end_are_races(read: str, write: str, before: str, after: str) -> None:
    error = fails("race", message(read, write, before, after), [out(1)], block=64)
    assert error.address == "buf+0 of 1024 bytes" and [t[1][0] for t in error.threads] == [0, 32]
    assert "release and acquire" in error.hint


def test_what_is_stored_after_the_release_is_not_ordered() -> None:
    text = message("acquire", "release").replace("SEND: st.shared.b32 [%rd2], 42;", "SEND:")
    text = text.replace("[%rd2+4], 1; OUT", "[%rd2+4], 1; st.shared.b32 [%rd2], 42; OUT")
    assert text.count("], 42;") == 1
    # thread 0 finds the word written without order, or not at all
    text = text.replace("bar.sync 0;", "@%p1 st.shared.b32 [%rd2], 1; bar.sync 0;")
    fails("race", text, [out(1)], block=64)


# Thread 33 waits for the flag without acquiring and adds 1 to it, or replaces it by 2; thread 0 waits for the 2.
PASS_ON = """setp.eq.u32 %p4, %r1, 33; @!%p4 bra OUT;
  L: ld.relaxed.cta.shared.b32 %r7, [%rd2+4]; setp.ne.u32 %p5, %r7, 1; @%p5 bra L; {write}"""


def test_read_modify_writes_hand_a_release_on_and_stores_do_not() -> None:
    result = out(1)
    third = PASS_ON.format(write="red.shared.add.u32 [%rd2+4], 1;")
    launch(message("acquire", "release", third=third, want=2), [result], block=64, outputs={0})
    assert result[0] == 42
    third = PASS_ON.format(write="st.relaxed.cta.shared.b32 [%rd2+4], 2;")
    fails("race", message("acquire", "release", third=third, want=2), [out(1)], block=64)


LOCK = """mov.u64 %rd2, buf; setp.ne.u32 %p1, %r1, 0; @%p1 bra ON; st.shared.b32 [%rd2], 0; st.shared.b32 [%rd2+4], 0;
  ON: bar.sync 0;
  and.b32 %r6, %r1, 7; setp.ne.u32 %p3, %r6, 0; @%p3 bra END;
  L: atom.shared.cas.b32 %r4, [%rd2], 0, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra L; {enter}
  ld.shared.b32 %r5, [%rd2+4]; add.u32 %r5, %r5, 1; st.shared.b32 [%rd2+4], %r5; {leave} atom.shared.exch.b32 %r4, [%rd2], 0;
  END: bar.sync 0; @%p1 ret; ld.shared.b32 %r5, [%rd2+4]; st.global.b32 [%rd1], %r5; ret;"""


def test_a_spin_lock_protects_a_counter() -> None:
    """Every eighth thread adds 1. Some are of one warp: the one that has the lock must get on while the others spin."""
    result = out(1)
    launch(kernel(LOCK.format(enter=F, leave=F), shared=BUF), [result], block=48, outputs={0})
    assert result[0] == 6
    for enter, leave in ((F, ""), ("", F), ("", "")):
        fails("race", kernel(LOCK.format(enter=enter, leave=leave), shared=BUF), [out(1)], block=48)


def test_blocks_may_wait_for_each_other_in_global_memory() -> None:
    """Block 0 spins until block 1, which runs in the same batch, has raised a flag."""
    body = """mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 1; @%p1 bra RAISE;
      L: ld.relaxed.gpu.global.b32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra L; ret;
      RAISE: st.relaxed.gpu.global.b32 [%rd1], 1; ret;"""
    launch(kernel(body), [out(1)], grid=2)


# -- atomics ------------------------------------------------------------------------------------------------------

ZERO = "mov.u64 %rd2, buf; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%rd2], 0; {sync}"


STRONG = ["red.shared.add.u32 [%rd2], 1;", "st.volatile.shared.b32 [%rd2], %r1;", "ld.relaxed.cta.shared.b32 %r3, [%rd2];",
          "atom.shared.max.u32 %r3, [%rd2], %r1;"]  # fmt: skip


@pytest.mark.parametrize("strong", STRONG)
def test_strong_accesses_do_not_race_with_each_other_but_with_weak_ones(strong: str) -> None:
    launch(kernel(ZERO.format(sync="bar.sync 0;") + strong * 2 + "ret;", shared=BUF), [out()], block=64)
    weak_first = kernel(ZERO.format(sync="") + strong + "ret;", shared=BUF)
    assert fails("race", weak_first, [out()], block=64).threads[1][1] == (0, 0, 0)
    store = kernel(ZERO.format(sync="bar.sync 0;") + strong + "@%p1 st.shared.b32 [%rd2], 7; ret;", shared=BUF)
    fails("race", store, [out()], block=64)
    fixed = kernel(
        ZERO.format(sync="bar.sync 0;") + strong + "bar.sync 0; @%p1 st.shared.b32 [%rd2], 7; ret;", shared=BUF
    )
    launch(fixed, [out()], block=64)


def test_a_strong_access_does_not_hide_the_weak_one_before_it() -> None:
    """Thread 0 reads weakly and strongly; thread 40 then writes strongly, which races with the weak read only."""
    body = ZERO.format(sync="bar.sync 0;") + "{weak} @%p1 atom.shared.or.b32 %r4, [%rd2], 0; setp.eq.u32 %p2, %r1, 40;"
    body += "@%p2 red.shared.add.u32 [%rd2], 1; ret;"
    fails("race", kernel(body.format(weak="@%p1 ld.shared.b32 %r3, [%rd2];"), shared=BUF), [out()], block=64)
    launch(kernel(body.format(weak=""), shared=BUF), [out()], block=64)


@pytest.mark.parametrize("strong", STRONG[:2])
@pytest.mark.parametrize("reader", [0, 31, 32, 63])
def test_weak_reads_race_with_every_strong_write(strong: str, reader: int) -> None:
    """Whichever thread wrote last, another one has written, too."""
    code = ZERO.format(sync="bar.sync 0;") + strong
    code += f"{{sync}} setp.eq.u32 %p2, %r1, {reader}; @%p2 ld.shared.b32 %r3, [%rd2]; ret;"
    fails("race", kernel(code.format(sync=""), shared=BUF), [out()], block=64)
    launch(kernel(code.format(sync="bar.sync 0;"), shared=BUF), [out()], block=64)


# -- asynchronous copies ------------------------------------------------------------------------------------------

# Thread t copies 16 bytes to its own place; then thread t reads what thread t ^ other copied.
COPIES = """mov.u64 %rd2, buf; mul.wide.u32 %rd3, %r1, 16; add.s64 %rd4, %rd2, %rd3; add.s64 %rd5, %rd1, %rd3;
  setp.lt.u32 %p1, %r1, 32; {first} cp.async.cg.shared.global [%rd4], [%rd5], 16{size}; cp.async.commit_group; {wait}
  xor.b32 %r2, %r1, {other}; mad.wide.u32 %rd6, %r2, 16, %rd2; {access} ret;"""
LOAD = "ld.shared.b32 %r3, [%rd6];"


def copies(
    wait: str, other: int = 32, first: str = "", size: str = "", access: str = LOAD
) -> tuple[str, list[Any], int]:
    body = COPIES.format(wait=wait, other=other, first=first, size=size, access=access)
    return kernel(body, shared=BUF), [np.zeros(256, np.uint32)], 64


def test_only_the_thread_that_copies_can_wait_for_the_copy() -> None:
    """The first warp waits, the second one does not: its copies stay pending, whoever reads them, barrier or not."""
    text, args, block = copies("@%p1 cp.async.wait_group 0; bar.sync 0;")
    error = fails("async_copy", text, args, block=block)
    assert [t[1][0] for t in error.threads] == [0, 32] and error.epoch == 1
    assert error.address == "buf+512 of 1024 bytes" and "wait" in error.hint
    text, args, block = copies("cp.async.wait_group 0; bar.sync 0;")
    launch(text, args, block=block)


@pytest.mark.parametrize(
    ("wait", "access", "kind"),
    [("cp.async.wait_group 0;", LOAD, "race"), ("bar.sync 0;", LOAD, "async_copy"), ("", LOAD, "async_copy"),
     ("cp.async.wait_group 1; bar.sync 0;", LOAD, "async_copy"), ("", "st.shared.b32 [%rd6], %r1;", "async_copy"),
     ("bar.sync 0; cp.async.wait_all;", LOAD, "async_copy"),  # the wait of the reader comes before that of the writer
     ("cp.async.wait_all;", "st.shared.b32 [%rd6], %r1;", "race"),
     ("", "cp.async.cg.shared.global [%rd4], [%rd5], 16;", "async_copy")],
)  # fmt: skip
def test_copies_must_be_waited_for_and_then_published(wait: str, access: str, kind: str) -> None:
    text, args, block = copies(wait, access=access)
    if wait == "bar.sync 0; cp.async.wait_all;":
        text = text.replace("cp.async.wait_all;", "@%p1 cp.async.wait_all; @!%p1 bra OUT;").replace("ret;", "OUT: ret;")
    fails(kind, text, args, block=block)


def test_a_copy_is_a_store_to_those_who_have_just_read() -> None:
    """Write after read: the next tile must not be copied before all have read the last one."""
    fill = "st.shared.v4.b32 [%rd4], {{%r1, %r1, %r1, %r1}}; bar.sync 0; xor.b32 %r7, %r1, 32; mad.wide.u32 %rd7, %r7, 16, %rd2;"
    fill = fill.replace("{{", "{").replace("}}", "}") + "ld.shared.b32 %r8, [%rd7];"
    text, args, block = copies("cp.async.wait_all;", other=0, first=fill)
    fails("race", text, args, block=block)
    text, args, block = copies("cp.async.wait_all;", other=0, first=fill + "bar.sync 0;")
    launch(text, args, block=block)


def test_sources_larger_than_the_copy() -> None:
    text, args, block = copies("cp.async.wait_all;", other=0, first="add.u32 %r9, %r1, 1;", size=", %r9")
    error = fails("async_copy", text, args, block=block)
    assert "17 bytes, more than the 16" in error.message and error.threads[0][1] == (16, 0, 0)
    with pytest.raises(PtxSyntaxError, match="0 to 16 bytes"):
        launch(*copies("", size=", 32")[:2])


def test_generic_stores_order_like_shared_ones() -> None:
    """A store through a generic address, and a load through the window of shared memory."""
    body = SETUP + "cvta.shared.u64 %rd5, %rd3; st.b32 [%rd5], %r1; {sync} ld.shared.b32 %r3, [%rd4];" + STORE
    fails("race", kernel(body.format(sync=""), shared=BUF), [out()], block=64)
    launch(kernel(body.format(sync="bar.sync 0;"), shared=BUF), [out()], block=64)
