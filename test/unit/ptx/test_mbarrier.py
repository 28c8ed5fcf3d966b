"""mbarrier: phases, counts and states on paper, what it orders, and what is wrong about its use."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import kernel, launch
from test_checks import fails, out

from prism_mlir.runtime.ptx import PtxSyntaxError

SHARED = ".shared .align 8 .b64 bar; .shared .align 16 .b8 buf[2048];"
# Thread 0 initialises the barrier for %r2 arrivals; %p1 holds in thread 0.
START = """mov.u64 %rd2, bar; mov.u64 %rd3, buf; mov.u32 %r2, {count}; setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared.b64 [%rd2], %r2; {sync}"""
ARRIVE = "mbarrier.arrive.shared.b64 %rd4, [%rd2];"
WAIT = "W{n}: mbarrier.test_wait.shared.b64 %p2, [%rd2], %rd4; @!%p2 bra W{n};"
OWN = "mad.wide.u32 %rd5, %r1, 4, %rd3;"
STORE = "mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.b32 [%rd1], %r5; ret;"
EXCHANGE = (
    OWN
    + "st.shared.b32 [%rd5], %r1; {meet} xor.b32 %r4, %r1, 63; mad.wide.u32 %rd6, %r4, 4, %rd3;"
    + "ld.shared.b32 %r5, [%rd6];"
)


def text(body: str, count: int = 64, sync: str = "bar.sync 0;") -> str:
    return kernel(START.format(count=count, sync=sync) + body, shared=SHARED)


PARITY = "mov.u32 %r9, 0; W: mbarrier.test_wait.parity.shared.b64 %p2, [%rd2], %r9; @!%p2 bra W;"
TRY = "W: mbarrier.try_wait.shared::cta.b64 %p2, [%rd2], %rd4, 1000; @!%p2 bra W;"
FORMS = """mbarrier.arrive.release.cta.shared::cta.b64 %rd4, [%rd2];
  W: mbarrier.test_wait.acquire.cta.shared::cta.b64 %p2, [%rd2], %rd4;"""


@pytest.mark.parametrize("meet", [ARRIVE + WAIT.format(n=0), ARRIVE + PARITY, ARRIVE + TRY, FORMS + "@!%p2 bra W;",
                                  "cvta.shared.u64 %rd2, %rd2; " + (ARRIVE + WAIT.format(n=0)).replace(".shared", ""),
                                  "mbarrier.arrive_drop.shared.b64 %rd4, [%rd2];" + WAIT.format(n=0)])  # fmt: skip
def test_all_threads_meet(meet: str) -> None:
    """Arriving releases and waiting acquires: each thread reads what another one stored before it arrived."""
    result = out()
    launch(text(EXCHANGE.format(meet=meet) + STORE), [result], block=64, outputs={0})
    assert result.tolist() == [63 - t for t in range(64)]


@pytest.mark.parametrize(
    "meet", [ARRIVE, "mbarrier.arrive.shared.b64 %rd4, [%rd2]; mbarrier.test_wait.shared.b64 %p2, [%rd2], %rd4;", ""]
)
def test_arriving_alone_orders_nothing(meet: str) -> None:
    error = fails("race", text(EXCHANGE.format(meet=meet) + STORE, count=65), [out()], block=64)
    assert error.address.startswith("buf+")


def test_initialisation_must_be_ordered() -> None:
    fails("race", text(ARRIVE + "ret;", sync=""), [out()], block=64)
    fails("race", text(ARRIVE + "@%p1 mbarrier.inval.shared.b64 [%rd2]; ret;"), [out()], block=64)
    launch(text(ARRIVE + "bar.sync 0; @%p1 mbarrier.inval.shared.b64 [%rd2]; ret;"), [out()], block=64)


def test_states_phases_and_counts() -> None:
    """One thread; the barrier waits for 3. Pending counts that arrivals see: 3, 2, 1, then 3 of the next phase; with one dropped
    there, 2 are left, and from the phase after it on only 2 are waited for: 2, 1, and 2 again."""
    steps = [("arrive", 3), ("arrive", 2), ("arrive", 1), ("arrive_drop", 3), ("arrive", 2), ("arrive", 1), ("arrive", 2),
             ("arrive", 1), ("arrive", 2)]  # fmt: skip
    count = "mbarrier.pending_count.b64 %r3, %rd4; st.global.b32"
    code = "".join(f"mbarrier.{name}.shared.b64 %rd4, [%rd2]; {count} [%rd1+{4 * i}], %r3;"
                   for i, (name, _) in enumerate(steps))  # fmt: skip
    result = out(9)
    launch(text(code + "ret;", count=3), [result], block=1, outputs={0})
    assert result.tolist() == [left for _, left in steps]


def test_waiting_tells_whether_a_phase_is_over() -> None:
    """The barrier waits for 2. After each arrival: is the phase of the first state over, and that of parities 0 and 1?"""
    ask = "mbarrier.test_wait.shared.b64 %p2, [%rd2], %rd7; selp.b32 %r3, 1, 0, %p2; st.global.b32 [%rd1+{0}], %r3;"
    for parity, extra in ((0, 4), (1, 8)):
        ask += f"mbarrier.test_wait.parity.shared.b64 %p2, [%rd2], {parity}; selp.b32 %r3, 1, 0, %p2;"
        ask += f"st.global.b32 [%rd1+{{{extra // 4}}}], %r3;"
    code = (
        ARRIVE
        + "mov.b64 %rd7, %rd4;"
        + ask.format(0, 4, 8)
        + ARRIVE
        + ask.format(12, 16, 20)
        + ARRIVE
        + ask.format(24, 28, 32)
    )
    result = out(9)
    launch(text(code + "ret;", count=2), [result], block=1, outputs={0})
    assert result.tolist() == [0, 0, 1, 1, 1, 0, 1, 1, 0]


def test_counts_of_arrivals() -> None:
    """noComplete leaves one of 4 open; on sm_90 an arrival may stand for several."""
    code = "mbarrier.arrive.noComplete.shared.b64 %rd4, [%rd2], 3;" + ARRIVE + WAIT.format(n=0)
    launch(
        text(code + "mbarrier.arrive.shared.b64 %rd4, [%rd2], 4;" + WAIT.format(n=1) + "ret;", count=4),
        [out()],
        block=1,
    )
    fails("barrier", text("mbarrier.arrive.noComplete.shared.b64 %rd4, [%rd2], 4; ret;", count=4), [out()], block=1)


def test_producers_and_consumers() -> None:
    """A ring of two stages with a barrier for "full" and one for "empty" each, by parities; 6 rounds.

    Warp 0 fills, warp 1 sums."""
    shared = ".shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2]; .shared .align 16 .b8 buf[256];"
    body = """mov.u64 %rd2, full; mov.u64 %rd3, empty; mov.u64 %rd4, buf; setp.ne.u32 %p1, %r1, 0; @%p1 bra GO;
      mbarrier.init.shared.b64 [%rd2], 32; mbarrier.init.shared.b64 [%rd2+8], 32;
      mbarrier.init.shared.b64 [%rd3], 32; mbarrier.init.shared.b64 [%rd3+8], 32;
      GO: bar.sync 0; mov.u32 %r2, 0; mov.u32 %r9, 0; and.b32 %r3, %r1, 31; setp.ge.u32 %p2, %r1, 32; @%p2 bra CONSUME;
      PRODUCE: and.b32 %r4, %r2, 1; mad.wide.u32 %rd5, %r4, 8, %rd2; mad.wide.u32 %rd6, %r4, 8, %rd3;
        shr.u32 %r5, %r2, 1; and.b32 %r5, %r5, 1; xor.b32 %r5, %r5, 1;
        WE: mbarrier.test_wait.parity.shared.b64 %p3, [%rd6], %r5; @!%p3 bra WE;
        mad.lo.u32 %r6, %r4, 32, %r3; mad.wide.u32 %rd7, %r6, 4, %rd4; mad.lo.u32 %r7, %r2, 100, %r3; st.shared.b32 [%rd7], %r7;
        mbarrier.arrive.shared.b64 _, [%rd5]; add.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 6; @%p4 bra PRODUCE; ret;
      CONSUME: and.b32 %r4, %r2, 1; mad.wide.u32 %rd5, %r4, 8, %rd2; mad.wide.u32 %rd6, %r4, 8, %rd3;
        shr.u32 %r5, %r2, 1; and.b32 %r5, %r5, 1;
        WF: mbarrier.test_wait.parity.shared.b64 %p3, [%rd5], %r5; @!%p3 bra WF;
        xor.b32 %r6, %r3, 31; mad.lo.u32 %r6, %r4, 32, %r6; mad.wide.u32 %rd7, %r6, 4, %rd4; ld.shared.b32 %r7, [%rd7];
        add.u32 %r9, %r9, %r7; {empty} add.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 6; @%p4 bra CONSUME;
      mad.wide.u32 %rd1, %r3, 4, %rd1; st.global.b32 [%rd1], %r9; ret;"""
    result = out(32)
    launch(
        kernel(body.format(empty="mbarrier.arrive.shared.b64 _, [%rd6];"), shared=shared),
        [result],
        block=64,
        outputs={0},
    )
    assert result.tolist() == [sum(100 * r + (31 - t) for r in range(6)) for t in range(32)]
    early = body.format(empty="").replace(
        "xor.b32 %r6, %r3, 31;", "mbarrier.arrive.shared.b64 _, [%rd6]; xor.b32 %r6, %r3, 31;"
    )
    fails("race", kernel(early, shared=shared), [out(32)], block=64)  # "empty" is said before the data have been read


COPY = (
    """mul.wide.u32 %rd5, %r1, 16; add.s64 %rd6, %rd3, %rd5; add.s64 %rd7, %rd1, %rd5;
  cp.async.cg.shared.global [%rd6], [%rd7], 16; {signal} {wait} xor.b32 %r4, %r1, 63; mad.wide.u32 %rd8, %r4, 16, %rd3;
  ld.shared.b32 %r5, [%rd8]; ld.param.u64 %rd1, [p1]; """
    + STORE
)
SIGNAL = "cp.async.mbarrier.arrive.shared.b64 [%rd2];"
NOINC = "cp.async.mbarrier.arrive.noinc.shared.b64 [%rd2];"


def copies(signal: str, wait: str, count: int) -> str:
    body = START.format(count=count, sync="bar.sync 0;") + COPY.format(signal=signal, wait=wait)
    return kernel(body, ".param .u64 p0, .param .u64 p1", SHARED.replace("2048", "1024"))


@pytest.mark.parametrize(
    ("signal", "wait", "count"),
    [(NOINC, PARITY, 64), (SIGNAL + ARRIVE, WAIT.format(n=0), 64), (NOINC + ARRIVE, WAIT.format(n=0), 128),
     (SIGNAL.replace(".shared", "").replace("%rd2", "%rd9") + ARRIVE, PARITY, 64)],
)  # fmt: skip
def test_copies_signal_a_barrier(signal: str, wait: str, count: int) -> None:
    """No thread waits for its own copies: the barrier does."""
    x, result = np.arange(256, dtype=np.uint32), out()
    body = copies(signal, wait, count).replace(
        "mul.wide.u32 %rd5, %r1, 16;", "cvta.shared.u64 %rd9, %rd2; mul.wide.u32 %rd5, %r1, 16;"
    )
    launch(body, [x, result], block=64, outputs={1})
    assert result.tolist() == [4 * (63 - t) for t in range(64)]


def test_copies_that_do_not_signal_stay_pending() -> None:
    x = np.arange(256, dtype=np.uint32)
    error = fails("async_copy", copies(ARRIVE, WAIT.format(n=0), 64), [x, out()], block=64)
    assert error.address.startswith("buf+")
    late = copies(NOINC + "cp.async.ca.shared.global [%rd6], [%rd7], 4;", PARITY, 64)  # after the signal
    fails("async_copy", late, [x, out()], block=64)


@pytest.mark.parametrize(
    ("body", "count", "what"),
    [
        (ARRIVE + ARRIVE + "ret;", 1, ""),  # two phases: allowed
        (
            ARRIVE + "mov.b64 %rd7, %rd4;" + ARRIVE * 2 + "mbarrier.test_wait.shared.b64 %p2, [%rd2], %rd7; ret;",
            1,
            "neither the current",
        ),
        ("mbarrier.test_wait.parity.shared.b64 %p2, [%rd2], 2; ret;", 1, "neither the current"),
        ("mbarrier.arrive.shared.b64 %rd4, [%rd2], 3; ret;", 2, "3 arrivals where the phase waits for 2"),
        ("mbarrier.arrive.shared.b64 %rd4, [%rd2], 0; ret;", 2, "0 arrivals"),
        ("mbarrier.inval.shared.b64 [%rd2];" + ARRIVE + "ret;", 2, "no valid mbarrier"),
        ("st.shared.b64 [%rd2], 0;" + ARRIVE + "ret;", 2, "no valid mbarrier"),
        ("ret;", 0, "cannot wait for 0 arrivals"),
        ("ret;", 1 << 20, "cannot wait for 1048576 arrivals"),
        (
            "mbarrier.arrive_drop.shared.b64 %rd4, [%rd2];" + ARRIVE + "ret;",
            1,
            "1 arrivals where the phase waits for 0",
        ),
    ],
)
def test_misuse(body: str, count: int, what: str) -> None:
    if not what:
        launch(text(body, count=count), [out()], block=1)
        return
    error = fails("barrier", text(body, count=count), [out()], block=1)
    assert what in error.message and error.address == "bar+0 of 8 bytes"


def test_uninitialised_and_misaligned_objects() -> None:
    fails("uninitialised", kernel("mov.u64 %rd2, bar;" + ARRIVE + "ret;", shared=SHARED), [out()], block=1)
    fails("alignment", text(ARRIVE.replace("[%rd2]", "[%rd3+4]") + "ret;"), [out()], block=1)


@pytest.mark.parametrize("form", ["arrive.shared.b32 %r2, [%rd1]", "init.global.b64 [%rd1], 3",
                                  "test_wait.shared.b64.parity %p1, [%rd1], %r1", "arrive.expect_tx.shared.b64 %rd2, [%rd1], 8",
                                  "wait.shared.b64 %p1, [%rd1], %rd2",
                                  "pending_count.shared.b64 %r1, %rd2", "complete_tx.shared.b64 [%rd1], 8"])  # fmt: skip
def test_forms_that_are_not_known(form: str) -> None:
    with pytest.raises(PtxSyntaxError, match="unknown instruction"):
        launch(kernel(f"mbarrier.{form}; ret;"), [out()])


def test_targets() -> None:
    for code, what in ((TRY, "sm_90"), ("mbarrier.arrive.shared.b64 %rd4, [%rd2], 2;", "sm_90")):
        with pytest.raises(PtxSyntaxError, match=what):
            launch(text(code + "ret;").replace("sm_90", "sm_80"), [out()])
    launch(text(ARRIVE + WAIT.format(n=0) + "ret;", count=1).replace("sm_90", "sm_80"), [out()], block=1)


def test_the_fast_engine_leaves_it_to_the_reference_engine() -> None:
    result = out()
    done = launch(text(EXCHANGE.format(meet=ARRIVE + WAIT.format(n=0)) + STORE), [result], block=64, engine="fast")
    assert done.engine == "reference" and "mbarrier" in done.fallback_reason
    assert result.tolist() == [63 - t for t in range(64)]
