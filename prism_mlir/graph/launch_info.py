"""How to launch what was emitted: the content of ``launch.json``, as code generation writes it and runtimes read it.

    {"kernels": [{"entry": "rms_norm_0", "ptx": "rms_norm_0.ptx", "grid": [64, 1, 1], "block": [128, 1, 1],
                  "shared_bytes": 65536,
                  "arguments": [{"role": "input", "index": 0, "name": "X", "dtype": "f16",
                                 "shape": [16, 1024], "strides": [1024, 1], "alignment": 16}, ...]}],
     "workspace": [4096]}

Kernels run in order. ``workspace`` lists the bytes of each temporary buffer that kernels pass on to later ones.

Code for dynamic sizes has several such descriptions in one file, see ``graph.dispatch``. There a kernel ends with an argument
``{"role": "size", "index": 0, "name": "x[0]"}`` for each size, an ``i32``, and numbers may depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import prod
from typing import Any

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.extent import Extent, row_major_extents
from prism_mlir.graph.ops import Shape
from prism_mlir.graph.program import row_major

MAX_THREADS = 1024
SIZE = "size"
"""The role of an argument that is no buffer but a dynamic size."""


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
    extents:        the shape at other sizes, where it depends on dynamic ones; the buffer is contiguous then
    """

    role: Role
    index: int
    name: str
    dtype: DType
    shape: Shape
    strides: tuple[int, ...]
    alignment: int
    extents: tuple[Extent, ...] | None = None

    def at(self, sizes: Sequence[int]) -> KernelArgument:
        """The argument at some dynamic sizes."""
        if self.extents is None:
            return self
        shape = tuple(e.at(sizes) for e in self.extents)
        return replace(self, shape=shape, strides=row_major(shape), extents=None)

    @property
    def bytes(self) -> int:
        """Bytes from the first element to the end of the last."""
        if not prod(self.shape):
            return 0
        return (1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))) * self.dtype.bytes


@dataclass(frozen=True, slots=True)
class SizeArgument:
    """A dynamic size that a kernel takes as ``i32``. index: among the sizes; value: at this launch, 0 where that is open."""

    index: int
    name: str
    value: int = 0


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One kernel: which function of which PTX file, how many blocks and threads, and its parameters: buffers, then sizes.

    blocks: the grid, where it depends on dynamic sizes; ``grid`` is that for the largest
    """

    entry: str
    ptx: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[KernelArgument, ...]
    blocks: tuple[Extent, Extent, Extent] | None = None
    sizes: tuple[SizeArgument, ...] = ()

    def at(self, sizes: Sequence[int]) -> KernelLaunch:
        """The launch at some dynamic sizes."""
        x, y, z = self.grid if self.blocks is None else (e.at(sizes) for e in self.blocks)
        arguments = tuple(a.at(sizes) for a in self.arguments)
        given = tuple(replace(s, value=sizes[s.index]) for s in self.sizes)
        return replace(self, grid=(x, y, z), arguments=arguments, blocks=None, sizes=given)


@dataclass(frozen=True, slots=True)
class LaunchInfo:
    """Everything a runtime needs beside the PTX itself."""

    kernels: tuple[KernelLaunch, ...]
    workspace: tuple[int, ...] = ()

    def at(self, sizes: Sequence[int]) -> LaunchInfo:
        """The launches at some dynamic sizes, and the workspace they need."""
        needed = tuple(e.at(sizes) for e in self.workspace_extents)
        return LaunchInfo(tuple(k.at(sizes) for k in self.kernels), needed)

    @property
    def workspace_extents(self) -> tuple[Extent, ...]:
        """Bytes of each workspace buffer at every size."""
        found = [Extent(n) for n in self.workspace]
        for argument in self.arguments(Role.WORKSPACE):
            if argument.extents is not None:
                found[argument.index] = Extent(argument.dtype.bytes)
                for extent in argument.extents:
                    found[argument.index] = found[argument.index] * extent
        return tuple(found)

    def arguments(self, role: Role) -> tuple[KernelArgument, ...]:
        """Each input, output or workspace buffer once, by index."""
        found = {a.index: a for k in self.kernels for a in k.arguments if a.role is role}
        return tuple(found[index] for index in sorted(found))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, in the order in which ``launch.json`` shows it."""
        return self.to_dynamic_dict(())

    def to_dynamic_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """As :meth:`to_dict`, where numbers may depend on sizes of these names."""
        return {"kernels": [_kernel_dict(k, names) for k in self.kernels], "workspace": list(self.workspace)}

    @staticmethod
    def from_dict(data: Any) -> LaunchInfo:
        """Read plain data. Raises :class:`InputError` that names the field that is missing or malformed."""
        return LaunchInfo.from_fields(Fields(data, ""), ())

    @staticmethod
    def from_fields(fields: Fields, names: Sequence[str]) -> LaunchInfo:
        """As :meth:`from_dict`, where numbers may depend on sizes of these names."""
        kernels = tuple(
            _read_kernel(Fields(k, fields.where(f"kernels[{n}]")), names) for n, k in enumerate(fields.list("kernels"))
        )
        workspace = tuple(fields.numbers("workspace"))
        info = LaunchInfo(kernels, workspace)
        for argument in info.arguments(Role.WORKSPACE):
            if argument.index >= len(workspace):
                raise InputError(
                    f"launch info: argument '{argument.name}' names workspace {argument.index}, there is none"
                )
        return info


def extent_data(extent: Extent | int, names: Sequence[str]) -> Any:
    """A number, or ``{"times": 2, "sizes": ["x[0]"], "over": 16}``."""
    if isinstance(extent, int) or not extent.dynamic:
        return extent if isinstance(extent, int) else extent.at(())
    data = {"times": extent.times, "sizes": [names[k] for k in extent.sizes]}
    return data | ({"over": extent.over} if extent.over != 1 else {})


def _kernel_dict(kernel: KernelLaunch, names: Sequence[str]) -> dict[str, Any]:
    return {
        "entry": kernel.entry,
        "ptx": kernel.ptx,
        "grid": [extent_data(e, names) for e in kernel.blocks or kernel.grid],
        "block": list(kernel.block),
        "shared_bytes": kernel.shared_bytes,
        "arguments": [
            *(_argument_dict(a, names) for a in kernel.arguments),
            *({"role": SIZE, "index": s.index, "name": s.name} for s in kernel.sizes),
        ],
    }


def _argument_dict(argument: KernelArgument, names: Sequence[str]) -> dict[str, Any]:
    strides = argument.strides if argument.extents is None else row_major_extents(argument.extents)
    return {
        "role": argument.role.value,
        "index": argument.index,
        "name": argument.name,
        "dtype": argument.dtype.value,
        "shape": [extent_data(e, names) for e in argument.extents or argument.shape],
        "strides": [extent_data(e, names) for e in strides],
        "alignment": argument.alignment,
    }


@dataclass(frozen=True, slots=True)
class Fields:
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

    def extents(self, name: str, names: Sequence[str]) -> tuple[Extent, ...]:
        """Numbers of which each may depend on sizes."""
        return tuple(self._extent(f"{name}[{k}]", v, names) for k, v in enumerate(self.list(name)))

    def _extent(self, name: str, value: Any, names: Sequence[str]) -> Extent:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return Extent(value)
        inner = Fields(value, self.where(name))
        if not names or not isinstance(value, Mapping):
            raise InputError(f"launch info: {self.where(name)} is no size")
        sizes = inner.list("sizes")
        unknown = [s for s in sizes if s not in names]
        if unknown:
            raise InputError(f"launch info: {inner.where('sizes')} names '{unknown[0]}', known are {', '.join(names)}")
        over = inner.number("over") if "over" in value else 1
        if not over:
            raise InputError(f"launch info: {inner.where('over')} is zero")
        return Extent(inner.number("times"), tuple(names.index(s) for s in sizes), over)

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


def _read_kernel(fields: Fields, names: Sequence[str]) -> KernelLaunch:
    block = fields.triple("block")
    if prod(block) > MAX_THREADS:
        raise InputError(f"launch info: {fields.where('block')} has {prod(block)} threads, the most is {MAX_THREADS}")
    arguments = [Fields(a, fields.where(f"arguments[{n}]")) for n, a in enumerate(fields.list("arguments"))]
    last = len(arguments) - len(names)
    launch = KernelLaunch(
        fields.text("entry"),
        fields.text("ptx"),
        (1, 1, 1) if names else fields.triple("grid"),
        block,
        fields.number("shared_bytes"),
        tuple(_read_argument(a, names) for a in arguments[: max(last, 0)]),
    )
    if not names:
        return launch
    grid = fields.extents("grid", names)
    if len(grid) != 3 or any(not e.times for e in grid):
        raise InputError(f"launch info: {fields.where('grid')} needs three positive sizes")
    sizes = tuple(_read_size(a, k, names) for k, a in enumerate(arguments[max(last, 0) :]))
    if last < 0:
        raise InputError(f"launch info: {fields.where('arguments')} lacks a size")
    return replace(launch, blocks=(grid[0], grid[1], grid[2]), sizes=sizes)


def _read_size(fields: Fields, k: int, names: Sequence[str]) -> SizeArgument:
    """The ``k``-th of the sizes, which end a kernel's arguments in their order."""
    if fields.text("role") != SIZE or fields.number("index") != k or fields.text("name") != names[k]:
        raise InputError(f"launch info: {fields.place} is not the size '{names[k]}'")
    return SizeArgument(k, names[k])


def _read_argument(fields: Fields, names: Sequence[str]) -> KernelArgument:
    if names:
        extents = fields.extents("shape", names)
        if fields.extents("strides", names) != row_major_extents(extents):
            raise InputError(f"launch info: {fields.where('strides')} are not those of a contiguous buffer")
        made = _read_static(fields, (), ())
        return replace(made, extents=extents)
    return _read_static(fields, tuple(fields.numbers("shape")), tuple(fields.numbers("strides")))


def _read_static(fields: Fields, shape: tuple[int, ...], strides: tuple[int, ...]) -> KernelArgument:
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
