"""Eight processes write one file and are killed at random; ``benchmarks/cache_hammer.py --seconds N`` does it for longer."""

from __future__ import annotations

from pathlib import Path

from cache_hammer import hammer


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    outcome = hammer(tmp_path, seconds=8, processes=8, seed=1)
    assert outcome.wrong == []
    assert outcome.killed >= 9  # the last eight at the end
    for kind in ("family", "choice", "measurement", "object", "step", "dropped", "contested"):
        assert outcome.acknowledged[kind] > 0
