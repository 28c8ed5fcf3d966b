"""Random kernels that may race, leave their arrays or disturb other blocks: both engines against an oracle that knows."""

from __future__ import annotations

import random

from agreement import FAST, REFERENCE, misjudgements
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from racy import RacyKernel

RANDOM = st.randoms(use_true_random=False)
SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow],
)


@given(RANDOM)
@settings(SETTINGS, max_examples=30)
def test_the_reference_engine_finds_what_is_wrong(rng: random.Random) -> None:
    kernel = RacyKernel(rng)
    assert not list(misjudgements(kernel, REFERENCE)), kernel.text()


@given(RANDOM)
@settings(SETTINGS, max_examples=9)
def test_both_engines_reach_one_verdict(rng: random.Random) -> None:
    kernel = RacyKernel(rng)
    assert not list(misjudgements(kernel, (*REFERENCE[1:], *FAST))), kernel.text()


def test_about_half_of_the_kernels_are_wrong() -> None:
    """Else the other tests would show little; every kind of fault is among them."""
    verdicts = [RacyKernel(random.Random(i)).verdict() for i in range(60)]
    wrong = [v.kinds for v in verdicts if v.kinds]
    assert 15 <= len(wrong) <= 45
    assert set().union(*wrong) == {"race", "bounds", "cross_block"}
