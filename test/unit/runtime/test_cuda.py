"""Launching and timing on a fake driver whose kernels compute, so that results prove the plumbing."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fake_driver import CUresult, FakeDriver, Kernel

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import ExecutionError, InputError
from prism_mlir.graph.extent import Extent
from prism_mlir.graph.launch_info import KernelArgument, KernelLaunch, LaunchInfo, Role, SizeArgument
from prism_mlir.runtime.bundle.driver import NoDriver, initialise
from prism_mlir.runtime.cuda import CudaProgram, open_device

SHAPE = (4, 6)
PTX = {"a.ptx": ".version 7.0\n.entry square(", "b.ptx": ".version 7.0\n.entry add("}


def argument(
    role: Role, index: int, name: str, dtype: DType = DType.F32, strides: tuple[int, int] = (6, 1)
) -> KernelArgument:
    return KernelArgument(role, index, name, dtype, SHAPE, strides, 16)


X, Y = argument(Role.INPUT, 0, "X"), argument(Role.INPUT, 1, "Y", DType.F16)
SQUARES, OUT = argument(Role.WORKSPACE, 0, "squares"), argument(Role.OUTPUT, 0, "out")
LAUNCH = LaunchInfo(
    (
        KernelLaunch("square", "a.ptx", (4, 1, 1), (32, 1, 1), 0, (X, SQUARES)),
        KernelLaunch("add", "b.ptx", (2, 3, 1), (64, 1, 1), 65536, (SQUARES, Y, OUT)),
    ),
    workspace=(96,),
)


def square(buffers: list[bytearray]) -> None:
    x, squares = buffers
    squares[:] = (np.frombuffer(x, np.float32) ** 2).tobytes()


def add(buffers: list[bytearray]) -> None:
    squares, y, out = buffers
    out[:] = (np.frombuffer(squares, np.float32) + np.frombuffer(y, np.float16).astype(np.float32)).tobytes()


def driver() -> FakeDriver:
    return FakeDriver({"square": square, "add": add})


def arguments() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x = np.arange(24, dtype=np.float32).reshape(SHAPE)
    return x, (x / 8).astype(np.float16)


def test_kernels_run_in_order_on_their_buffers_and_nothing_leaks() -> None:
    fake, (x, y) = driver(), arguments()
    with open_device(fake), CudaProgram(fake, LAUNCH, PTX) as program:
        (result,) = program.run([x, y])
    np.testing.assert_array_equal(result, x * x + x / 8)
    assert [(name, shape, shared) for name, shape, shared, _ in fake.launches] == [
        ("square", (4, 1, 1, 32, 1, 1), 0),
        ("add", (2, 3, 1, 64, 1, 1), 65536),
    ]
    assert fake.open == []
    assert fake.memory == {}


class SizedDriver(FakeDriver):
    """Kernels take one ``i32`` after their buffers, and do only as many rows."""

    def __init__(self, kernels: dict[str, Kernel]) -> None:
        super().__init__(kernels)
        self.sizes: list[int] = []

    def cuLaunchKernel(self, function: str, *arguments: Any) -> tuple[CUresult]:
        *shape, shared, stream, (values, types), extra = arguments
        assert types[-1] is ctypes.c_int32
        self.sizes.append(values[-1])
        return super().cuLaunchKernel(function, *shape, shared, stream, (values[:-1], types[:-1]), extra)


def test_sizes_of_a_launch_follow_its_buffers_and_size_them() -> None:
    rows = (Extent(1, (0,)), Extent(6))
    kernels = tuple(
        replace(
            k,
            arguments=tuple(replace(a, extents=rows) for a in k.arguments),
            blocks=(Extent(1, (0,), 2), Extent(1), Extent(1)),
            sizes=(SizeArgument(0, "x[0]"),),
        )
        for k in LAUNCH.kernels
    )
    fake, x = SizedDriver({"square": square, "add": add}), np.arange(18, dtype=np.float32).reshape(3, 6)
    with (
        open_device(fake),
        CudaProgram(fake, replace(LAUNCH, kernels=kernels).at((3,)), PTX) as program,
    ):
        (result,) = program.run([x, x.astype(np.float16)])
    np.testing.assert_array_equal(result, x * x + x)
    assert fake.sizes == [3, 3]
    assert [shape[:3] for _, shape, _, _ in fake.launches] == [(2, 1, 1), (2, 1, 1)]


def test_shared_memory_is_asked_for_beyond_the_static_limit_only() -> None:
    fake = driver()
    with open_device(fake), CudaProgram(fake, LAUNCH, PTX):
        assert fake.shared == {"add": 65536}


def test_results_are_seen_through_their_strides() -> None:
    """The kernel writes column by column; row 1 of the result is every fourth element from the second on."""
    turned = replace(OUT, strides=(1, 4))
    launch = replace(LAUNCH, kernels=(LAUNCH.kernels[0], replace(LAUNCH.kernels[1], arguments=(SQUARES, Y, turned))))
    fake, (x, y) = driver(), arguments()
    with open_device(fake), CudaProgram(fake, launch, PTX) as program:
        (result,) = program.run([x, y])
    np.testing.assert_array_equal(result, (x * x + x / 8).reshape(6, 4).T)


def test_arguments_of_another_type_or_size_are_refused() -> None:
    fake, (x, y) = driver(), arguments()
    with open_device(fake), CudaProgram(fake, LAUNCH, PTX) as program:
        with pytest.raises(InputError, match=r"argument 'Y' is float32\[4, 6\], the kernel wants f16\[4, 6\]"):
            program.run([x, x])
        with pytest.raises(InputError, match="argument 'X' is float32"):
            program.run([x[:2], y])
        with pytest.raises(InputError, match=r"argument 1 \('Y'\) is missing"):
            program.run([x])


def test_missing_ptx_and_driver_errors_are_named_and_release_what_was_taken() -> None:
    fake = driver()
    with pytest.raises(InputError, match=r"no PTX for 'b\.ptx'"), open_device(fake):
        CudaProgram(fake, LAUNCH, {"a.ptx": PTX["a.ptx"]}).__enter__()
    assert fake.open == []
    with (
        pytest.raises(ExecutionError, match="cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX: no PTX"),
        open_device(fake),
    ):
        CudaProgram(fake, LAUNCH, {**PTX, "b.ptx": "?"}).__enter__()
    assert fake.open == []
    wrong = replace(LAUNCH, kernels=(replace(LAUNCH.kernels[0], entry="cube"),))
    with pytest.raises(ExecutionError, match="cuModuleGetFunction failed with CUDA_ERROR_NOT_FOUND"), open_device(fake):
        CudaProgram(fake, wrong, PTX).__enter__()
    assert fake.open == []


def test_a_failing_launch_is_named() -> None:
    fake, values = driver(), arguments()
    fake.fail["cuCtxSynchronize"] = CUresult.CUDA_ERROR_INVALID_VALUE
    with (
        pytest.raises(ExecutionError, match="cuCtxSynchronize failed with CUDA_ERROR_INVALID_VALUE"),
        open_device(fake),
        CudaProgram(fake, LAUNCH, PTX) as program,
    ):
        program.run(values)
    assert fake.open == []


def test_no_device_is_one_line() -> None:
    fake = driver()
    fake.fail["cuInit"] = CUresult.CUDA_ERROR_NO_DEVICE
    with pytest.raises(NoDriver) as caught:
        initialise(fake)
    assert str(caught.value).startswith("the CUDA driver has no usable device (CUDA_ERROR_NO_DEVICE), run this on ")
    assert initialise(driver()) is not None


class NoLibrary:
    """The bindings without libcuda: every call raises."""

    def cuInit(self, flags: int) -> None:
        raise RuntimeError("libcuda.so.1 is nowhere\nreally")


def test_no_driver_is_one_line() -> None:
    with pytest.raises(NoDriver) as caught:
        initialise(NoLibrary())
    assert str(caught.value).startswith("no CUDA driver found (RuntimeError), run this on ")
    assert "\n" not in str(caught.value)


def test_the_real_bindings_answer_the_same_way_where_no_device_is_visible() -> None:
    """With every device hidden, cuda-python fails in its first call, with or without a driver installed."""
    script = "from prism_mlir.runtime.cuda import load_driver\nload_driver()"
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=hidden, check=False)
    last = outcome.stderr.strip().splitlines()[-1]
    assert "MissingToolError: error: " in last
    assert "CUDA driver" in last
