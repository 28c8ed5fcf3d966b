"""A crash in the child is an exception in the parent."""

from __future__ import annotations

import os
import signal
import time

import pytest

from prism_mlir.codegen.isolate import ChildDiedError, run_isolated
from prism_mlir.graph.errors import InputError, Location


def test_result_comes_back_whole() -> None:
    assert run_isolated(lambda: "x" * 1_000_000) == "x" * 1_000_000
    assert run_isolated(lambda: None) is None


def test_runs_elsewhere() -> None:
    assert run_isolated(os.getpid) != os.getpid()


def test_typed_errors_keep_their_place() -> None:
    def fail() -> None:
        raise InputError("no", Location("a", 1, 2), "yes")

    with pytest.raises(InputError) as caught:
        run_isolated(fail)
    assert str(caught.value) == "a:1:2: error: no, yes"


def test_a_signal_is_reported_with_the_last_words(capfd: pytest.CaptureFixture[str]) -> None:
    def die() -> None:
        os.write(2, b"LLVM ERROR: out of luck\n")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ChildDiedError) as caught:
        run_isolated(die)
    assert caught.value.reason == "signal 9"
    assert caught.value.stderr == "LLVM ERROR: out of luck\n"
    assert capfd.readouterr() == ("", "")


def test_an_early_exit_is_reported() -> None:
    with pytest.raises(ChildDiedError, match="exit status 7"):
        run_isolated(lambda: os._exit(7))


def test_a_hang_ends() -> None:
    start = time.monotonic()
    with pytest.raises(ChildDiedError, match=r"no answer within 0\.2 s"):
        run_isolated(lambda: time.sleep(30), timeout=0.2)
    assert time.monotonic() - start < 5
