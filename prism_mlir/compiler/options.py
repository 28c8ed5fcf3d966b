"""What a compilation may be told."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from prism_mlir.compiler.executors import PROCESSES
from prism_mlir.graph.errors import InputError
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tune.targets import DEFAULT_TARGET


class HostSignature(StrEnum):
    """What the function with the launches takes and returns.

    TENSOR: what the source function does; arguments and results lie in memory of the host, and are copied
    MEMREF: buffers in memory of the device, the results as last arguments; nothing is copied
    """

    TENSOR = "tensor"
    MEMREF = "memref"


class WorkspacePlace(StrEnum):
    """Who provides the buffers that kernels pass on: the function with the launches, or its caller as further arguments."""

    ALLOC = "alloc"
    ARGUMENT = "argument"


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Options of a compilation; the defaults are those of ``prism compile``.

    target:   a row of ``tune.targets``
    limits:   of the search
    function: which function of the module; ``None`` where there is only one
    samples:  schedules to rank, drawn over all proved graphs (all of them where there are fewer)
    builds:   best schedules to build before giving up
    seed:     of every random choice
    check:    run the emitted code on the PTX machine and compare it with the source
    profile:  let a GPU decide between the best few schedules
    jobs:     processes to search, prove, build and check with; the result is the same for any number
    executor: where they are, see ``executors.open_executor``
    keep_partial: after Ctrl-C in the search, go on with what was proved so far
    alternatives: also try to cut a program that can be built whole, and to put parts together; otherwise the first way that works
    exclude: fingerprints of proved graphs that are not to be built
    time_limit: seconds for everything; the best complete result by then counts (see ``anytime``)
    allow_tf32: products of f32 tensors may round their operands to tf32, for tensor cores; they are exact f32 otherwise
    host, workspace: of the function with the launches, see ``host_module``
    """

    target: str = DEFAULT_TARGET
    limits: SearchLimits = field(default_factory=SearchLimits)
    function: str | None = None
    samples: int = 2000
    builds: int = 32
    seed: int = 0
    check: bool = True
    profile: bool = False
    jobs: int = 1
    executor: str = PROCESSES
    keep_partial: bool = False
    alternatives: bool = True
    exclude: frozenset[str] = frozenset()
    time_limit: float | None = None
    allow_tf32: bool = False
    host: HostSignature = HostSignature.TENSOR
    workspace: WorkspacePlace = WorkspacePlace.ALLOC


def parse_duration(text: str) -> float:
    """Seconds from ``10s``, ``2.5min``, ``500ms``, ``1h`` or a plain number of seconds. Raises :class:`InputError`.

    >>> parse_duration("2min"), parse_duration("500ms"), parse_duration("10")
    (120.0, 0.5, 10.0)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ms|s|m|min|h)?", text.strip())
    if found is None:
        raise InputError(f"'{text}' is no time; write 10s, 2min, 500ms")
    return float(found[1]) * {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}[found[2] or "s"]
