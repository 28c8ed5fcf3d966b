"""The real binding takes the arguments that the profiler gives: every call of a run on the fake, made again.

Without a driver each call fails in the same way, once its arguments have been taken; arguments of a wrong type fail before that.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from fake_driver import FakeDriver
from fake_gpu import FakeGpu
from test_profiler import profile

from prism_mlir.runtime.bundle import driver as bundle_driver
from prism_mlir.runtime.bundle.driver import clocks

bindings = pytest.importorskip("cuda.bindings.driver")

HANDLES = {
    "cuCtxSetCurrent": {0: "CUcontext"},
    "cuModuleUnload": {0: "CUmodule"},
    "cuModuleGetFunction": {0: "CUmodule"},
    "cuFuncSetAttribute": {0: "CUfunction"},
    "cuLaunchKernel": {0: "CUfunction"},
    "cuEventDestroy": {0: "CUevent"},
    "cuEventRecord": {0: "CUevent"},
    "cuEventQuery": {0: "CUevent"},
    "cuEventElapsedTime": {0: "CUevent", 1: "CUevent"},
    "cuMemFree": {0: "CUdeviceptr"},
    "cuMemcpyHtoD": {0: "CUdeviceptr"},
    "cuMemcpyDtoH": {1: "CUdeviceptr"},
    "cuMemcpyDtoD": {0: "CUdeviceptr", 1: "CUdeviceptr"},
    "cuMemsetD8Async": {0: "CUdeviceptr"},
}
DEVICES = {
    "cuDeviceGetName": 1,
    "cuDeviceGetAttribute": 1,
    "cuDevicePrimaryCtxRetain": 0,
    "cuDevicePrimaryCtxRelease": 0,
}


def as_real(name: str, arguments: tuple[Any, ...]) -> list[Any]:
    """The arguments with handles and enumerators as the binding has them."""
    given = list(arguments)
    for k, kind in HANDLES.get(name, {}).items():
        given[k] = getattr(bindings, kind)(16)
    if name in DEVICES:
        given[DEVICES[name]] = bindings.CUdevice(0)
    if name == "cuDeviceGetAttribute":
        given[0] = bindings.CUdevice_attribute(given[0])
    if name == "cuModuleLoadDataEx":
        given[2] = tuple(bindings.CUjit_option(option) for option in given[2])
    return given


def has_driver() -> bool:
    try:
        bindings.cuInit(0)
    except RuntimeError:
        return False
    return True


@pytest.mark.skipif(has_driver(), reason="a driver is there: the calls would be made")
def test_the_binding_takes_every_call_of_a_run(tmp_path: Path) -> None:
    fake = FakeGpu()
    profile(tmp_path, fake)
    made = {name: arguments for name, arguments in fake.log if name != "cuInit"}
    assert set(HANDLES) - {"cuFuncSetAttribute"} <= set(made)
    made["cuFuncSetAttribute"] = (None, bindings.CUfunction_attribute(8), 65536)
    for name, arguments in made.items():
        with pytest.raises(RuntimeError):  # not TypeError
            getattr(bindings, name)(*as_real(name, arguments))


def test_the_enumerators_that_are_used_exist() -> None:
    """With the numbers that the fake has."""
    for ours, theirs in [
        (FakeDriver.CUjit_option, bindings.CUjit_option),
        (FakeGpu.CUdevice_attribute, bindings.CUdevice_attribute),
        (FakeDriver.CUfunction_attribute, bindings.CUfunction_attribute),
    ]:
        for name, value in vars(ours).items():
            if name.startswith("CU_"):
                assert int(getattr(theirs, name)) == value
    assert int(bindings.CUresult.CUDA_ERROR_NOT_READY) == bundle_driver.NOT_READY


@pytest.mark.parametrize("old", [False, True])
def test_clocks_come_from_nvml_where_it_is(monkeypatch: pytest.MonkeyPatch, old: bool) -> None:
    """Of the device at the place on the bus, from either binding."""
    asked: list[Any] = []

    def handle(bus: Any) -> str:
        asked.append(bus)
        return "handle"

    def now(device: str, kind: int) -> int:
        assert device == "handle"
        return {1: 1350, 2: 1593}[kind]

    class Clocks:
        CLOCK_SM, CLOCK_MEM = 1, 2

    modern = types.SimpleNamespace(
        init_v2=lambda: None,
        ClockType=Clocks,
        device_get_handle_by_pci_bus_id_v2=handle,
        device_get_clock_info=now,
    )
    pynvml = types.SimpleNamespace(
        nvmlInit=lambda: None,
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        nvmlDeviceGetHandleByPciBusId=handle,
        nvmlDeviceGetClockInfo=now,
    )
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvml", None if old else modern)
    monkeypatch.setitem(sys.modules, "pynvml", pynvml)
    fake = FakeGpu()
    fake.cuDeviceGetPCIBusId = lambda length, device: (0, b"0000:3B:00.0\0\0\0")  # type: ignore[attr-defined]
    assert clocks(fake, 0) == {"source": "nvml", "sm_mhz": 1350, "memory_mhz": 1593}
    assert asked == [b"0000:3B:00.0" if old else "0000:3B:00.0"]
