"""Run emitted kernels on the PTX machine, as their launch description says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.graph.errors import ExecutionError
from prism_mlir.graph.launch_info import KernelArgument, KernelLaunch, LaunchInfo, Role
from prism_mlir.runtime.ptx import Checks, Module, PtxError
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

Array = NDArray[Any]
_Key = tuple[Role, int]
LONG = 1 << 25  # instructions of all threads, from which on it pays to compile a kernel that is run again


class Emulator:
    """Emitted code, loaded once and run as often as needed.

    The first run has all checks. Where a kernel is long, further ones take the machine's compiled engine, which looks for less
    (no reads of what nothing wrote, for instance) and gives the same bits: which addresses emitted code uses, and in which
    order, does not depend on its inputs.
    """

    def __init__(self, launch: LaunchInfo, ptx: Mapping[str, str], checks: Checks | None = None) -> None:
        self.launch, self.checks = launch, checks
        self.modules = {name: Module.load(text, name=name) for name, text in ptx.items()}
        self.long: set[tuple[str, str]] = set()  # kernels that have passed all checks and are long

    def __call__(self, arguments: Sequence[Array]) -> tuple[Array, ...]:
        """Results of the function from its whole arguments. Raises :class:`ExecutionError` with the machine's report."""
        buffers: dict[tuple[Role, int], Array] = {}
        ledger = _Ledger(self.launch)
        for launch in self.launch.kernels:
            unwritten = ledger.open(launch, buffers)
            given: list[Array | int] = [self._buffer(buffers, a, arguments) for a in launch.arguments]
            given += [s.value for s in launch.sizes]
            kernel = launch.ptx, launch.entry
            try:
                result = (
                    self.modules[launch.ptx]
                    .kernel(launch.entry)
                    .run(
                        grid=launch.grid,
                        block=launch.block,
                        args=given,
                        shared_bytes=launch.shared_bytes,
                        checks=FAST_CHECKS if kernel in self.long else self.checks,
                        outputs=unwritten,
                        engine="auto" if kernel in self.long else "reference",
                    )
                )
            except PtxError as error:
                raise ExecutionError(f"emitted code is wrong: {error}") from None
            ledger.close(launch, buffers, result.unwritten)
            if self.checks is None and result.counters.thread_instructions >= LONG:
                self.long.add(kernel)
        results = {
            a.index: buffers[a.role, a.index] for k in self.launch.kernels for a in k.arguments if a.role is Role.OUTPUT
        }
        return tuple(results[k] for k in sorted(results))

    @staticmethod
    def _buffer(buffers: dict[tuple[Role, int], Array], argument: KernelArgument, arguments: Sequence[Array]) -> Array:
        key = (argument.role, argument.index)
        if key not in buffers:
            if argument.role is Role.INPUT:
                buffers[key] = np.ascontiguousarray(arguments[argument.index]).reshape(argument.shape)
            else:
                buffers[key] = np.zeros(argument.shape, argument.dtype.storage)
        return buffers[key]


class _Ledger:
    """Which bytes of results are still to be written: kernels may write a result together, each its own part."""

    def __init__(self, launch: LaunchInfo) -> None:
        self._writers = Counter(key for k in launch.kernels for key in {_key(a) for a in k.arguments})
        self._waiting = Counter(self._writers)
        self._missing: Counter[_Key] = Counter()

    def open(self, kernel: KernelLaunch, buffers: Mapping[_Key, Array]) -> set[int]:
        """Arguments of a kernel that hold nothing yet, or a result that others may have begun."""
        keys = [_key(a) for a in kernel.arguments]
        return {k for k, key in enumerate(keys) if key[0] is not Role.INPUT and self._may_be_empty(key, buffers)}

    def close(self, kernel: KernelLaunch, buffers: Mapping[_Key, Array], unwritten: Mapping[int, int]) -> None:
        """After a kernel that left some bytes of arguments alone. Raises :class:`ExecutionError` where nobody else can have
        written, or will write, that many."""
        self._waiting.subtract({_key(a) for a in kernel.arguments})
        left = {_key(kernel.arguments[k]): (count, kernel.arguments[k].name) for k, count in unwritten.items()}
        for key, (count, name) in left.items():
            self._missing[key] += count
            together = key[0] is Role.OUTPUT and self._writers[key] > 1
            others = (self._writers[key] - 1) * buffers[key].nbytes if together else 0
            if not (together and self._waiting[key]) and self._missing[key] > others:
                lost = self._missing[key] - others
                raise ExecutionError(f"emitted code is wrong: {lost} bytes of '{name}' are not written")

    def _may_be_empty(self, key: _Key, buffers: Mapping[_Key, Array]) -> bool:
        return key not in buffers or (key[0] is Role.OUTPUT and self._writers[key] > 1)


def _key(argument: KernelArgument) -> _Key:
    return argument.role, argument.index
