"""Upstream MLIR's GPU runtime library (the ``mgpu...`` functions that ``gpu-to-llvm`` calls), with the PTX machine as the GPU.

Host code that upstream lowered and its JIT compiled runs unchanged: ``gpu.binary`` objects are loaded as PTX text, device memory
is memory of this process, and a launch reads its parameters through the ``void **`` that a driver gets. Copies from buffers that
were never written, launches on freed memory, and buffers that the first kernel to take them leaves partly unwritten are errors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mlir import ir
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager
from mlir.runtime import get_ranked_memref_descriptor, ranked_memref_to_numpy

from prism_mlir.runtime.cpu_jit import register_support
from prism_mlir.runtime.ptx import Module

PIPELINE = (
    "one-shot-bufferize{{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map}},"
    "func.func(llvm-request-c-wrappers),convert-scf-to-cf,arith-expand,expand-strided-metadata,lower-affine,"
    "gpu-to-llvm{{{options}}},"
    "convert-cf-to-llvm,reconcile-unrealized-casts"
)
Array = np.ndarray[Any, Any]
_POINTER, _I64, _I32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
_ALIGNMENT = 256


def lower(text: str, options: str = "") -> ir.Module:
    """A host module in the LLVM dialect, launches and binaries aside; ``options`` are those of ``gpu-to-llvm``."""
    context = ir.Context()
    module = ir.Module.parse(text, context)
    PassManager.parse(f"builtin.module({PIPELINE.format(options=options)})", context).run(module.operation)
    return module


@dataclass
class Device:
    """Memory by address, loaded modules, and what was done, in order."""

    memory: dict[int, Array] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    modules: list[Module] = field(default_factory=list)
    kernels: list[Any] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def alloc(self, size: int) -> int:
        raw = np.zeros(size + _ALIGNMENT, np.uint8)
        skip = -raw.ctypes.data % _ALIGNMENT
        buffer = raw[skip : skip + size]
        self.memory[buffer.ctypes.data] = buffer
        return int(buffer.ctypes.data)

    def upload(self, array: Array) -> Array:
        """The array in memory of the device."""
        address = self.alloc(array.nbytes)
        self.memory[address][:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.written.add(address)
        return self.memory[address].view(array.dtype).reshape(array.shape)

    def load(self, data: int, _level: int) -> int:
        self.modules.append(Module.load(ctypes.string_at(data).decode()))
        return len(self.modules)

    def function(self, module: int, name: int) -> int:
        self.kernels.append(self.modules[module - 1].kernel(ctypes.string_at(name).decode()))
        return len(self.kernels)

    def mem_alloc(self, size: int, _stream: int, _shared: int) -> int:
        self.log.append(f"alloc {size}")
        return self.alloc(size)

    def mem_free(self, address: int, _stream: int) -> None:
        self.log.append(f"free {self.memory.pop(address).nbytes}")

    def memcpy(self, to: int, source: int, size: int, _stream: int) -> None:
        assert to in self.memory or source in self.memory
        assert source not in self.memory or source in self.written
        ctypes.memmove(to, source, size)
        self.written.add(to)
        self.log.append(f"{'in' if to in self.memory else 'out'} {size}")

    def launch(self, kernel: int, *rest: int) -> None:
        grid, block, (shared, _stream, parameters, _extra, count) = rest[:3], rest[3:6], rest[6:]
        places = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))
        entry = self.kernels[kernel - 1]
        pointers = [p.scalar.bits == 64 for p in entry.params]
        assert count == len(pointers)
        values = [ctypes.cast(places[k], ctypes.POINTER(_I64 if p else _I32))[0] for k, p in enumerate(pointers)]
        poisoned = {k for k, v in enumerate(values) if pointers[k] and v not in self.written}
        given = [self.memory[v] if p else v for v, p in zip(values, pointers, strict=True)]
        result = entry.run(grid=grid, block=block, args=given, shared_bytes=shared, outputs=poisoned)
        assert not result.unwritten, result.unwritten
        self.written |= {v for v, p in zip(values, pointers, strict=True) if p}
        self.log.append("launch")


@contextmanager
def runtime(module: ir.Module) -> Iterator[tuple[Device, ExecutionEngine]]:
    """The module compiled, beside a device that its calls reach."""
    device = Device()

    def guarded(action: Callable[..., Any], kinds: Sequence[Any], result: Any) -> Any:
        def call(*given: Any) -> Any:
            try:
                return action(*given)
            except BaseException as error:  # cannot travel through compiled code
                device.errors.append(error)
                return 0 if result else None

        return ctypes.CFUNCTYPE(result, *kinds)(call)

    functions = {
        "mgpuModuleLoadJIT": guarded(device.load, [_POINTER, _I32], _POINTER),
        "mgpuModuleUnload": guarded(lambda _: None, [_POINTER], None),
        "mgpuModuleGetFunction": guarded(device.function, [_POINTER, _POINTER], _POINTER),
        "mgpuLaunchKernel": guarded(
            device.launch, [_POINTER, *[_I64] * 6, _I32, _POINTER, _POINTER, _POINTER, _I64], None
        ),
        "mgpuStreamCreate": guarded(lambda: 1, [], _POINTER),
        "mgpuStreamSynchronize": guarded(lambda _: None, [_POINTER], None),
        "mgpuStreamDestroy": guarded(lambda _: None, [_POINTER], None),
        "mgpuMemAlloc": guarded(device.mem_alloc, [_I64, _POINTER, ctypes.c_int8], _POINTER),
        "mgpuMemFree": guarded(device.mem_free, [_POINTER, _POINTER], None),
        "mgpuMemcpy": guarded(device.memcpy, [_POINTER, _POINTER, _I64, _POINTER], None),
    }
    engine = ExecutionEngine(module)
    register_support(engine)
    for name, function in functions.items():
        engine.raw_register_runtime(name, ctypes.cast(function, _POINTER))
    engine.initialize()
    yield device, engine
    if device.errors:
        raise device.errors[0]


def call(engine: ExecutionEngine, name: str, *arguments: Array, result: Array | None = None) -> None:
    """Call a function on memrefs. A memref it returns is copied to ``result``, and its memory freed."""
    given = [get_ranked_memref_descriptor(a) for a in arguments]
    returned = [] if result is None else [type(get_ranked_memref_descriptor(result))()]
    engine.invoke(name, *(ctypes.pointer(ctypes.pointer(d)) for d in (*returned, *given)))
    for descriptor in returned:
        result[...] = ranked_memref_to_numpy(ctypes.pointer(descriptor))
        ctypes.CDLL(None).free(ctypes.c_void_p(descriptor.allocated))
