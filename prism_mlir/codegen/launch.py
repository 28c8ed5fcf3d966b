"""What a host needs to run emitted kernels: ``launch.json``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.ops import Shape

POINTER_ALIGNMENT = 16
"""Bytes to which every buffer must be aligned; device allocations are aligned to 256."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A kernel argument: a pointer to a contiguous buffer.

    role:      ``input``, ``constant``, ``workspace`` or ``output``
    index:     position among the program's arguments, constants, workspace buffers or results
    shape:     of the whole buffer; ``strides`` in elements
    alignment: bytes
    data:      contents of a constant
    """

    role: str
    index: int
    name: str
    dtype: DType
    shape: Shape
    strides: tuple[int, ...]
    alignment: int = POINTER_ALIGNMENT
    data: bytes | None = None

    def to_dict(self) -> dict[str, Any]:
        """The argument as JSON values."""
        result: dict[str, Any] = {
            "role": self.role,
            "index": self.index,
            "name": self.name,
            "dtype": str(self.dtype),
            "shape": list(self.shape),
            "strides": list(self.strides),
            "alignment": self.alignment,
        }
        return result if self.data is None else {**result, "data": self.data.hex()}


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One kernel launch; grid and block in blocks and threads, shared memory in bytes."""

    entry: str
    ptx: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    static_shared: int
    dynamic_shared: int
    arguments: tuple[Argument, ...]

    def to_dict(self) -> dict[str, Any]:
        """The launch as JSON values."""
        return {
            "entry": self.entry,
            "ptx": self.ptx,
            "grid": list(self.grid),
            "block": list(self.block),
            "shared_memory": {"static": self.static_shared, "dynamic": self.dynamic_shared},
            "arguments": [a.to_dict() for a in self.arguments],
        }


@dataclass(frozen=True, slots=True)
class LaunchInfo:
    """Kernels in order of launch, and the buffers that carry values from one to another."""

    kernels: tuple[KernelLaunch, ...]
    workspace: tuple[Argument, ...] = ()

    def with_ptx(self, file: str) -> LaunchInfo:
        """The same launches, naming the file that holds the kernels."""
        return replace(self, kernels=tuple(replace(k, ptx=file) for k in self.kernels))

    def to_dict(self) -> dict[str, Any]:
        """The contents of ``launch.json``."""
        return {
            "kernels": [k.to_dict() for k in self.kernels],
            "workspace": [w.to_dict() for w in self.workspace],
        }
