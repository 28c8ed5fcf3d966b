"""Tasks for tests of pools: they are imported by name in other processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from prism_mlir.graph.errors import CodegenError


class Counter:
    """A context that remembers; what it remembers does not cross."""

    def __init__(self, name: str) -> None:
        self.name, self.calls = name, 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Counter, (self.name,)


def count(counter: Counter) -> tuple[int, str, int]:
    """Process, and the name and calls of its context."""
    counter.calls += 1
    return os.getpid(), counter.name, counter.calls


def pid_of(_: object) -> int:
    return os.getpid()


def square(_: object, number: int) -> int:
    return number * number


def sleep(_: object, seconds: float) -> None:
    time.sleep(seconds)


def sleep_and_tell(_: object, seconds: float) -> int:
    """Process id, so late that others get some of the calls."""
    time.sleep(seconds)
    return os.getpid()


def mark_and_sleep(_: object, folder: str, number: int, seconds: float) -> None:
    """Leave a file that says that it ran."""
    (Path(folder) / str(number)).touch()
    time.sleep(seconds)


def square_late(_: object, number: int, folder: str) -> int:
    """Later numbers are ready first. Leaves a file that says that it ran."""
    (Path(folder) / f"ran {number}").touch()
    time.sleep(0.3 / (1 + number))
    return number * number


def fail(_: object, number: int) -> int:
    raise CodegenError(f"{number} is not wanted", None, "ask for another")


def die(_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(_: object, mark: str, number: int) -> int:
    """Kill this process unless some process did so before."""
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return number * number
    time.sleep(0.2)  # others have begun as well
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not reached")


_running = threading.Lock()


def alone(_: object) -> bool:
    """Whether no other thread of this process does the same."""
    got = _running.acquire(blocking=False)
    time.sleep(0.05)
    if got:
        _running.release()
    return got
