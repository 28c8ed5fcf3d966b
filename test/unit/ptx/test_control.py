"""Branches, loops, barriers, exits: divergence must not change results."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import kernel, launch

from prism_mlir.runtime.ptx import RuntimeLimit, TrapError
from prism_mlir.runtime.ptx.cfg import weak_topological_order


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


COLLATZ = """mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x; mad.lo.u32 %r7, %r5, %r6, %r1; add.u32 %r2, %r7, 1; mov.u32 %r3, 0;
LOOP: setp.eq.u32 %p1, %r2, 1; @%p1 bra DONE;
      and.b32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 1; @%p2 bra ODD;
      shr.u32 %r2, %r2, 1; bra NEXT;
ODD:  mad.lo.u32 %r2, %r2, 3, 1;
NEXT: add.u32 %r3, %r3, 1; bra.uni LOOP;
DONE: mad.wide.u32 %rd1, %r7, 4, %rd1; st.global.u32 [%rd1], %r3; ret;"""


@pytest.mark.parametrize(("block", "grid"), [(32, 1), (50, 3), (128, 4)])
def test_divergent_loop(block: int, grid: int) -> None:
    out = np.zeros(block * grid, dtype=np.uint32)
    result = launch(kernel(COLLATZ), [out], block=block, grid=grid, outputs={0})
    assert out.tolist() == [collatz(i + 1) for i in range(block * grid)]
    assert result.counters.divergent_branches > 0


def test_batches_do_not_matter() -> None:
    out = [np.zeros(400, dtype=np.uint32) for _ in range(2)]
    for array, lanes in zip(out, (64, 8192), strict=True):
        launch(kernel(COLLATZ), [array], block=40, grid=10, outputs={0}, lanes_per_batch=lanes)
    assert (out[0] == out[1]).all()


def test_guarded_instructions_and_early_exit() -> None:
    out = np.full(64, 9, dtype=np.uint32)
    body = """mad.wide.u32 %rd1, %r1, 4, %rd1; setp.ge.u32 %p1, %r1, 40; @%p1 exit; mov.u32 %r2, 1; setp.lt.u32 %p2, %r1, 20;
      @%p2 mov.u32 %r2, 2; @!%p2 add.u32 %r2, %r2, 2; st.global.u32 [%rd1], %r2; bar.sync 0; ret;"""
    launch(kernel(body), [out], block=64)
    assert out.tolist() == [2] * 20 + [3] * 20 + [9] * 24


def test_indirect_branch() -> None:
    out = np.zeros(32, dtype=np.uint32)
    body = """and.b32 %r2, %r1, 3; mad.wide.u32 %rd1, %r1, 4, %rd1;
      TABLE: .branchtargets A, B, C, A;
      brx.idx %r2, TABLE;
      A: mov.u32 %r3, 100; bra OUT; B: mov.u32 %r3, 200; bra OUT; C: mov.u32 %r3, 300;
      OUT: st.global.u32 [%rd1], %r3; ret;"""
    launch(kernel(body), [out], outputs={0})
    assert out.tolist() == [100, 200, 300, 100] * 8


def test_nested_scopes_hide_names() -> None:
    out = np.zeros(32, dtype=np.uint32)
    body = "mov.u32 %r2, 5; { .reg .b32 %r2; mov.u32 %r2, 7; mov.u32 %r3, %r2; }"
    body += "add.u32 %r3, %r3, %r2; mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.u32 [%rd1], %r3; ret;"
    launch(kernel(body), [out], outputs={0})
    assert out.tolist() == [12] * 32


@pytest.mark.parametrize("batch", [64, 8192])
def test_blocks_with_different_trip_counts_share_a_barrier(batch: int) -> None:
    """Each block sums through shared memory as often as its index says; barriers are per block."""
    out = np.zeros((6, 64), dtype=np.uint32)
    body = """mov.u32 %r2, %ctaid.x; mov.u64 %rd2, buf; mad.wide.u32 %rd3, %r1, 4, %rd2; xor.b32 %r3, %r1, 63;
    mad.wide.u32 %rd4, %r3, 4, %rd2;
      mov.u32 %r4, %r1; mov.u32 %r5, 0;
      LOOP: setp.ge.u32 %p1, %r5, %r2; @%p1 bra OUT;
      st.shared.u32 [%rd3], %r4; bar.sync 0; ld.shared.u32 %r6, [%rd4]; bar.sync 0; add.u32 %r4, %r4, %r6;
      add.u32 %r5, %r5, 1; bra LOOP;
      OUT: mad.lo.u32 %r7, %r2, 64, %r1; mad.wide.u32 %rd1, %r7, 4, %rd1; st.global.u32 [%rd1], %r4; ret;"""
    text = kernel(body, shared=".shared .align 4 .b8 buf[256];")
    launch(text, [out], block=64, grid=6, outputs={0}, lanes_per_batch=batch)
    for b in range(6):
        value = np.arange(64)
        for _ in range(b):
            value = value + value[::-1]
        assert out[b].tolist() == value.tolist()


def test_producer_and_consumer_warps_with_named_barriers() -> None:
    out = np.zeros(32, dtype=np.uint32)
    body = """mov.u64 %rd2, buf; and.b32 %r2, %r1, 31; mad.wide.u32 %rd3, %r2, 4, %rd2; setp.ge.u32 %p1, %r1, 32;
    @%p1 bra CONSUMER;
      mul.lo.u32 %r3, %r1, 3; st.shared.u32 [%rd3], %r3; bar.arrive 1, 64; ret;
      CONSUMER: bar.sync 1, 64; xor.b32 %r4, %r2, 31; mad.wide.u32 %rd4, %r4, 4, %rd2; ld.shared.u32 %r5, [%rd4];
      mad.wide.u32 %rd1, %r2, 4, %rd1; st.global.u32 [%rd1], %r5; ret;"""
    launch(kernel(body, shared=".shared .align 4 .b8 buf[128];"), [out], block=64, outputs={0})
    assert out.tolist() == [3 * (31 - i) for i in range(32)]


@pytest.mark.parametrize(
    ("form", "value"), [("popc.u32 %r2, 0, %p1", 48), ("and.pred %p2, 0, %p1", 0), ("or.pred %p2, 0, %p1", 1)]
)
def test_reducing_barriers(form: str, value: int) -> None:
    out = np.full(64, 99, dtype=np.uint32)
    tail = "" if "popc" in form else "selp.b32 %r2, 1, 0, %p2;"
    body = f"setp.lt.u32 %p1, %r1, 48; bar.red.{form}; {tail} mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.u32 [%rd1], %r2; ret;"
    launch(kernel(body), [out], block=64, outputs={0})
    assert out.tolist() == [value] * 64


def test_runaway_loop_stops() -> None:
    with pytest.raises(RuntimeLimit, match=r"k.ptx:\d+:\d+: error: kernel 'k' has not ended after 1000 instructions"):
        launch(kernel("L: bra L;"), [np.zeros(1)], max_steps=1000)


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_instructions_that_a_kernel_cannot_see(engine: str) -> None:
    """Sleep, profiler events, dependent grids, a breakpoint without a debugger: data pass by, and each counts once a warp."""
    idle = ["nanosleep.u32 20", "nanosleep.u32 %r1", "pmevent 3", "pmevent.mask 5", "griddepcontrol.wait",
            "griddepcontrol.launch_dependents", "brkpt"]  # fmt: skip
    body = "mad.wide.u32 %rd1, %r1, 4, %rd1; {} st.global.u32 [%rd1], %r1; ret;"
    x, y = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    with_them = launch(kernel(body.format("; ".join(idle) + ";")), [x], block=64, engine=engine)
    without = launch(kernel(body.format("")), [y], block=64, engine=engine)
    assert x.tolist() == y.tolist() == list(range(64))
    assert with_them.engine == engine
    more = with_them.counters.warp_instructions["hint"] - without.counters.warp_instructions.get("hint", 0)
    assert more == len(idle) * 2


def test_trap_names_the_thread() -> None:
    with pytest.raises(TrapError, match=r"thread \(5, 0, 0\) of block \(1, 0, 0\)"):
        launch(
            kernel("mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 100, %r1; setp.eq.u32 %p1, %r3, 105; @%p1 trap; ret;"),
            [np.zeros(1)],
            grid=2,
        )


def test_order_keeps_loops_together() -> None:
    """0 -> loop {1, 2} -> 3, with the exit laid out before the loop's second half."""
    order = weak_topological_order([[1], [2, 3], [1], []])
    assert order == [0, 1, 2, 3]
    nested = weak_topological_order([[2], [5], [3, 1], [4], [3, 2], []])
    assert sorted(nested) == [0, 1, 2, 3, 4, 5]
    assert nested[0] < nested[2] < nested[3] < nested[4] < nested[1] < nested[5]
