"""Damaged files for every command that reads files, for a while. ``PRISM_FUZZ_SECONDS`` says how long (60 if it is not set).

``benchmarks/robustness.py`` does the same for as long as you like, and repeats an input by its seed.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

sys.path.append(str(Path(__file__).parent / "fuzz"))

from command_targets import SMALL, TARGETS, Target, attempt
from fork_server import CRASHED, Limits, run
from text_grammar import MODULE
from text_mutations import MUTATIONS, damage

from prism_mlir.graph.errors import PrismError
from prism_mlir.tools.module_reader import new_context, read_ir

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "robustness.py"
SECONDS = os.environ.get("PRISM_FUZZ_SECONDS", "60")


@pytest.mark.extras
def test_a_damaged_file_is_an_error_with_a_place() -> None:
    """In a process of its own: children of one that has egglog's threads would wait for them for ever."""
    command = [sys.executable, str(SCRIPT), "--count", "0", "--seconds", SECONDS]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert int(outcome.stdout.splitlines()[-1].split()[0]) > 0


@given(MODULE)
@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_text_of_the_grammar_is_a_module_or_an_error_with_a_place(text: str) -> None:
    try:
        read_ir(text, "a.mlir", new_context())
    except PrismError as error:
        assert error.location is not None and error.location.file == "a.mlir"
        assert str(error).isprintable()


def test_the_oracle_sees_what_is_wrong(tmp_path: Path) -> None:
    """Of a command that reads a good file; and of calls that crash, die and hang."""
    opt = next(t for t in TARGETS if t.name == "opt")
    outcome, faults = attempt(opt, SMALL, tmp_path / "good")
    assert (outcome.code, faults) == (0, [])
    outcome, faults = attempt(opt, SMALL.replace(b"->", b"<-", 1), tmp_path / "bad")
    assert (outcome.code, faults) == (1, [])
    usage = Target("usage", "prism", ("compile", "IN"), lambda: ())
    assert attempt(usage, SMALL, tmp_path / "usage")[1] != []
    assert run(lambda: 1 // 0, tmp_path).code == CRASHED
    assert run(os.abort, tmp_path).ending == "SIGABRT"
    assert run(lambda: time.sleep(60) or 0, tmp_path, Limits(wall_seconds=0.5)).code is None
    assert run(lambda: len(bytearray(9 << 30)), tmp_path).code == CRASHED


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.__name__)
def test_mutations_are_bytes_and_repeat(mutation: object) -> None:
    assert callable(mutation)
    for seed in range(20):
        made = [mutation(random.Random(seed), SMALL, [b"other", SMALL]) for _ in range(2)]
        assert made[0] == made[1] and isinstance(made[0], bytes)
    assert len({damage(random.Random(seed), SMALL, [SMALL]) for seed in range(50)}) > 40
    for empty in (b"", b"\n"):
        mutation(random.Random(0), empty, [b""])
