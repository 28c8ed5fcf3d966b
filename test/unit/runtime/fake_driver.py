"""A CUDA driver for tests: device memory is a dictionary, kernels are Python functions over it.

It answers as ``cuda.bindings.driver`` does, with tuples that begin with a result code, and checks what a GPU would: addresses
are known, copies stay inside their buffers, shared memory beyond 48 KiB was asked for, nothing leaks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from enum import IntEnum
from typing import Any

Kernel = Callable[[list[bytearray]], None]


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_NOT_FOUND = 500


OK = CUresult.CUDA_SUCCESS
INVALID = CUresult.CUDA_ERROR_INVALID_VALUE


class FakeDriver:
    """``kernels`` maps entry names to what they do with their buffers; ``duration`` is what one launch takes, in ms."""

    class CUfunction_attribute:
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8

    class CUjit_option:
        CU_JIT_ERROR_LOG_BUFFER = 5
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6

    def __init__(self, kernels: dict[str, Kernel], duration: float = 0.5) -> None:
        self.kernels = kernels
        self.duration = duration
        self.clock = 0.0
        self.memory: dict[int, bytearray] = {}
        self.next_address = 0
        self.launches: list[tuple[str, tuple[int, ...], int, tuple[int, ...]]] = []
        self.shared: dict[str, int] = {}
        self.events: dict[int, float] = {}
        self.open: list[str] = []
        self.fail: dict[str, CUresult] = {}

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if name.startswith("cu") and name in object.__getattribute__(self, "fail"):
            code = self.fail[name]
            return lambda *_: (code, None)
        return value

    def cuInit(self, flags: int) -> tuple[CUresult]:
        return (OK if flags == 0 else INVALID,)

    def cuDeviceGet(self, ordinal: int) -> tuple[CUresult, int]:
        return (OK, ordinal) if ordinal == 0 else (CUresult.CUDA_ERROR_NO_DEVICE, 0)

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[CUresult, str]:
        self.open.append("context")
        return OK, "context"

    def cuDevicePrimaryCtxRelease(self, device: int) -> tuple[CUresult]:
        self.open.remove("context")
        return (OK,)

    def cuCtxSetCurrent(self, context: str) -> tuple[CUresult]:
        return (OK if context in self.open else INVALID,)

    def cuCtxSynchronize(self) -> tuple[CUresult]:
        return (OK,)

    def cuModuleLoadDataEx(self, image: bytes, count: int, options: Any, values: Any) -> tuple[CUresult, Any]:
        assert (count, tuple(options), values[1]) == (2, (5, 6), len(values[0]))
        if not image.endswith(b"\0") or not image.startswith(b".version"):
            values[0][:9] = b"no PTX\n\0\0"
            return CUresult.CUDA_ERROR_INVALID_PTX, None
        self.open.append("module")
        return OK, image.decode()

    def cuModuleUnload(self, module: str) -> tuple[CUresult]:
        self.open.remove("module")
        return (OK,)

    def cuModuleGetFunction(self, module: str, name: bytes) -> tuple[CUresult, str]:
        entry = name.decode()
        found = f".entry {entry}(" in module and entry in self.kernels
        return (OK, entry) if found else (CUresult.CUDA_ERROR_NOT_FOUND, "")

    def cuFuncSetAttribute(self, function: str, attribute: int, value: int) -> tuple[CUresult]:
        self.shared[function] = value
        return (OK if attribute == 8 else INVALID,)

    def cuMemAlloc(self, size: int) -> tuple[CUresult, int]:
        self.next_address += 4096
        address = self.next_address
        self.memory[address] = bytearray(b"\xee" * size)
        self.open.append("memory")
        return OK, address

    def cuMemFree(self, address: int) -> tuple[CUresult]:
        del self.memory[address]
        self.open.remove("memory")
        return (OK,)

    def cuMemcpyHtoD(self, target: int, source: int, size: int) -> tuple[CUresult]:
        if size > len(self.memory[target]):
            return (INVALID,)
        self.memory[target][:size] = ctypes.string_at(source, size)
        return (OK,)

    def cuMemcpyDtoH(self, target: int, source: int, size: int) -> tuple[CUresult]:
        if size > len(self.memory[source]):
            return (INVALID,)
        ctypes.memmove(target, bytes(self.memory[source][:size]), size)
        return (OK,)

    def cuLaunchKernel(self, function: str, *arguments: Any) -> tuple[CUresult]:
        *shape, shared, _stream, (values, types), extra = arguments
        if shared > max(48 * 1024, self.shared.get(function, 0)) or extra or len(shape) != 6:
            return (INVALID,)
        if any(t is not ctypes.c_void_p for t in types) or any(v not in self.memory for v in values):
            return (INVALID,)
        self.launches.append((function, tuple(shape), shared, values))
        self.kernels[function]([self.memory[v] for v in values])
        self.clock += self.duration
        return (OK,)

    def cuEventCreate(self, flags: int) -> tuple[CUresult, int]:
        self.open.append("event")
        handle = len(self.events) + 1
        self.events[handle] = -1.0
        return OK, handle

    def cuEventDestroy(self, event: int) -> tuple[CUresult]:
        self.open.remove("event")
        return (OK,)

    def cuEventRecord(self, event: int, stream: int) -> tuple[CUresult]:
        self.events[event] = self.clock
        return (OK,)

    def cuEventSynchronize(self, event: int) -> tuple[CUresult]:
        return (OK if self.events[event] >= 0 else INVALID,)

    def cuEventElapsedTime(self, start: int, stop: int) -> tuple[CUresult, float]:
        return OK, self.events[stop] - self.events[start]
