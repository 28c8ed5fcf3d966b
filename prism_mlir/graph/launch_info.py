"""How to launch what was emitted: the content of ``launch.json``, as code generation writes it and runtimes read it.

    {"kernels": [{"entry": "rms_norm_0", "ptx": "rms_norm_0.ptx", "grid": [64, 1, 1], "block": [128, 1, 1],
                  "shared_bytes": 65536,
                  "arguments": [{"role": "input", "index": 0, "name": "X", "dtype": "f16",
                                 "shape": [16, 1024], "strides": [1024, 1], "alignment": 16}, ...]}],
     "workspace": [4096]}

Kernels run in order. ``workspace`` lists the bytes of each temporary buffer that kernels pass on to later ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import Any

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.ops import Shape

MAX_THREADS = 1024


class Role(StrEnum):
    """Where the buffer behind a kernel argument comes from."""

    INPUT = "input"
    OUTPUT = "output"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """One pointer parameter of a kernel.

    index:          argument of the source function, its result, or entry of ``workspace``
    shape, strides: of the whole buffer, in elements
    alignment:      bytes that the kernel relies on
    """

    role: Role
    index: int
    name: str
    dtype: DType
    shape: Shape
    strides: tuple[int, ...]
    alignment: int

    @property
    def bytes(self) -> int:
        """Bytes from the first element to the end of the last."""
        if not prod(self.shape):
            return 0
        return (1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))) * self.dtype.bytes


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One kernel: which function of which PTX file, how many blocks and threads, and its parameters in order."""

    entry: str
    ptx: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[KernelArgument, ...]


@dataclass(frozen=True, slots=True)
class LaunchInfo:
    """Everything a runtime needs beside the PTX itself."""

    kernels: tuple[KernelLaunch, ...]
    workspace: tuple[int, ...] = ()

    def arguments(self, role: Role) -> tuple[KernelArgument, ...]:
        """Each input, output or workspace buffer once, by index."""
        found = {a.index: a for k in self.kernels for a in k.arguments if a.role is role}
        return tuple(found[index] for index in sorted(found))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, in the order in which ``launch.json`` shows it."""
        return {"kernels": [_kernel_dict(k) for k in self.kernels], "workspace": list(self.workspace)}

    @staticmethod
    def from_dict(data: Any) -> LaunchInfo:
        """Read plain data. Raises :class:`InputError` that names the field that is missing or malformed."""
        kernels = tuple(
            _read_kernel(_Fields(k, f"kernels[{n}]")) for n, k in enumerate(_Fields(data, "").list("kernels"))
        )
        workspace = tuple(_Fields(data, "").numbers("workspace"))
        info = LaunchInfo(kernels, workspace)
        for argument in info.arguments(Role.WORKSPACE):
            if argument.index >= len(workspace):
                raise InputError(
                    f"launch info: argument '{argument.name}' names workspace {argument.index}, there is none"
                )
        return info


def _kernel_dict(kernel: KernelLaunch) -> dict[str, Any]:
    return {
        "entry": kernel.entry,
        "ptx": kernel.ptx,
        "grid": list(kernel.grid),
        "block": list(kernel.block),
        "shared_bytes": kernel.shared_bytes,
        "arguments": [
            {
                "role": a.role.value,
                "index": a.index,
                "name": a.name,
                "dtype": a.dtype.value,
                "shape": list(a.shape),
                "strides": list(a.strides),
                "alignment": a.alignment,
            }
            for a in kernel.arguments
        ],
    }


@dataclass(frozen=True, slots=True)
class _Fields:
    """A JSON object with its place, for messages."""

    data: Any
    place: str

    def get(self, name: str, kind: type[Any]) -> Any:
        if not isinstance(self.data, Mapping) or name not in self.data:
            raise InputError(f"launch info: {self.where(name)} is missing")
        value = self.data[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"launch info: {self.where(name)} is no {kind.__name__}")
        return value

    def where(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def text(self, name: str) -> str:
        return str(self.get(name, str))

    def number(self, name: str) -> int:
        value = int(self.get(name, int))
        if value < 0:
            raise InputError(f"launch info: {self.where(name)} is negative")
        return value

    def list(self, name: str) -> list[Any]:
        return list(self.get(name, list))

    def numbers(self, name: str) -> Iterator[int]:
        for value in self.list(name):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise InputError(f"launch info: {self.where(name)} holds something other than sizes")
            yield value

    def triple(self, name: str) -> tuple[int, int, int]:
        values = tuple(self.numbers(name))
        if len(values) != 3 or 0 in values:
            raise InputError(f"launch info: {self.where(name)} needs three positive sizes")
        return values[0], values[1], values[2]

    def one_of(self, name: str, kind: type[StrEnum]) -> Any:
        value = self.text(name)
        if value not in list(kind):
            raise InputError(f"launch info: {self.where(name)} is '{value}', known are {', '.join(kind)}")
        return kind(value)


def _read_kernel(fields: _Fields) -> KernelLaunch:
    block = fields.triple("block")
    if prod(block) > MAX_THREADS:
        raise InputError(f"launch info: {fields.where('block')} has {prod(block)} threads, the most is {MAX_THREADS}")
    return KernelLaunch(
        fields.text("entry"),
        fields.text("ptx"),
        fields.triple("grid"),
        block,
        fields.number("shared_bytes"),
        tuple(
            _read_argument(_Fields(a, f"{fields.place}.arguments[{n}]")) for n, a in enumerate(fields.list("arguments"))
        ),
    )


def _read_argument(fields: _Fields) -> KernelArgument:
    shape, strides = tuple(fields.numbers("shape")), tuple(fields.numbers("strides"))
    if len(shape) != len(strides):
        raise InputError(f"launch info: {fields.where('strides')} and shape have different lengths")
    return KernelArgument(
        fields.one_of("role", Role),
        fields.number("index"),
        fields.text("name"),
        fields.one_of("dtype", DType),
        shape,
        strides,
        fields.number("alignment"),
    )
