"""Time loaded kernels on a GPU with events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from prism_mlir.graph.dtypes import from_float64
from prism_mlir.graph.launch_info import LaunchInfo, Role
from prism_mlir.runtime.cuda import CudaProgram, call, open_device

COLD_BYTES = 256 * 1024 * 1024  # several times any L2 cache: what was read this long ago is in no cache
MAX_SETS = 64
SEED = 0


class CudaTimer:
    """Runs a program once and says how long it took on the device. Each rotation reads another copy of the inputs."""

    def __init__(self, program: CudaProgram, sets: int) -> None:
        self._program = program
        self._sets = sets
        self._start = call(program.driver, "cuEventCreate", 0)
        self._stop = call(program.driver, "cuEventCreate", 0)

    def run_once(self, rotation: int) -> float:
        """Microseconds between an event before the first kernel and one after the last."""
        driver = self._program.driver
        call(driver, "cuEventRecord", self._start, 0)
        self._program.enqueue(rotation % self._sets)
        call(driver, "cuEventRecord", self._stop, 0)
        call(driver, "cuEventSynchronize", self._stop)
        return float(call(driver, "cuEventElapsedTime", self._start, self._stop)) * 1e3

    def close(self) -> None:
        for event in (self._start, self._stop):
            call(self._program.driver, "cuEventDestroy", event)


def buffer_sets(launch: LaunchInfo) -> int:
    """Copies of the buffers that together exceed any cache."""
    size = sum(a.bytes for role in (Role.INPUT, Role.OUTPUT) for a in launch.arguments(role))
    return min(MAX_SETS, max(1, -(-COLD_BYTES // max(1, size))))


@contextmanager
def prepared(driver: Any, launch: LaunchInfo, ptx: Mapping[str, str], ordinal: int = 0) -> Iterator[CudaTimer]:
    """A timer for a program whose inputs hold small random numbers (the same ones every time)."""
    sets = buffer_sets(launch)
    with open_device(driver, ordinal), CudaProgram(driver, launch, ptx, sets) as program:
        program.write(_random_arguments(launch))
        timer = CudaTimer(program, sets)
        try:
            yield timer
        finally:
            timer.close()


def _random_arguments(launch: LaunchInfo) -> list[Any]:
    """Arguments by index; floats in [-1, 1), integers 0 or 1. Arguments no kernel reads are empty."""
    rng = np.random.default_rng(SEED)
    inputs = launch.arguments(Role.INPUT)
    arguments: list[Any] = [np.empty(0)] * (1 + max((a.index for a in inputs), default=-1))
    for a in inputs:
        count = a.bytes // a.dtype.bytes
        values = rng.uniform(-1, 1, count) if a.dtype.is_float else rng.integers(0, 2, count).astype(np.float64)
        arguments[a.index] = from_float64(values, a.dtype)
    return arguments
