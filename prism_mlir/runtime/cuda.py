"""Run emitted kernels on a GPU, through cuda-python's binding of the driver API.

The driver is passed in wherever it is used, so that every line here runs under test without a GPU. It is loaded by
:func:`load_driver` alone; importing this module touches no GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.graph.errors import ExecutionError, InputError, MissingToolError
from prism_mlir.graph.launch_info import KernelArgument, KernelLaunch, LaunchInfo, Role
from prism_mlir.runtime.bundle import driver as api

Array = NDArray[Any]
STATIC_SHARED_LIMIT = 48 * 1024  # beyond this a kernel must opt in (CUDA programming guide, "shared memory")
HINT = "run on a machine with an NVIDIA driver, or on the CPU with the PTX machine"


def load_driver() -> Any:
    """The driver API, initialised. Raises :class:`MissingToolError` where there is no driver or no device."""
    try:
        return api.load_driver()
    except api.NoDriver as error:
        raise MissingToolError(error.message, None, HINT) from None


def call(driver: Any, function: str, *arguments: Any) -> Any:
    """Call a driver function and return its results. Raises :class:`ExecutionError` that names function and code."""
    try:
        return api.call(driver, function, *arguments)
    except api.CudaError as error:
        raise ExecutionError(str(error)) from None


@contextmanager
def open_device(driver: Any, ordinal: int = 0) -> Iterator[Any]:
    """Make a device's primary context current, and release it afterwards."""
    device = call(driver, "cuDeviceGet", ordinal)
    context = call(driver, "cuDevicePrimaryCtxRetain", device)
    try:
        call(driver, "cuCtxSetCurrent", context)
        yield device
    finally:
        call(driver, "cuDevicePrimaryCtxRelease", device)


@dataclass(frozen=True, slots=True)
class _Loaded:
    launch: KernelLaunch
    function: Any


class LoadedKernels:
    """Kernels loaded in the current context. Use it as a context manager.

    Raises :class:`ExecutionError` where the driver refuses something, :class:`InputError` where a kernel's PTX is missing.
    """

    def __init__(self, driver: Any, launch: LaunchInfo, ptx: Mapping[str, str]) -> None:
        self.driver = driver
        self.launch = launch
        self._ptx = ptx
        self._cleanup = ExitStack()
        self._kernels: list[_Loaded] = []

    def __enter__(self) -> LoadedKernels:
        with ExitStack() as stack:  # what was taken is given back when a later step fails
            modules = {
                name: self._load_module(name, stack) for name in dict.fromkeys(k.ptx for k in self.launch.kernels)
            }
            self._kernels = [self._load_kernel(modules[k.ptx], k) for k in self.launch.kernels]
            self._cleanup = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def enqueue(self, pointers: Mapping[tuple[Role, int], Any], stream: Any = 0) -> None:
        """Launch all kernels in order. pointers: the address of every buffer on the device"""
        for kernel in self._kernels:
            given = tuple(int(pointers[a.role, a.index]) for a in kernel.launch.arguments)
            sizes = tuple(s.value for s in kernel.launch.sizes)
            kinds = (ctypes.c_void_p,) * len(given) + (ctypes.c_int32,) * len(sizes)
            shape = (*kernel.launch.grid, *kernel.launch.block)
            shared = kernel.launch.shared_bytes
            call(self.driver, "cuLaunchKernel", kernel.function, *shape, shared, stream, (given + sizes, kinds), 0)

    def _load_module(self, name: str, stack: ExitStack) -> Any:
        if name not in self._ptx:
            raise InputError(f"no PTX for '{name}', which the launch info names")
        try:
            module = api.load_module(self.driver, self._ptx[name])
        except api.CudaError as error:
            raise ExecutionError(str(error)) from None
        stack.callback(call, self.driver, "cuModuleUnload", module)
        return module

    def _load_kernel(self, module: Any, launch: KernelLaunch) -> _Loaded:
        function = call(self.driver, "cuModuleGetFunction", module, launch.entry.encode())
        if launch.shared_bytes > STATIC_SHARED_LIMIT:
            attribute = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call(self.driver, "cuFuncSetAttribute", function, attribute, launch.shared_bytes)
        return _Loaded(launch, function)


class CudaProgram:
    """Kernels loaded on the current device, with buffers for their inputs, outputs and workspace.

    ``sets`` > 1 allocates that many copies of all buffers, so that a profiler can read inputs that are in no cache. Use it as a
    context manager, inside :func:`open_device`. Raises :class:`ExecutionError` where the driver refuses something,
    :class:`InputError` where a kernel's PTX is missing.
    """

    def __init__(self, driver: Any, launch: LaunchInfo, ptx: Mapping[str, str], sets: int = 1) -> None:
        self.driver = driver
        self.launch = launch
        self._sets = sets
        self._cleanup = ExitStack()
        self._kernels = LoadedKernels(driver, launch, ptx)
        self._buffers: list[dict[tuple[Role, int], Any]] = []

    def __enter__(self) -> CudaProgram:
        with ExitStack() as stack:  # what was taken is given back when a later step fails
            stack.enter_context(self._kernels)
            self._buffers = [self._allocate_set(stack) for _ in range(self._sets)]
            self._cleanup = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def run(self, arguments: Sequence[Array]) -> tuple[Array, ...]:
        """Copy arguments in, launch all kernels, and copy the results out.

        arguments: one array for each argument of the source function, held as its dtype's storage
        """
        self.write(arguments)
        self.enqueue()
        call(self.driver, "cuCtxSynchronize")
        return tuple(self._read(a) for a in self.launch.arguments(Role.OUTPUT))

    def write(self, arguments: Sequence[Array]) -> None:
        """Copy arguments into every set of buffers."""
        for argument in self.launch.arguments(Role.INPUT):
            if argument.index >= len(arguments):
                raise InputError(f"argument {argument.index} ('{argument.name}') is missing")
            array = np.ascontiguousarray(arguments[argument.index])
            if array.dtype != argument.dtype.storage or array.nbytes != argument.bytes:
                raise InputError(
                    f"argument '{argument.name}' is {array.dtype}{list(array.shape)}, "
                    f"the kernel wants {argument.dtype}{list(argument.shape)}"
                )
            for buffers in self._buffers:
                call(
                    self.driver, "cuMemcpyHtoD", buffers[argument.role, argument.index], array.ctypes.data, array.nbytes
                )

    def enqueue(self, buffer_set: int = 0, stream: Any = 0) -> None:
        """Launch all kernels in order, on one set of buffers."""
        self._kernels.enqueue(self._buffers[buffer_set], stream)

    def _allocate_set(self, stack: ExitStack) -> dict[tuple[Role, int], Any]:
        sizes = {(a.role, a.index): a.bytes for r in (Role.INPUT, Role.OUTPUT) for a in self.launch.arguments(r)}
        sizes |= {(Role.WORKSPACE, k): size for k, size in enumerate(self.launch.workspace)}
        buffers: dict[tuple[Role, int], Any] = {}
        for key, size in sizes.items():
            buffers[key] = call(self.driver, "cuMemAlloc", max(1, size))
            stack.callback(call, self.driver, "cuMemFree", buffers[key])
        return buffers

    def _read(self, argument: KernelArgument) -> Array:
        result = np.empty(argument.bytes // argument.dtype.bytes, dtype=argument.dtype.storage)
        source = self._buffers[0][argument.role, argument.index]
        call(self.driver, "cuMemcpyDtoH", result.ctypes.data, source, result.nbytes)
        return np.lib.stride_tricks.as_strided(
            result, argument.shape, tuple(s * argument.dtype.bytes for s in argument.strides)
        ).copy()
