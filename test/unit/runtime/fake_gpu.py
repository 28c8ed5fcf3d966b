"""A CUDA driver for tests of the profiler: it runs PTX for real, keeps the time, and breaks when told to.

Kernels run on the PTX machine, so that outputs are what emitted code computes. Time is kept on two lines, as on a real system:
the host's, which every call moves on, and the device's, on which work is put one after the other; an event is over once the
host's time has reached it. What is in the L2 is modelled as the buffers read since the last large ``memset``.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from fake_driver import CUresult as Basic
from fake_driver import FakeDriver

from prism_mlir.runtime.ptx import Module, PtxError
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

OK = Basic.CUDA_SUCCESS
LARGE = 64 << 20  # memory of which only the size is kept
MEGAHERTZ = 1000
L2_BYTES = 40 << 20
CALL_US, POLL_US, HANG_POLL_US = 1.0, 5.0, 100_000.0


class Code(int):
    """A result code with a name, as the bindings have them."""

    name: str

    @staticmethod
    def of(value: int, name: str) -> Code:
        code = Code(value)
        code.name = name
        return code


NOT_READY = Code.of(600, "CUDA_ERROR_NOT_READY")
ILLEGAL = Code.of(700, "CUDA_ERROR_ILLEGAL_ADDRESS")
INVALID_PTX = Code.of(218, "CUDA_ERROR_INVALID_PTX")


@dataclass
class Behaviour:
    """What is special about a kernel.

    cold_us, warm_us: of a launch whose buffers are not in the L2, and are
    fault:            at a launch (they count from 1) and from then on: hang, illegal, skip (nothing is written), wrong (the
                      first byte of the last buffer is turned over)
    """

    cold_us: float = 20.0
    warm_us: float = 10.0
    fault: str = ""
    at: int = 1
    launches: int = 0

    def now(self) -> str:
        self.launches += 1
        return self.fault if self.launches >= self.at else ""


class FakeGpu(FakeDriver):
    """``kernels`` by entry name; others behave as a ``Behaviour`` without faults. ``log`` has every call in order."""

    class CUdevice_attribute:
        CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
        CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36
        CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76

    ATTRIBUTES = {13: MEGAHERTZ * 1000, 16: 108, 36: 1_215_000, 38: L2_BYTES, 75: 8, 76: 0}  # noqa: RUF012

    def __init__(self, behaviours: dict[str, Behaviour] | None = None) -> None:
        super().__init__({})
        self.behaviours = behaviours or {}
        self.log: list[tuple[str, tuple[Any, ...]]] = []
        self.host_us = 0.0
        self.device_us = 0.0
        self.dead = False
        self.pending = False
        self.cached: set[int] = set()
        self.large: dict[int, int] = {}
        self.results: dict[Any, list[bytes]] = {}
        self.contexts = 0

    def seconds(self) -> float:
        """Seconds of the host."""
        self.host_us += CALL_US
        return self.host_us * 1e-6

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if not name.startswith("cu") or not callable(value):
            return value

        def logged(*arguments: Any) -> Any:
            self.host_us += CALL_US
            self.log.append((name, arguments))
            answer = value(*arguments)
            return (ILLEGAL, *answer[1:]) if self.dead else answer

        return logged

    def calls(self, name: str) -> list[tuple[Any, ...]]:
        return [arguments for called, arguments in self.log if called == name]

    # -- devices ------------------------------------------------------------------------------------------------------

    def cuDeviceGetName(self, length: int, device: int) -> tuple[Basic, bytes]:
        return OK, b"Fake GPU\0".ljust(length, b"\0")

    def cuDriverGetVersion(self) -> tuple[Basic, int]:
        return OK, 12040

    def cuDeviceGetAttribute(self, which: int, device: int) -> tuple[Basic, int]:
        return OK, self.ATTRIBUTES[which]

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[Basic, str]:
        self.contexts += 1
        return super().cuDevicePrimaryCtxRetain(device)  # type: ignore[return-value]

    def cuDevicePrimaryCtxRelease(self, device: int) -> tuple[Any]:
        """Destroys the context, and with it whatever runs in it or has broken it."""
        self.dead = self.pending = False
        self.device_us = self.host_us
        return super().cuDevicePrimaryCtxRelease(device)

    # -- modules and memory -------------------------------------------------------------------------------------------

    def cuModuleLoadDataEx(self, image: bytes, count: int, options: Any, values: Any) -> tuple[Any, Any]:
        assert image.endswith(b"\0")
        assert (count, tuple(options), values[1]) == (2, (5, 6), len(values[0]))
        try:
            module = Module.load(image[:-1].decode())
        except PtxError as error:
            said = str(error).encode()
            values[0][: len(said)] = said
            return INVALID_PTX, None
        self.open.append("module")
        return OK, module

    def cuModuleGetFunction(self, module: Any, name: bytes) -> tuple[Any, Any]:  # type: ignore[override]
        entry = name.decode()
        found = entry in module.kernels
        return (OK, (module, entry)) if found else (Basic.CUDA_ERROR_NOT_FOUND, None)

    def cuMemAlloc(self, size: int) -> tuple[Any, int]:
        code, address = super().cuMemAlloc(0 if size >= LARGE else size)
        self.large.update({address: size} if size >= LARGE else {})
        return code, address

    def cuMemFree(self, address: int) -> tuple[Any]:
        self.large.pop(address, None)
        return super().cuMemFree(address)

    def cuMemcpyDtoD(self, target: int, source: int, size: int) -> tuple[Any]:
        assert size <= min(len(self.memory[target]), len(self.memory[source]))
        self.memory[target][:size] = self.memory[source][:size]
        return (OK,)

    def cuMemcpyDtoH(self, target: int, source: int, size: int) -> tuple[Any]:
        self._catch_up()
        return super().cuMemcpyDtoH(target, source, size)

    def cuMemsetD8Async(self, address: int, value: int, size: int, stream: int) -> tuple[Any]:
        if address in self.large:
            assert size <= self.large[address]
            if size >= L2_BYTES:
                self.cached.clear()
        else:
            assert size <= len(self.memory[address])
            self.memory[address][:size] = bytes([value]) * size
        self._enqueue(max(1.0, size / 1e6))
        return (OK,)

    # -- time ---------------------------------------------------------------------------------------------------------

    def cuEventRecord(self, event: int, stream: int) -> tuple[Any]:
        self._enqueue(0.0)
        self.events[event] = self.device_us
        return (OK,)

    def cuEventQuery(self, event: int) -> tuple[Any]:
        if self.host_us >= self.events[event]:
            self.dead |= self.pending
            return (ILLEGAL if self.dead else OK,)
        left = self.events[event] - self.host_us
        self.host_us += HANG_POLL_US if math.isinf(left) else max(POLL_US, left / 4)
        return (NOT_READY,)

    def cuEventElapsedTime(self, start: int, stop: int) -> tuple[Any, float]:
        assert self.host_us >= self.events[stop], "an event that has not happened"
        return OK, (self.events[stop] - self.events[start]) * 1e-3

    def _enqueue(self, us: float) -> None:
        self.device_us = max(self.device_us, self.host_us) + us

    def _catch_up(self) -> None:
        assert not math.isinf(self.device_us), "the host waits for ever"
        self.host_us = max(self.host_us, self.device_us)
        self.dead |= self.pending

    # -- launches -----------------------------------------------------------------------------------------------------

    def cuLaunchKernel(self, function: Any, *arguments: Any) -> tuple[Any]:
        *shape, shared, _stream, (values, types), extra = arguments
        module, entry = function
        assert not extra and len(shape) == 6
        if shared > max(48 * 1024, self.shared.get(function, 0)):
            return (Basic.CUDA_ERROR_INVALID_VALUE,)
        if entry == "prism_wait":
            self._enqueue(values[0] / MEGAHERTZ)
            return (OK,)
        pointers = [v for v, t in zip(values, types, strict=True) if t is ctypes.c_void_p and v]
        assert all(p in self.memory for p in pointers), "a pointer to nothing"
        behaviour = self.behaviours.setdefault(entry, Behaviour())
        fault = behaviour.now()
        self.launches.append((entry, tuple(shape), shared, tuple(values)))
        warm = set(pointers) <= self.cached
        self.cached |= set(pointers)
        self._enqueue(math.inf if fault == "hang" else behaviour.warm_us if warm else behaviour.cold_us)
        if fault == "illegal":
            self.pending = True
        if fault in ("", "wrong"):
            self._execute(module, entry, shape, shared, values, types)
        if fault == "wrong":
            self.memory[pointers[-1]][1] ^= 0xFF
        return (OK,)

    def _execute(self, module: Any, entry: str, shape: Any, shared: int, values: Any, types: Any) -> None:
        pointers = list(dict.fromkeys(v for v, t in zip(values, types, strict=True) if t is ctypes.c_void_p and v))
        key = (id(module), entry, *(bytes(self.memory[p]) for p in pointers))
        if key not in self.results:
            arrays = {p: np.frombuffer(self.memory[p], np.uint8).copy() for p in pointers}
            arrays[0] = np.zeros(16, np.uint8)
            given = [arrays[v] if t is ctypes.c_void_p else v for v, t in zip(values, types, strict=True)]
            kernel = module.kernel(entry)
            kernel.run(
                grid=shape[:3], block=shape[3:], args=given, shared_bytes=shared, checks=FAST_CHECKS, engine="auto"
            )
            self.results[key] = [arrays[p].tobytes() for p in pointers]
        for pointer, result in zip(pointers, self.results[key], strict=True):
            self.memory[pointer][:] = result
