"""What each argument for a harmless mutant says of small kernels, of which one can see by hand whether it holds."""

from __future__ import annotations

import numpy as np
import pytest
from harness import ptx_paths
from harness.ptx_cases import Case, Launch
from harness.ptx_judge import harmless
from harness.ptx_mutants import Mutant, mutants
from harness.ptx_order import Trace
from harness.ptx_watch import watched
from ptx_harness import kernel
from test_checks import BUF, COPY, EXCHANGE, SETUP, TWO

from prism_mlir.runtime.ptx import Checks
from prism_mlir.runtime.ptx.parser import parse

SYNC = "bar.sync 0;"
STORE = "mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], %r3; ret;"


def case(text: str, block: int = 64, arrays: int = 1) -> Case:
    """Kernel ``k`` on arrays that hold 0, 1, 2, …"""
    program = parse(text, "k.ptx")
    args = tuple(np.arange(256, dtype=np.uint32) for _ in range(arrays))
    launch = Launch((1,), (block,), 0, args, frozenset(), lambda _: True)
    return Case("k", text, program, program.kernels["k"], lambda _: launch, 1)


def mutant(of: Case, kind: str, text: str, change: str = "") -> Mutant:
    """The first mutant of a kind, of the instruction that has ``text`` in it."""
    return next(m for m in mutants(of.kernel) if m.kind == kind and text in m.original.text and change in m.change)


# -- control flow -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("between", "named"),
    [
        ("add.u32 %r3, %r1, 1;", True),
        ("ld.shared.b32 %r3, [%rd4];", False),
        ("setp.lt.u32 %p1, %r1, 7; @%p1 bra OVER; st.shared.b32 [%rd3], %r1; OVER:", False),
        ("setp.lt.u32 %p1, %r1, 7; @%p1 bra OVER; add.u32 %r3, %r1, 1; OVER:", True),
    ],
)
def test_two_barriers_with_nothing_between(between: str, named: bool) -> None:
    body = SETUP + f"st.shared.b32 [%rd3], %r1; {SYNC} {between} {SYNC} ld.shared.b32 %r3, [%rd4];" + STORE
    c = case(kernel(body, shared=BUF))
    first, second = (m for m in mutants(c.kernel) if m.kind == "barrier")
    assert [ptx_paths.argument(c.kernel, m) for m in (first, second)] == ["next barrier" if named else ""] * 2


def test_a_barrier_at_the_end_orders_nothing() -> None:
    c = case(kernel(SETUP + f"st.shared.b32 [%rd3], %r1; {SYNC} ret;", shared=BUF))
    assert ptx_paths.argument(c.kernel, mutant(c, "barrier", "bar")) == "next barrier"
    loop = SETUP + f"mov.u32 %r5, 0; AGAIN: st.shared.b32 [%rd3], %r1; {SYNC} add.u32 %r5, %r5, 1;"
    c = case(kernel(loop + "setp.lt.u32 %p1, %r5, 3; @%p1 bra AGAIN; ret;", shared=BUF))
    assert ptx_paths.argument(c.kernel, mutant(c, "barrier", "bar")) == ""


@pytest.mark.parametrize(
    ("waits", "named"),
    [
        ("cp.async.wait_group 1; cp.async.wait_group 0;", True),
        ("cp.async.wait_group 0; cp.async.wait_all;", True),
        ("cp.async.wait_group 0; cp.async.wait_group 1;", False),
        ("cp.async.wait_group 1; bar.sync 0; cp.async.wait_all;", False),
        ("cp.async.wait_group 1; ld.shared.b32 %r9, [%rd4]; cp.async.wait_all;", False),
        ("cp.async.wait_group 1; cp.async.commit_group; cp.async.wait_group 1;", False),
    ],
)
def test_two_waits(waits: str, named: bool) -> None:
    c = case(kernel(COPY.format(wait=waits, other=0), TWO, BUF), 32, 2)
    m = next(m for m in mutants(c.kernel) if m.kind == "wait")
    assert ptx_paths.argument(c.kernel, m) == ("next wait" if named else "")


# -- all accesses -------------------------------------------------------------------------------------------------

COPIED = {"": True, "cp.async.wait_group 2;": True, "bar.sync 0;": True, "cp.async.wait_group 1;": False}


@pytest.mark.parametrize(
    ("text", "block", "arrays", "conflict"),
    [
        (kernel(EXCHANGE.format(sync=""), shared=BUF), 64, 1, True),
        (kernel(EXCHANGE.format(sync=SYNC), shared=BUF), 64, 1, False),
        (kernel(SETUP + "st.shared.b32 [%rd3], %r1; ld.shared.b32 %r3, [%rd3];" + STORE, shared=BUF), 64, 1, False),
        *((kernel(COPY.format(wait=w, other=0), TWO, BUF), 32, 2, bad) for w, bad in COPIED.items()),
        (kernel(COPY.format(wait="cp.async.wait_group 1;", other=3), TWO, BUF), 32, 2, True),
        (kernel(COPY.format(wait="cp.async.wait_group 1; bar.sync 0;", other=3), TWO, BUF), 32, 2, False),
        # One value to one cell by all threads of a block, in one instruction; then two values.
        (kernel("mov.u64 %rd2, buf; st.shared.b32 [%rd2], 7; ret;", shared=BUF), 64, 1, False),
        (kernel("mov.u64 %rd2, buf; st.shared.b32 [%rd2], %r1; ret;", shared=BUF), 64, 1, True),
        # Halves of one word, and a word with its half.
        (kernel("mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 2, %rd2; cvt.u16.u32 %h1, %r1; st.shared.b16 [%rd3], %h1; ret;",
                shared=BUF), 64, 1, False),
        (kernel("mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 2, %rd2; setp.lt.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 1;"
                "@%p1 st.shared.b32 [%rd3], %r1; mov.b16 %h1, 3; @%p2 st.shared.b16 [%rd3], %h1; ret;", shared=BUF), 64, 1, True),
        # Global memory: the machine has no check for this.
        (kernel("st.global.b32 [%rd1], %r1; ret;"), 64, 1, True),
        (kernel("mov.b32 %r3, 1;" + STORE), 64, 1, False),
    ],
)  # fmt: skip
def test_order(text: str, block: int, arrays: int, conflict: bool) -> None:
    c = case(text, block, arrays)
    trace = Trace()
    c.launches[0].run(watched(c.program, c.kernel, trace), Checks.none())
    assert bool(trace.conflict()) == conflict and not trace.unsupported


def test_order_says_what_it_does_not_understand() -> None:
    c = case(kernel(EXCHANGE.replace("63", "31").format(sync="bar.warp.sync 0xffffffff;"), shared=BUF), 32)
    trace = Trace()
    c.launches[0].run(watched(c.program, c.kernel, trace), Checks.none())
    assert trace.unsupported.startswith("bar.warp.sync")


# -- where changed values go --------------------------------------------------------------------------------------

HALF = "setp.lt.u32 %p1, %r1, 32;"
LANE = "and.b32 %r5, %r1, 31; setp.eq.u32 %p1, %r5, 0; mov.u32 %r4, 5;"
ROW = "mad.wide.u32 %rd2, %r1, 4, %rd1;"
SHARED = "mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 4, %rd2;"


@pytest.mark.parametrize(
    ("body", "kind", "of", "argument"),
    [
        ("mov.u32 %r3, 5; mov.u32 %r3, 6;", "init", "%r3, 5", "dead"),
        ("mov.u32 %r3, 5; mov.u32 %r3, 6;", "init", "%r3, 6", ""),
        ("mov.u32 %r3, 5; mov.u32 %r3, 5;", "init", "%r3, 5", "dead"),
        ("mov.u32 %r3, 5; mov.u32 %r4, 7; add.u32 %r5, %r4, 1;", "init", "%r4, 7", "unused"),
        ("mov.u32 %r3, 5; mov.u32 %r4, 7; add.u32 %r3, %r4, 1;", "init", "%r4, 7", ""),
        (f"{HALF} mov.u32 %r3, 5; mov.u32 %r4, 7; selp.b32 %r3, %r4, %r3, %p1;", "init", "%r4, 7", ""),
        ("setp.lt.u32 %p1, %r1, 64; mov.u32 %r3, 5; mov.u32 %r4, 7; selp.b32 %r3, %r3, %r4, %p1;", "init", "%r4, 7", "unused"),
        (f"{HALF} mov.u32 %r3, 5; @%p1 mov.u32 %r3, 6;", "guard", "%r3, 6", ""),
        ("setp.lt.u32 %p1, %r1, 64; mov.u32 %r3, 5; @%p1 mov.u32 %r3, 6;", "guard", "%r3, 6", "no effect"),
        ("mov.u32 %r3, 5; bra OVER; mov.u32 %r3, 6; OVER:", "init", "%r3, 6", "not executed"),
        # What is changed decides where a thread goes, whether it acts, or where it reads.
        (f"{HALF} mov.u32 %r3, 5; @%p1 bra OVER; mov.u32 %r4, 6; OVER:", "operands", "setp", ""),
        (f"{HALF} mov.u32 %r3, 5; @%p1 mov.u32 %r4, 6;", "operands", "setp", ""),
        (f"mov.u32 %r3, 5; {SHARED} st.shared.b32 [%rd3], %r1; mov.u32 %r4, 4; cvt.u64.u32 %rd4, %r4; add.u64 %rd4, %rd4, %rd2;"
         "ld.shared.b32 %r5, [%rd4];", "init", "%r4, 4", ""),
        # A branch: threads do, or do not, what it jumps over.
        (f"{HALF} mov.u32 %r3, 5; @%p1 bra OVER; mov.u32 %r4, 6; OVER:", "guard", "bra", "dead"),
        (f"{HALF} mov.u32 %r3, 5; @%p1 bra OVER; mov.u32 %r3, 6; OVER:", "guard", "bra", ""),
        (f"{HALF} mov.u32 %r3, 5; @%p1 bra OVER; bar.sync 0; OVER:", "guard", "bra", ""),
        (f"{HALF} @%p1 bra ELSE; mov.u32 %r3, 5; bra.uni OVER; ELSE: mov.u32 %r3, 5; OVER:", "guard", "bra", "no effect"),
        (f"{HALF} @%p1 bra ELSE; mov.u32 %r3, 5; bra.uni OVER; ELSE: mov.u32 %r3, 6; OVER:", "guard", "bra", ""),
        # Shared memory carries what is changed, 16 bits by 16 bits.
        (f"mov.u32 %r3, 5; {SHARED} mov.u32 %r4, 7; st.shared.b32 [%rd3], %r4; st.shared.b32 [%rd3], 9;"
         "ld.shared.b32 %r3, [%rd3];", "init", "%r4, 7", "unused"),
        (f"{SHARED} mov.u32 %r4, 7; st.shared.b32 [%rd3], %r4; ld.shared.b32 %r3, [%rd3];", "init", "%r4, 7", ""),
        (f"{SHARED} mov.b16 %h1, 7; mov.b16 %h2, 8; st.shared.v2.b16 [%rd3], {{%h1, %h2}}; ld.shared.u16 %r3, [%rd3];",
         "init", "%h2, 8", "unused"),
        (f"{SHARED} mov.b16 %h1, 7; mov.b16 %h2, 8; st.shared.v2.b16 [%rd3], {{%h1, %h2}}; ld.shared.u16 %r3, [%rd3+2];",
         "init", "%h2, 8", ""),
        # A result that is overwritten is none.
        (f"mov.u32 %r3, 5; {ROW} mov.u32 %r4, 7; st.global.b32 [%rd2], %r4;", "init", "%r4, 7", "unused"),
        (f"mov.u32 %r3, 5; {ROW} mov.u32 %r4, 7; st.global.b32 [%rd2], %r4; add.u64 %rd1, %rd1, 512;", "init", "%r4, 7", ""),
        # Lanes above 0 have the changed value; all read lane 0, or lane 1.
        (f"{LANE} @%p1 mov.u32 %r4, 7; shfl.sync.idx.b32 %r3, %r4, 0, 31, -1;", "guard", "%r4, 7", "unused"),
        (f"{LANE} @%p1 mov.u32 %r4, 7; shfl.sync.idx.b32 %r3, %r4, 1, 31, -1;", "guard", "%r4, 7", ""),
    ],
)  # fmt: skip
def test_flow(body: str, kind: str, of: str, argument: str) -> None:
    c = case(kernel(body + STORE, shared=BUF))
    found, holds = harmless(c, mutant(c, kind, of))
    assert holds == bool(argument), found
    assert not argument or found == argument


ONES, TWOS = "0x3c003c00", "0x40004000"  # halves 1, 1 and 2, 2
MMA = """mov.b32 %r4, {first}; mov.b32 %r4, {second}; mov.b32 %r5, 0; mov.b32 %r6, {b}; mov.b32 %r7, 0;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%r10, %r11, %r12, %r13}}, {{%r4, %r5, %r5, %r5}}, {{%r6, %r6}},
    {{%r7, %r7, %r7, %r7}}; mov.b32 %r3, %r{d};"""


@pytest.mark.parametrize(
    ("first", "b", "d", "argument"),
    [
        (ONES, "0", 10, "unused"),  # a changed factor times zero
        (ONES, ONES, 10, ""),  # rows 0 to 7 of D
        (ONES, ONES, 12, "unused"),  # rows 8 to 15 do not depend on register 0 of A
        ("0x7c003c00", "0", 10, ""),  # infinity times zero is no zero
    ],
)
def test_flow_through_mma(first: str, b: str, d: int, argument: str) -> None:
    """The second of two values of an A register is left out, so that the mutant has the first one."""
    c = case(kernel(MMA.format(first=first, second=TWOS, b=b, d=d) + STORE))
    found, holds = harmless(c, mutant(c, "init", TWOS))
    assert (found if holds else "") == argument


def test_halves_of_k() -> None:
    """Registers of A and of B must trade places together, unless those of one are the same."""
    text = MMA.format(first=ONES, second=TWOS, b=ONES, d=10).replace("%r5, %r5, %r5", "%r5, %r7, %r5")
    for b, alone in (("{%r6, %r6}", "same products"), ("{%r6, %r5}", "")):
        c = case(kernel(text.replace("{%r6, %r6}", b) + STORE))
        every = {m.change: m for m in mutants(c.kernel) if m.kind == "fragment"}
        assert ptx_paths.argument(c.kernel, every["A: halves of k"]) == alone
    assert ptx_paths.argument(c.kernel, every["A and B: halves of k"]) == "same products"
