"""What a folder of ``prism compile`` holds, read: the input of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prism_mlir.graph.errors import InputError
from prism_mlir.report.data import Data


def launch_kernels(launch: Data) -> list[Data]:
    """All kernels that a launch description names, of all variants where there are several."""
    variants = launch.get("variants")
    rows = [launch] if variants is None else variants.list()
    return [kernel for row in rows for kernel in row["kernels"].list()]


@dataclass(frozen=True, slots=True)
class LineCounts:
    """What one line of PTX did in a mean block of its kernel.

    warps:  times that a warp issued it;  threads: the same, times active threads
    global_bytes, shared_bytes: that threads asked for, of global and of shared memory
    sectors: of 32 bytes of global memory; wavefronts: passes over shared memory, of which ``ideal`` without bank conflicts
    """

    warps: float = 0.0
    threads: float = 0.0
    global_bytes: float = 0.0
    shared_bytes: float = 0.0
    sectors: float = 0.0
    wavefronts: float = 0.0
    ideal: float = 0.0
    flops: float = 0.0


@dataclass(frozen=True, slots=True)
class Counted:
    """The lines of one PTX file, counted by running blocks of its kernels; ``note``: which blocks, or why nothing was counted."""

    lines: Mapping[int, LineCounts]
    note: str


@dataclass(frozen=True, slots=True)
class Contents:
    """The files of a folder.

    name:    of the folder
    files:   name and size in bytes of every file, by name
    written: when ``report.json`` was written, in words
    absent:  files that the page could use, and why it cannot
    ptx, counted: by file name
    certificate: of some of the proved graphs
    """

    name: str
    files: tuple[tuple[str, int], ...]
    written: str
    report: Data
    details: Data | None = None
    launch: Data | None = None
    certificate: Data | None = None
    ptx: Mapping[str, str] = field(default_factory=dict)
    counted: Mapping[str, Counted] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> list[Data]:
        """The parts as ``report.json`` has them."""
        return self.report["parts"].list()

    def detailed(self) -> Data:
        """``details.json``. Raises :class:`InputError` where there is none that can be used."""
        if self.details is None:
            raise InputError(self.absent.get("details.json", "the folder has no details.json"))
        return self.details

    def detailed_part(self, k: int) -> Data:
        """The k-th part in ``details.json``."""
        parts = self.detailed()["parts"].list()
        if k >= len(parts):
            raise InputError(f"details.json: parts has no [{k}]")
        return parts[k]
