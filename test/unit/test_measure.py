"""Measurements of memory (``benchmarks/harness/measure.py``)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
CHILD = "from harness.measure import peak_bytes; print(peak_bytes())"
PARENT = (
    f"import subprocess, sys; held = b'x' * (400 << 20); subprocess.run([sys.executable, '-c', {CHILD!r}], check=True)"
)


STATUS = Path("/proc/self/status")


@pytest.mark.skipif(
    not STATUS.exists() or "VmHWM:" not in STATUS.read_text(), reason="the system tells no peak of one program"
)
def test_the_memory_of_the_process_that_starts_one_is_not_counted() -> None:
    """The child imports the standard library only; its parent holds 400 MiB."""
    done = subprocess.run([sys.executable, "-c", PARENT], cwd=BENCHMARKS, capture_output=True, text=True, check=True)
    assert 1 << 20 < int(done.stdout) < 200 << 20


def test_memory_of_the_process_itself_is_counted() -> None:
    script = f"held = b'x' * (300 << 20); {CHILD}"
    done = subprocess.run([sys.executable, "-c", script], cwd=BENCHMARKS, capture_output=True, text=True, check=True)
    assert 300 << 20 <= int(done.stdout) < 500 << 20
