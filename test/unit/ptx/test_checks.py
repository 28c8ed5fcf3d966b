"""Every check finds the bug that it is for, says where, and is silent about the repaired kernel; switching it off silences it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import CheckError, Checks

TWO = ".param .u64 p0, .param .u64 p1"
BUF = ".shared .align 16 .b8 buf[1024];"
SETUP = "mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 4, %rd2; xor.b32 %r2, %r1, 63; mad.wide.u32 %rd4, %r2, 4, %rd2;"
STORE = "mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], %r3; ret;"


def out(n: int = 64) -> np.ndarray[Any, Any]:
    return np.zeros(n, dtype=np.uint32)


def fails(kind: str, text: str, args: list[Any], **options: Any) -> CheckError:
    """The kernel fails this check, and does not when the check is off."""
    with pytest.raises(CheckError) as caught:
        launch(text, args, **options)
    error = caught.value
    assert error.kind == kind, str(error)
    assert error.kernel == "k" and error.instruction and error.hint and error.threads
    assert error.location is not None
    assert str(error).startswith(f"k.ptx:{error.location.line}:{error.location.col}: error: [{kind}]")
    line = text.splitlines()[error.location.line - 1]
    opcode = next(word for word in error.instruction.split() if not word.startswith("@"))
    assert line[error.location.col - 1 :].startswith(opcode)
    return error


EXCHANGE = SETUP + "st.shared.b32 [%rd3], %r1; {sync} ld.shared.b32 %r3, [%rd4];" + STORE


def test_missing_barrier_is_a_race() -> None:
    error = fails("race", kernel(EXCHANGE.format(sync=""), shared=BUF), [out()], block=64, outputs={0})
    assert error.address.startswith("buf+") and "st.shared.b32" in str(error) and error.epoch == 0
    assert {t[1] for t in error.threads} == {(0, 0, 0), (63, 0, 0)}
    result = out()
    launch(kernel(EXCHANGE.format(sync="bar.sync 0;"), shared=BUF), [result], block=64, outputs={0})
    assert result.tolist() == list(range(63, -1, -1))


def test_lock_step_order_is_no_excuse_inside_a_warp() -> None:
    body = EXCHANGE.replace("63", "31")
    fails("race", kernel(body.format(sync=""), shared=BUF), [out(32)], block=32, outputs={0})
    launch(kernel(body.format(sync="bar.warp.sync 0xffffffff;"), shared=BUF), [out(32)], block=32, outputs={0})


def test_warp_barrier_does_not_order_other_warps() -> None:
    fails("race", kernel(EXCHANGE.format(sync="bar.warp.sync -1;"), shared=BUF), [out()], block=64, outputs={0})


def test_shuffle_is_no_memory_barrier() -> None:
    body = EXCHANGE.replace("63", "31").format(sync="shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;")
    fails("race", kernel(body, shared=BUF), [out(32)], block=32, outputs={0})


def test_write_after_read_is_a_race() -> None:
    body = (
        SETUP
        + "st.shared.b32 [%rd3], %r1; bar.sync 0; ld.shared.b32 %r3, [%rd4]; {sync} st.shared.b32 [%rd3], %r3; ret;"
    )
    error = fails("race", kernel(body.format(sync=""), shared=BUF), [out()], block=64)
    assert error.epoch == 1 and "read" in error.message
    launch(kernel(body.format(sync="bar.sync 0;"), shared=BUF), [out()], block=64)


def test_second_reader_is_remembered() -> None:
    """Thread 0 reads last and writes; that thread 63 read before it is still known."""
    body = (
        SETUP
        + """setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%rd2], 5; bar.sync 0; ld.shared.b32 %r3, [%rd2];
      @%p1 ld.shared.b32 %r3, [%rd2]; @%p1 st.shared.b32 [%rd2], 6; ret;"""
    )
    fails("race", kernel(body, shared=BUF), [out()], block=64)


def test_two_threads_write_one_cell_in_one_instruction() -> None:
    body = "mov.u64 %rd2, buf; {guard} st.shared.b32 [%rd2], {value}; ret;"
    error = fails("race", kernel(body.format(guard="", value="%r1"), shared=BUF), [out()])
    assert "same instruction" in error.message
    fails(
        "race",
        kernel(body.format(guard="", value="%r2"), shared=BUF).replace(
            "mov.u64 %rd2", "shr.u32 %r2, %r1, 5; mov.u64 %rd2"
        ),
        [out()],
        block=64,
    )  # one value a warp
    launch(kernel(body.format(guard="setp.eq.u32 %p1, %r1, 0; @%p1", value="%r1"), shared=BUF), [out()], block=64)


def test_threads_may_store_one_value_to_one_place() -> None:
    """As Triton stores what all warps hold. A store by one of these threads before the others have come by races with theirs."""
    body = "mov.u64 %rd2, buf; st.shared.b32 [%rd2], 7; {sync} setp.eq.u32 %p1, %r1, {who}; @%p1 st.shared.b32 [%rd2], 8; ret;"
    for who in (0, 31, 32, 63):
        text = kernel(body.format(sync="", who=who), shared=BUF)
        error = fails("race", text, [out()], block=64)
        assert "writes" in error.message and "wrote" in error.message and error.threads[0][1] == (who, 0, 0)
        launch(kernel(body.format(sync="bar.sync 0;", who=who), shared=BUF), [out()], block=64)
    read = (
        "mov.u64 %rd2, buf; setp.lt.u32 %p1, %r1, 64; @%p1 st.shared.b32 [%rd2], 7; {sync} ld.shared.b32 %r3, [%rd2];"
        + STORE
    )
    fails("race", kernel(read.format(sync=""), shared=BUF), [out(96)], block=96)
    launch(kernel(read.format(sync="bar.sync 0;"), shared=BUF), [out(96)], block=96)


def test_neighbouring_halves_do_not_race() -> None:
    body = """cvt.u16.u32 %h1, %r1; mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 2, %rd2; st.shared.b16 [%rd3], %h1; bar.sync 0;
      ld.shared.b16 %h2, [%rd3]; st.shared.b16 [%rd3], %h2; ret;"""
    launch(kernel(body, shared=BUF), [out()], block=64)


def test_store_of_a_word_races_with_its_half() -> None:
    body = """mov.u64 %rd2, buf; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 1; mov.b16 %h1, 3;
      @%p1 st.shared.b32 [%rd2], 7; @%p2 st.shared.b16 [%rd2+2], %h1; ret;"""
    error = fails("race", kernel(body, shared=BUF), [out()])
    assert error.address == "buf+2 of 1024 bytes"


COPY = """mov.u64 %rd2, buf; mul.wide.u32 %rd3, %r1, 16; add.s64 %rd4, %rd2, %rd3; add.s64 %rd1, %rd1, %rd3;
ld.param.u64 %rd5, [p1];
  cp.async.cg.shared.global [%rd4], [%rd1], 16; cp.async.commit_group;
  cp.async.ca.shared.global [%rd4+512], [%rd1], 16; cp.async.commit_group;
  {wait} xor.b32 %r2, %r1, {other}; mad.wide.u32 %rd6, %r2, 16, %rd2; ld.shared.b32 %r3, [%rd6];
  mad.wide.u32 %rd5, %r1, 4, %rd5; st.global.b32 [%rd5], %r3; ret;"""


def copy_kernel(wait: str, other: int = 0) -> str:
    return kernel(COPY.format(wait=wait, other=other), TWO, BUF)


def test_copy_without_wait() -> None:
    x = np.arange(128, dtype=np.uint32)
    error = fails("async_copy", copy_kernel(""), [x, out(32)])
    assert "cp.async.cg.shared.global" in error.message and error.address == "buf+0 of 1024 bytes"
    fails("async_copy", copy_kernel("cp.async.wait_group 2;"), [x, out(32)])
    fails("async_copy", copy_kernel("bar.sync 0;"), [x, out(32)])
    for wait in ("cp.async.wait_group 1;", "cp.async.wait_group 0;", "cp.async.wait_all;"):
        result = out(32)
        launch(copy_kernel(wait), [x, result], outputs={1})
        assert result.tolist() == list(range(0, 128, 4))


def test_copies_of_other_threads_need_a_barrier_too() -> None:
    x = np.arange(128, dtype=np.uint32)
    fails("race", copy_kernel("cp.async.wait_group 1;", 3), [x, out(32)])
    result = out(32)
    launch(copy_kernel("cp.async.wait_group 1; bar.sync 0;", 3), [x, result], outputs={1})
    assert result.tolist() == [4 * (t ^ 3) for t in range(32)]


def test_copy_lands_at_the_wait() -> None:
    """With the check off, memory still holds what was there before the copy."""
    text = copy_kernel("").replace("cp.async.cg", "st.shared.b32 [%rd4], 77; cp.async.cg")
    result = out(32)
    launch(text, [np.arange(128, dtype=np.uint32), result], checks=replace(Checks(), async_copy=False))
    assert result.tolist() == [77] * 32


def test_partial_copies_fill_with_zeros_and_leave_the_source_alone() -> None:
    x = np.arange(1, 65, dtype=np.uint8)
    result = np.zeros((8, 16), dtype=np.uint8)
    body = """mov.u64 %rd2, buf; mul.wide.u32 %rd3, %r1, 16; add.s64 %rd4, %rd2, %rd3; add.s64 %rd1, %rd1, %rd3;
    ld.param.u64 %rd5, [p1];
      mul.lo.u32 %r2, %r1, 16; sub.u32 %r3, 61, %r2; min.s32 %r3, %r3, 16; max.s32 %r3, %r3, 0;
      cp.async.cg.shared.global [%rd4], [%rd1], 16, %r3; cp.async.wait_all;
      ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%rd4]; add.s64 %rd5, %rd5, %rd3;
      st.global.v4.b32 [%rd5], {%r4, %r5, %r6, %r7}; ret;"""
    launch(kernel(body, TWO, BUF), [x[:61], result], block=8, outputs={1})
    assert result.reshape(-1).tolist() == [*range(1, 62), *[0] * 67]


def test_copy_with_ignored_source() -> None:
    x, result = np.arange(1, 33, dtype=np.uint32), out(8)
    body = """mov.u64 %rd2, buf; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3; add.s64 %rd1, %rd1, %rd3;
    ld.param.u64 %rd5, [p1];
      setp.gt.u32 %p1, %r1, 3; cp.async.ca.shared.global [%rd4], [%rd1], 4, %p1; cp.async.wait_all;
      ld.shared.b32 %r4, [%rd4]; add.s64 %rd5, %rd5, %rd3; st.global.b32 [%rd5], %r4; ret;"""
    launch(kernel(body, TWO, BUF), [x[:4], result], block=8, outputs={1})
    assert result.tolist() == [1, 2, 3, 4, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("offset", "total"),
    [(4, 1), (-4, 1), (1 << 20, 64), (-(1 << 45), 64), ((1 << 63) - 260 - (3 << 39), 64), (-(1 << 63), 64)],
)
def test_global_access_outside(offset: int, total: int) -> None:
    body = f"mad.wide.u32 %rd1, %r1, 4, %rd1; add.s64 %rd1, %rd1, {offset}; mov.b32 %r3, 1; st.global.b32 [%rd1], %r3; ret;"
    error = fails("bounds", kernel(body), [out()], block=64)
    assert (f"({total} threads" in error.message) == (total > 1)
    if abs(offset) == 4:
        assert error.address == ("p0+256 of 256 bytes" if offset > 0 else "p0-4 of 256 bytes")
    quiet = out()
    launch(kernel(body), [quiet], block=64, checks=replace(Checks(), bounds=False))
    assert int(quiet.sum()) == 64 - total


def test_shared_access_outside_of_its_variable() -> None:
    """A neighbour variable is no excuse."""
    body = "mov.u64 %rd2, one; mad.wide.u32 %rd3, %r1, 4, %rd2; st.shared.b32 [%rd3], %r1; ret;"
    shared = ".shared .align 16 .b8 one[252]; .shared .align 16 .b8 two[1024];"
    error = fails("bounds", kernel(body, shared=shared), [out()], block=64)
    assert error.address == "one+252 of 252 bytes" and error.threads == (((0, 0, 0), (63, 0, 0)),)


def test_misaligned_vector_access() -> None:
    body = "mad.wide.u32 %rd1, %r1, 20, %rd1; ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd1]; ret;"
    error = fails("alignment", kernel(body), [out(1024)], block=32)
    assert error.threads[0][1] == (1, 0, 0) and "16 bytes" in error.message
    shared = "mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 12, %rd2; mov.b64 %rd4, 0; st.shared.b64 [%rd3], %rd4; ret;"
    fails("alignment", kernel(shared, shared=BUF), [out()], block=32)


def test_misaligned_access_reads_bytes_when_allowed() -> None:
    x, result = np.arange(64, dtype=np.uint8), out(8)
    body = """ld.param.u64 %rd2, [p1]; mul.wide.u32 %rd3, %r1, 5; add.s64 %rd1, %rd1, %rd3; ld.global.b32 %r3, [%rd1];
      mad.wide.u32 %rd2, %r1, 4, %rd2; st.global.b32 [%rd2], %r3; ret;"""
    launch(kernel(body, TWO), [x, result], block=8, checks=replace(Checks(), alignment=False))
    assert result.tolist() == [int.from_bytes(bytes(range(5 * t, 5 * t + 4)), "little") for t in range(8)]


def test_uninitialised_shared_read() -> None:
    body = (
        SETUP
        + "setp.lt.u32 %p1, %r1, 63; @%p1 st.shared.b32 [%rd3], %r1; bar.sync 0; ld.shared.b32 %r3, [%rd4];"
        + STORE
    )
    error = fails("uninitialised", kernel(body, shared=BUF), [out()], block=64)
    assert error.address == "buf+252 of 1024 bytes" and error.threads[0][1] == (0, 0, 0)
    launch(kernel(body, shared=BUF), [out()], block=64, checks=replace(Checks(), uninitialised=False))


def test_uninitialised_output_read() -> None:
    body = "mad.wide.u32 %rd1, %r1, 4, %rd1; ld.global.b32 %r3, [%rd1]; add.u32 %r3, %r3, 1; st.global.b32 [%rd1], %r3; ret;"
    error = fails("uninitialised", kernel(body), [out()], block=64, outputs={0})
    assert error.address == "p0+0" and "output" in error.message
    result = out()
    launch(kernel(body), [result], block=64)
    assert result.tolist() == [1] * 64


def test_uninitialised_local_memory() -> None:
    body = """.local .align 8 .b8 depot[16]; mov.u64 %rd2, depot; and.b32 %r2, %r1, 1; mad.wide.u32 %rd3, %r2, 4, %rd2;
      st.local.b32 [%rd2], %r1; ld.local.b32 %r3, [%rd3];"""
    error = fails("uninitialised", kernel(body + STORE), [out()], block=64)
    assert error.address == "depot+4 of 16 bytes" and error.threads[0][1] == (1, 0, 0)
    launch(kernel(body.replace("%r1, 1;", "%r1, 0;") + STORE), [out()], block=64)


def test_a_hint_about_a_variable_speaks_of_the_variable() -> None:
    body = ".local .align 8 .b8 depot[16]; mov.u64 %rd2, depot; st.local.b32 [%rd2+16], %r1; ret;"
    error = fails("bounds", kernel(body), [out()])
    assert error.address == "depot+16 of 16 bytes" and error.hint.endswith("or enlarge the variable")


@pytest.mark.parametrize(
    "code",
    [
        "add.u32 %r3, %r9, 1;",
        "setp.lt.u32 %p1, %r1, 5; @%p1 mov.u32 %r3, 1;",
        "setp.lt.u32 %p1, %r1, 5; @%p1 bra IN; bra OUT; IN: mov.u32 %r3, 1; OUT:",
        "mov.u32 %r3, 0; @%p5 mov.u32 %r3, 1;",
        "mov.u32 %r3, %r8;",
    ],
)
def test_uninitialised_register(code: str) -> None:
    fails("uninitialised", kernel(code + STORE), [out()], block=64)


@pytest.mark.parametrize(
    "code",
    [
        "setp.lt.u32 %p1, %r1, 5; @%p1 mov.u32 %r3, 1; @!%p1 mov.u32 %r3, 2;",
        "setp.lt.u32 %p1, %r1, 5; @%p1 bra IN; mov.u32 %r3, 2; bra OUT; IN: mov.u32 %r3, 1; OUT:",
        "setp.lt.u32 %p1, %r1, 5; @%p1 mov.u32 %r8, 1; mov.u32 %r3, %r1; @%p1 add.u32 %r3, %r3, %r8;",
        "cvt.u16.u32 %h1, %r1; mov.b32 %r4, {%h1, %h2}; mov.b32 {%h3, %h4}, %r4; cvt.u32.u16 %r3, %h3;",
    ],
)
def test_initialised_registers(code: str) -> None:
    launch(kernel(code + STORE), [out()], block=64)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("setp.lt.u32 %p1, %r1, 16; @%p1 bra IN; bra OUT; IN: bar.sync 0; OUT: bar.sync 0; ret;", "different barriers"),
        ("setp.lt.u32 %p1, %r1, 32; @%p1 bra IN; bar.sync 1; ret; IN: bar.sync 0; ret;", "never completed"),
        ("setp.lt.u32 %p1, %r1, 16; @%p1 bra IN; bar.sync 1; ret; IN: bar.sync 0; ret;", "never completed"),
        ("setp.lt.u32 %p1, %r1, 32; @%p1 bra IN; ret; IN: bar.sync 0, 64; ret;", "waits for 64 threads"),
    ],
)
def test_divergent_barrier(body: str, what: str) -> None:
    error = fails("barrier", kernel(body), [out()], block=64)
    assert what in error.message


def test_barrier_after_some_threads_left() -> None:
    launch(kernel("setp.lt.u32 %p1, %r1, 40; @%p1 exit; bar.sync 0; ret;"), [out()], block=64)


def test_two_blocks_write_one_word() -> None:
    body = "mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], %r1; ret;"
    for lanes in (32, 8192):
        error = fails("cross_block", kernel(body), [out(32)], grid=3, lanes_per_batch=lanes)
        (first, one), (second, two) = error.threads
        assert first != second and one == two
    launch(kernel(body), [out(32)], grid=3, checks=replace(Checks(), cross_block=False))


@pytest.mark.parametrize("lanes", [32, 8192])
def test_reading_what_another_block_writes(lanes: int) -> None:
    body = """mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 32, %r1; mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd3, %rd1, %rd2; {order} ret;"""
    load, store = (
        "xor.b32 %r4, %r3, 32; mad.wide.u32 %rd4, %r4, 4, %rd1; ld.global.b32 %r5, [%rd4];",
        "st.global.b32 [%rd3], %r3;",
    )
    for order in (load + store, store + load):
        error = fails("cross_block", kernel(body.format(order=order)), [out()], grid=2, lanes_per_batch=lanes)
        (_, mine), (_, other) = error.threads
        assert mine == other and ("ld.global" in error.instruction) == ("st.global" in error.headline)
    own = store + load.replace("xor.b32 %r4, %r3, 32", "xor.b32 %r4, %r3, 1")
    launch(kernel(body.format(order=own)), [out()], grid=2, lanes_per_batch=lanes)


def test_the_second_thread_of_several_readers() -> None:
    """Blocks 0 and 1 have read what thread 3 of block 2 writes. The search for a reader leaves the arrays alone."""
    body = """mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 2; @%p1 bra W; ld.global.b32 %r3, [%rd1+8];
      red.global.add.u32 [%rd1], 1; ret; W: setp.eq.u32 %p2, %r1, 3; @!%p2 ret; st.global.b32 [%rd1+8], 7; ret;"""
    x = np.zeros(8, np.uint32)
    error = fails("cross_block", kernel(body), [x], grid=3, lanes_per_batch=32)
    assert error.threads == (((2, 0, 0), (3, 0, 0)), ((0, 0, 0), (0, 0, 0)))
    assert "several other blocks of the same launch read" in error.headline and "ld.global.b32" in error.headline
    assert x.tolist() == [64, 0, 0, 0, 0, 0, 0, 0]


def test_atomics_of_many_blocks_are_fine_but_not_with_plain_reads() -> None:
    launch(kernel("red.global.add.u32 [%rd1], 1; ret;"), [out(1)], grid=4)
    plain = kernel("red.global.add.u32 [%rd1], 1; ld.global.b32 %r3, [%rd1]; ret;")
    error = fails("cross_block", plain, [out(1)], grid=4)
    assert "read with ld.relaxed" in error.hint
    launch(kernel("red.global.add.u32 [%rd1], 1; ld.relaxed.gpu.global.b32 %r3, [%rd1]; ret;"), [out(1)], grid=4)


def test_outputs_that_stay_unwritten_are_counted() -> None:
    body = "setp.ge.u32 %p1, %r1, {n}; @%p1 ret; mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], %r1; ret;"
    assert launch(kernel(body.format(n=60)), [out()], block=64, outputs={0}).unwritten == {0: 16}
    assert launch(kernel(body.format(n=64)), [out()], block=64, outputs={0}).unwritten == {}
    assert launch(kernel(body.format(n=60)), [out()], block=64).unwritten == {}


def test_same_array_passed_twice_is_one_buffer() -> None:
    body = """ld.param.u64 %rd2, [p1]; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 32, %r1; xor.b32 %r4, %r3, 32;
      mad.wide.u32 %rd3, %r4, 4, %rd1; ld.global.b32 %r5, [%rd3]; mad.wide.u32 %rd4, %r3, 4, %rd2;
      st.global.b32 [%rd4], %r5; ret;"""
    x = out()
    fails("cross_block", kernel(body, TWO), [x, x], grid=2)
    launch(kernel(body, TWO), [x, out()], grid=2)


def test_write_to_a_read_only_array() -> None:
    x = out()
    x.flags.writeable = False
    error = fails("bounds", kernel("mov.b32 %r3, 1;" + STORE), [x], block=64)
    assert "store of 4 bytes to read-only memory (64 threads" in str(error) and "a.flags.writeable" in error.hint
    assert error.address == "p0+0 of 256 bytes" and not x.any()
    error = fails("bounds", kernel("mov.b32 %r3, 1;" + STORE), [x], block=65)  # one thread is past the end besides
    assert "outside of every global allocation" in str(error) and error.threads[0][1] == (64, 0, 0)


@pytest.mark.parametrize(("kind", "address"), [("bounds", "mov.b64 %rd2, 0;"), ("alignment", "add.s64 %rd2, %rd1, 2;")])
def test_an_address_that_all_threads_share_concerns_them_all(kind: str, address: str) -> None:
    error = fails(kind, kernel(address + "ld.global.b32 %r3, [%rd2];" + STORE), [out(150)], block=50, grid=3)
    assert "(150 threads; the first is named)" in str(error) and error.threads == (((0, 0, 0), (0, 0, 0)),)


def test_all_checks_off_runs_everything() -> None:
    launch(kernel(EXCHANGE.format(sync=""), shared=BUF), [out()], block=64, checks=Checks.none())


def test_partial_warp_blocks_are_checked_too() -> None:
    text = kernel(EXCHANGE.replace("63", "1").format(sync="bar.sync 0;"), shared=BUF)
    result = out(50)
    launch(text, [result], block=50, outputs={0})
    assert result.tolist() == [t ^ 1 for t in range(50)]
    fails("race", kernel(EXCHANGE.replace("63", "1").format(sync=""), shared=BUF), [out(50)], block=50)


def test_arrival_does_not_order_what_comes_after_it() -> None:
    body = """mov.u64 %rd2, buf; and.b32 %r2, %r1, 31; mad.wide.u32 %rd3, %r2, 4, %rd2; setp.ge.u32 %p1, %r1, 32;
      @!%p1 st.shared.u32 [%rd3], 0; bar.sync 0; @%p1 bra CONSUMER;
      {first} bar.arrive 1, 64; {second} ret;
      CONSUMER: bar.sync 1, 64; ld.shared.u32 %r5, [%rd3]; ret;"""
    store = "st.shared.u32 [%rd3], %r1;"
    launch(kernel(body.format(first=store, second=""), shared=BUF), [out()], block=64)
    fails("race", kernel(body.format(first="", second=store), shared=BUF), [out()], block=64)
