"""The CUDA driver API as cuda-python binds it: calls that raise, modules with the compiler's log, what device there is.

The driver is passed in wherever it is used, so that every line here runs under test without a GPU.
"""

from __future__ import annotations

import importlib
from typing import Any

LOG_BYTES = 16384
NOT_READY = 600  # CUDA_ERROR_NOT_READY
HINT = "run this on a machine with an NVIDIA driver"


class GpuError(Exception):
    """Why something could not be measured, in one line."""


class NoDriver(GpuError):
    """There is no driver, no device, or no binding. ``hint`` says what to do about it."""

    def __init__(self, message: str, hint: str = HINT) -> None:
        super().__init__(f"{message}, {hint}")
        self.message, self.hint = message, hint


class CudaError(GpuError):
    """A driver function failed."""

    def __init__(self, function: str, code: Any, detail: str = "") -> None:
        name = getattr(code, "name", str(code))
        super().__init__(f"{function} failed with {name}" + (f": {detail}" if detail else ""))
        self.code = int(code)


class Overdue(GpuError):
    """A run takes so long that it is given up; it may never end, so its process has to."""


class TooSlow(GpuError):
    """A run ended, and took so much longer than the best that there is no point in repeating it."""


def load_driver() -> Any:
    """The initialised driver API. Raises :class:`NoDriver` with what to do."""
    for name in ("cuda.bindings.driver", "cuda.cuda"):  # the second is where cuda-python 11 and 12.0 have it
        try:
            return initialise(importlib.import_module(name))
        except ImportError:
            continue
    raise NoDriver("cuda-python is not importable", "install it (pip install cuda-python)")


def initialise(driver: Any) -> Any:
    """The driver, ready for use. Raises :class:`NoDriver`."""
    try:
        code, *_ = driver.cuInit(0)
    except RuntimeError as error:  # the bindings import everywhere; the library itself is looked up by the first call
        raise NoDriver(f"no CUDA driver found ({type(error).__name__})") from None
    if int(code):
        raise NoDriver(f"the CUDA driver has no usable device ({getattr(code, 'name', code)})")
    return driver


def call(driver: Any, function: str, *arguments: Any) -> Any:
    """Call a driver function and return its results. Raises :class:`CudaError`."""
    code, *results = getattr(driver, function)(*arguments)
    if int(code):
        raise CudaError(function, code)
    return results[0] if len(results) == 1 else tuple(results)


def release(driver: Any, function: str, *arguments: Any) -> None:
    """Give something back. After an error on the device this fails too, and must not hide that error."""
    getattr(driver, function)(*arguments)


def load_module(driver: Any, ptx: str) -> Any:
    """Compile PTX for the current device. Raises :class:`CudaError` with what the driver's compiler says."""
    log = bytearray(LOG_BYTES)
    option = driver.CUjit_option
    options = (option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
    code, module = driver.cuModuleLoadDataEx(ptx.encode() + b"\0", len(options), options, (log, LOG_BYTES))
    if int(code):
        text = bytes(log).split(b"\0", 1)[0].decode("utf-8", "replace")
        raise CudaError("cuModuleLoadDataEx", code, " ".join(text.split()))
    return module


def attribute(driver: Any, device: Any, name: str, default: int = 0) -> int:
    """A number that the device has, ``CU_DEVICE_ATTRIBUTE_`` left out of the name; the default where it is not known."""
    which = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}", None)
    if which is None:
        return default
    code, value = driver.cuDeviceGetAttribute(which, device)
    return default if int(code) else int(value)


def describe(driver: Any, device: Any) -> dict[str, Any]:
    """Name, compute capability, processors, cache and driver, as JSON values."""
    name = call(driver, "cuDeviceGetName", 128, device)
    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
    version = call(driver, "cuDriverGetVersion")
    major, minor = (attribute(driver, device, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
    return {
        "name": text.split("\0", 1)[0],
        "capability": f"{major}.{minor}",
        "multiprocessors": attribute(driver, device, "MULTIPROCESSOR_COUNT"),
        "l2_bytes": attribute(driver, device, "L2_CACHE_SIZE"),
        "cuda": f"{version // 1000}.{version % 1000 // 10}",
        "driver": _driver_version(),
    }


def clocks(driver: Any, device: Any) -> dict[str, Any]:
    """Clocks in MHz: those of this moment from NVML where it is there, else the highest, which the driver knows."""
    now = _nvml_clocks(driver, device)
    if now is not None:
        return {"source": "nvml", "sm_mhz": now[0], "memory_mhz": now[1]}
    kilohertz = [attribute(driver, device, name) for name in ("CLOCK_RATE", "MEMORY_CLOCK_RATE")]
    return {"source": "device attributes (highest)", "sm_mhz": kilohertz[0] // 1000, "memory_mhz": kilohertz[1] // 1000}


def _driver_version() -> str:
    nvml = _nvml()
    if nvml is None:
        return ""
    library, old = nvml
    try:
        version = library.nvmlSystemGetDriverVersion() if old else library.system_get_driver_version()
    except Exception:  # each binding has errors of its own, and a missing number is no reason to stop
        return ""
    return version.decode() if isinstance(version, bytes) else str(version)


def _nvml_clocks(driver: Any, device: Any) -> tuple[int, int] | None:
    nvml = _nvml()
    if nvml is None:
        return None
    library, old = nvml
    try:  # by its place on the bus: NVML counts devices that CUDA has been told not to see
        place = call(driver, "cuDeviceGetPCIBusId", 32, device)
        bus = (place.decode() if isinstance(place, bytes) else str(place)).split("\0", 1)[0]
        if old:
            handle = library.nvmlDeviceGetHandleByPciBusId(bus.encode())
            kinds = (library.NVML_CLOCK_SM, library.NVML_CLOCK_MEM)
            sm, memory = (library.nvmlDeviceGetClockInfo(handle, kind) for kind in kinds)
        else:
            handle = library.device_get_handle_by_pci_bus_id_v2(bus)
            kinds = (library.ClockType.CLOCK_SM, library.ClockType.CLOCK_MEM)
            sm, memory = (library.device_get_clock_info(handle, int(kind)) for kind in kinds)
    except Exception:
        return None
    return int(sm), int(memory)


def _nvml() -> tuple[Any, bool] | None:
    """The first of the bindings of NVML that works, initialised, and whether it is pynvml."""
    for name, old in (("cuda.bindings.nvml", False), ("pynvml", True)):
        try:
            library = importlib.import_module(name)
            if old:
                library.nvmlInit()
            else:
                library.init_v2()
        except Exception:
            continue
        return library, old
    return None
