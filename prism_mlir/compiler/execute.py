"""Run emitted kernels on the PTX machine, as their launch description says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.graph.errors import ExecutionError
from prism_mlir.graph.launch_info import KernelArgument, LaunchInfo, Role
from prism_mlir.runtime.ptx import Checks, Module, PtxError
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

Array = NDArray[Any]
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
        for launch in self.launch.kernels:
            unwritten = {k for k, a in enumerate(launch.arguments) if (a.role, a.index) not in buffers}
            unwritten = {k for k in unwritten if launch.arguments[k].role is not Role.INPUT}
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
            for k, missing in result.unwritten.items():
                raise ExecutionError(
                    f"emitted code is wrong: {missing} bytes of '{launch.arguments[k].name}' are not written"
                )
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
