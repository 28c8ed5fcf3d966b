"""Measurements, each in a process of its own so that memory and caches of one do not count for another."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

Result = TypeVar("Result")


def isolated(function: Callable[..., Result], *arguments: Any) -> Result:
    """The result of a function of this or another module, called in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def peak_bytes() -> int:
    """Peak resident memory of this process, libraries included, from the start of its program on.

    ``ru_maxrss`` alone would not do: it keeps, across ``exec``, the size of the process that started this one
    (getrusage(2)). Where the kernel tells no ``VmHWM`` (proc(5)) it is what there is.
    """
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii", errors="replace").splitlines() if status.exists() else []
    for line in lines:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def peak_mb() -> float:
    """The same in MiB."""
    return peak_bytes() / (1 << 20)


def cpu_seconds(function: Callable[[], Result]) -> tuple[float, Result]:
    """CPU seconds of this process, which a busy machine lengthens less than wall clock."""
    started = time.process_time()
    result = function()
    return time.process_time() - started, result


def machine_seconds() -> float:
    """CPU seconds of a fixed loop in Python: how fast this machine is at this moment, for comparing runs."""
    return median(cpu_seconds(lambda: sum(range(10_000_000)))[0] for _ in range(3))
