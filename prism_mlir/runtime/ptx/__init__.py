"""A machine that runs PTX on the CPU, checks it, and counts what it does.

>>> from prism_mlir.runtime.ptx import Module
>>> module = Module.load("kernel.ptx")                                              # doctest: +SKIP
>>> module.kernel("k").run(grid=(64,), block=(128,), args=[x, w, out], outputs={2})   # doctest: +SKIP
"""

from __future__ import annotations

from prism_mlir.runtime.ptx.checks import Checks
from prism_mlir.runtime.ptx.counters import Counters
from prism_mlir.runtime.ptx.errors import (
    CheckError,
    LaunchError,
    Location,
    PtxError,
    PtxSyntaxError,
    RuntimeLimit,
    TrapError,
)
from prism_mlir.runtime.ptx.machine import KernelHandle, Module, RunResult

__all__ = [
    "CheckError",
    "Checks",
    "Counters",
    "KernelHandle",
    "LaunchError",
    "Location",
    "Module",
    "PtxError",
    "PtxSyntaxError",
    "RunResult",
    "RuntimeLimit",
    "TrapError",
]
