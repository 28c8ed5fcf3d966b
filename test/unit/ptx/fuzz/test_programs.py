"""Random kernels on both engines, against the generator's own interpreter. ``benchmarks/ptx_fuzz.py`` runs many more."""

from __future__ import annotations

import random

import generator
from agreement import BARE, FAST, REFERENCE, disagreements
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RANDOM = st.randoms(use_true_random=False)
SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow],
)


@given(RANDOM)
@settings(SETTINGS, max_examples=25)
def test_the_reference_engine_does_what_the_interpreter_does(rng: random.Random) -> None:
    case = generator.draw(rng)
    assert not list(disagreements(case, REFERENCE)), case.text


@given(RANDOM)
@settings(SETTINGS, max_examples=10)
def test_both_engines_do_the_same(rng: random.Random) -> None:
    case = generator.draw(rng)
    assert not list(disagreements(case, (*REFERENCE[:1], *rng.choice((FAST, BARE))))), case.text


def test_most_programs_are_compiled() -> None:
    """What is drawn is mostly what the fast engine has; ``disagreements`` finds fallbacks among these."""
    cases = [generator.draw(random.Random(i)) for i in range(40)]
    assert sum(case.compiled for case in cases) >= 24
    assert sum(case.exact for case in cases) >= 32
