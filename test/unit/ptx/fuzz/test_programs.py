"""Random kernels on both engines, against the generator's own interpreter. ``benchmarks/ptx_fuzz.py`` runs many more."""

from __future__ import annotations

import random

import generator
import numpy as np
from agreement import BARE, FAST, REFERENCE, disagreements
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ptx_harness import kernel, launch

RANDOM = st.randoms(use_true_random=False)
SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow],
)


@given(RANDOM)
@settings(SETTINGS, max_examples=20)
def test_the_reference_engine_does_what_the_interpreter_does(rng: random.Random) -> None:
    case = generator.draw(rng)
    assert not list(disagreements(case, REFERENCE)), case.text


@given(RANDOM)
@settings(SETTINGS, max_examples=8)
def test_both_engines_do_the_same(rng: random.Random) -> None:
    case = generator.draw(rng)
    assert not list(disagreements(case, (*REFERENCE[:1], *rng.choice((FAST, BARE))))), case.text


def test_most_programs_are_compiled() -> None:
    """What is drawn is mostly what the fast engine has; ``disagreements`` finds fallbacks among these."""
    cases = [generator.draw(random.Random(i)) for i in range(40)]
    assert sum(case.compiled for case in cases) >= 24
    assert sum(case.exact for case in cases) >= 32


# Faults that random programs have found.


def test_blocks_that_have_ended_pass_no_barriers() -> None:
    """Block 0 ends at once, block 1 passes three barriers, whether they run together or not."""
    text = kernel("""mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; @%p1 ret; mov.u32 %r3, 0;
      L: bar.sync 0; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 3; @%p2 bra L; ret;""")
    for lanes in (1, 16384):
        assert launch(text, [np.zeros(1, np.uint32)], block=40, grid=2, lanes_per_batch=lanes).counters.barriers == 3


def test_an_atomic_in_a_loop_is_no_spin() -> None:
    """Threads that come by an atomic meet the others as soon as those that come by an addition."""
    text = """mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1; and.b32 %r7, %r1, 3; and.b32 %r8, %r1, 4;
      setp.eq.u32 %p5, %r8, 0; mov.u32 %r4, 2; bra H;
      X: OP; bra F;
      D: setp.eq.u32 %p3, %r7, 0; @%p3 bra R;
      H: setp.eq.u32 %p1, %r4, 0; @%p1 bra E; sub.u32 %r4, %r4, 1; bra D;
      Q: bra X; E: ret; W: bra H; R: @%p5 bra Q; bra W; F: bra H;"""
    counts = [
        launch(kernel(text.replace("OP", op)), [np.zeros(64, np.uint32)]).counters.warp_instructions["branch"]
        for op in ("atom.global.or.b32 %r5, [%rd2], %r1", "add.u32 %r5, %r1, 1")
    ]
    assert counts[0] == counts[1]


def test_what_only_another_way_leads_to_does_not_keep_threads_apart() -> None:
    """All warps of a block go to V; threads diverge and meet again at F. The barrier at A, where other blocks go, lies
    between in the order in which diverged threads run."""
    text = kernel("""mov.u32 %r6, %ctaid.x; setp.ne.u32 %p1, %r6, 0; and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 0;
      mov.u32 %r3, 0; mov.u32 %r4, 2; bra H;
      D: add.u32 %r3, %r3, 9; bra F;
      C: add.u32 %r3, %r3, 7; bra F;
      J: mov.u32 %r5, 1; bra K;
      M: sub.u32 %r5, %r5, 1; bra K;
      E: mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r3; ret;
      K: setp.eq.u32 %p4, %r5, 0; @%p4 bra H; bra M;
      A: bar.sync 0; bra J;
      U: @%p1 bra A; bra V;
      H: setp.eq.u32 %p3, %r4, 0; @%p3 bra E; sub.u32 %r4, %r4, 1; bra U;
      F: bra J;
      V: @%p2 bra C; bra D;""")
    out = np.zeros(64, np.uint32)
    result = launch(text, [out], block=64, engine="fast")
    assert result.engine == "fast", result.fallback_reason
    assert out.tolist() == [14, 18] * 32
