"""The arithmetic of ``benchmarks/schedule_choice.py``, against all draws one by one."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from random import Random
from statistics import mean

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from schedule_choice import expected_best


@pytest.mark.parametrize("k", range(1, 8))
def test_the_best_of_k_drawn_at_random_is_the_mean_over_all_draws(k: int) -> None:
    rng = Random(k)
    times = [rng.choice([1.0, 2.5, 7.0, 7.0, 30.0]) + rng.random() * (k % 2) for _ in range(7)]
    assert expected_best(times, k) == pytest.approx(mean(min(draw) for draw in combinations(times, k)))
