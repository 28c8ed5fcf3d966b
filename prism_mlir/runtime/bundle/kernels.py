"""Kernels as their launch description says, loaded with buffers of their own.

A launch description is a ``launch.json`` of ``prism compile``. Kernels of others may also have arguments of role ``number`` (an
f32 by value) and ``null`` (a pointer that the kernel does not use).
"""

from __future__ import annotations

import ctypes
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from .driver import GpuError, call, load_module, release
from .gpu import STREAM, Gpu
from .inputs import STORAGE, Array

STATIC_SHARED_LIMIT = 48 * 1024  # beyond this a kernel must opt in (CUDA programming guide, "shared memory")
POISON = 0xFF  # in every byte of a number: NaN in each floating type
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i1": 1, "i8": 1, "i32": 4, "i64": 8}


class Kernels:
    """Kernels on the current device, with ``sets`` copies of all their buffers. Use it as a context manager.

    folder: where the PTX files are that the description names

    Raises :class:`CudaError` where the driver refuses something, :class:`GpuError` where the description is not followed.
    """

    as_source = False  # kernels may not err as much as the source program does

    def __init__(self, gpu: Gpu, launch: dict[str, Any], folder: Path, sets: int) -> None:
        self.gpu, self.driver, self.launch, self.folder, self.sets = gpu, gpu.driver, launch, folder, sets
        self._cleanup = ExitStack()
        self._functions: list[Any] = []
        self._buffers: list[dict[tuple[str, int], Any]] = []

    def __enter__(self) -> Kernels:
        with ExitStack() as stack:
            names = list(dict.fromkeys(k["ptx"] for k in self.launch["kernels"]))
            modules = {name: self._module(name, stack) for name in names}
            self._functions = [self._function(modules[k["ptx"]], k) for k in self.launch["kernels"]]
            self._buffers = [
                {key: self.gpu.allocate(size, stack) for key, size in sizes(self.launch).items()}
                for _ in range(self.sets)
            ]
            self._cleanup = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def write(self, inputs: list[Array]) -> None:
        """Copy inputs (by index) into every set."""
        first, *others = self._buffers
        for argument in arguments(self.launch, "input"):
            key, array = ("input", argument["index"]), np.ascontiguousarray(inputs[argument["index"]])
            if array.nbytes != size_of(argument):
                raise GpuError(
                    f"argument '{argument['name']}' has {array.nbytes} bytes, the kernel wants {size_of(argument)}"
                )
            call(self.driver, "cuMemcpyHtoD", first[key], array.ctypes.data, array.nbytes)
            for buffers in others:
                call(self.driver, "cuMemcpyDtoD", buffers[key], first[key], array.nbytes)

    def poison(self) -> None:
        """Fill outputs and what kernels pass on with NaN, so that what is not written shows."""
        for buffers in self._buffers:
            for key, size in sizes(self.launch).items():
                if key[0] != "input":
                    call(self.driver, "cuMemsetD8Async", buffers[key], POISON, size, STREAM)

    def enqueue(self, which: int) -> None:
        """Launch all kernels in order, on one set of buffers."""
        for kernel, function in zip(self.launch["kernels"], self._functions):
            values, types = zip(*(self._parameter(a, which) for a in kernel["arguments"]))
            shape = (*kernel["grid"], *kernel["block"], kernel["shared_bytes"])
            call(self.driver, "cuLaunchKernel", function, *shape, STREAM, (values, types), 0)

    def outputs(self, which: int) -> list[Array]:
        """Copy the results of a set to the host, each in its shape."""
        found = []
        for argument in arguments(self.launch, "output"):
            size, dtype = size_of(argument), np.dtype(STORAGE[argument["dtype"]])
            flat = np.empty(size // dtype.itemsize, dtype=dtype)
            source = self._buffers[which]["output", argument["index"]]
            call(self.driver, "cuMemcpyDtoH", flat.ctypes.data, source, size)
            strides = tuple(s * dtype.itemsize for s in argument["strides"])
            found.append(np.lib.stride_tricks.as_strided(flat, tuple(argument["shape"]), strides).copy())
        return found

    def _parameter(self, argument: dict[str, Any], which: int) -> tuple[Any, Any]:
        if argument["role"] == "number":
            return argument["value"], ctypes.c_float
        if argument["role"] == "null":
            return 0, ctypes.c_void_p
        return int(self._buffers[which][argument["role"], argument["index"]]), ctypes.c_void_p

    def _module(self, name: str, stack: ExitStack) -> Any:
        try:
            text = (self.folder / name).read_text(encoding="utf-8")
        except OSError as error:
            raise GpuError(f"cannot read '{name}', which the launch description names: {error.strerror}") from None
        module = load_module(self.driver, text)
        stack.callback(release, self.driver, "cuModuleUnload", module)
        return module

    def _function(self, module: Any, kernel: dict[str, Any]) -> Any:
        function = call(self.driver, "cuModuleGetFunction", module, kernel["entry"].encode())
        if kernel["shared_bytes"] > STATIC_SHARED_LIMIT:
            attribute = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call(self.driver, "cuFuncSetAttribute", function, attribute, kernel["shared_bytes"])
        return function


def arguments(launch: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """Each input or output once, by index."""
    found = {a["index"]: a for k in launch["kernels"] for a in k["arguments"] if a["role"] == role}
    return [found[index] for index in sorted(found)]


def size_of(argument: dict[str, Any]) -> int:
    """Bytes from the first element to the end of the last."""
    if 0 in argument["shape"]:
        return 0
    last = sum((n - 1) * s for n, s in zip(argument["shape"], argument["strides"]))
    return int((1 + last) * BYTES[argument["dtype"]])


def sizes(launch: dict[str, Any]) -> dict[tuple[str, int], int]:
    """Bytes of each buffer."""
    found = {(role, a["index"]): size_of(a) for role in ("input", "output") for a in arguments(launch, role)}
    found.update({("workspace", k): size for k, size in enumerate(launch["workspace"])})
    return found
