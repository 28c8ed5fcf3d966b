"""Kernels on torch's pointers and stream, with a driver whose device memory is the host's; records; whole modules."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras

sys.path.append(str(Path(__file__).resolve().parents[1] / "runtime"))
from fake_driver import FakeDriver  # noqa: E402

QUICK: dict[str, Any] = {"samples": 20}


class HostDriver(FakeDriver):
    """Launches run on the PTX machine, on the memory that their pointers name."""

    def __init__(self, launch: Any, ptx: Any) -> None:
        super().__init__({k.entry: lambda _: None for k in launch.kernels})
        self.machine = {(k.entry): (k, ptx[k.ptx]) for k in launch.kernels}
        self.streams: list[Any] = []
        self.pointers: list[tuple[int, ...]] = []

    def cuModuleLoadDataEx(self, image: bytes, *rest: Any) -> Any:
        code, module = super().cuModuleLoadDataEx(image[image.index(b".version") :], *rest)
        return code, module

    def cuLaunchKernel(self, function: str, *arguments: Any) -> Any:
        from prism_mlir.graph.launch_info import Role
        from prism_mlir.runtime.ptx import Module

        *shape, shared, stream, (values, kinds), extra = arguments
        kernel, text = self.machine[function]
        assert all(k is ctypes.c_void_p for k in kinds) and not extra
        self.streams.append(stream)
        self.pointers.append(values)
        buffers = []
        for address, argument in zip(values, kernel.arguments, strict=True):
            assert address % argument.alignment == 0
            raw = (ctypes.c_byte * argument.bytes).from_address(address)
            buffers.append(np.frombuffer(raw, argument.dtype.storage).reshape(argument.shape))
        written = {k for k, a in enumerate(kernel.arguments) if a.role is not Role.INPUT}
        Module.load(text).kernel(function).run(
            grid=tuple(shape[:3]), block=tuple(shape[3:]), args=buffers, shared_bytes=shared, outputs=written
        )
        return (0,)


@contextmanager
def nothing(_device: Any) -> Iterator[None]:
    yield


def kernels(f: Any, *arguments: Any) -> tuple[Any, HostDriver]:
    """Kernels that launch on a driver of tests, on stream 7."""
    from prism_mlir.frameworks.kernels import kernels_of
    from prism_mlir.frontend.torch.convert import convert
    from prism_mlir.torch.launch import Cuda, Kernels

    exported = torch.export.export(f, arguments).run_decompositions({})
    converted = convert(exported.graph)
    result = kernels_of(converted.text, "sm_80", QUICK)
    driver = HostDriver(result.launch, result.ptx)
    cuda = Cuda(lambda: driver, lambda _device: 7, nothing)
    return Kernels(result, converted.arguments, converted.results, cuda), driver


class Product(torch.nn.Module):
    def forward(self, x: Any, w: Any) -> Any:
        return torch.relu(x @ w)


def close(got: Any, wanted: Any) -> None:
    torch.testing.assert_close(got.double(), wanted, rtol=0, atol=2.0**-20 * float(wanted.abs().max()))


def test_kernels_read_the_tensors_where_they_are() -> None:
    x, w = torch.randn(16, 32), torch.randn(24, 32).t()  # w lies in memory as its transpose
    run, driver = kernels(Product(), x, w)
    stored = [x, w.permute(run.arguments[1].order)]
    (made,) = run.launch(stored, torch.device("cpu"))
    close(made, torch.relu(x.double() @ w.double()))
    assert driver.streams == [7]
    assert {x.data_ptr(), w.data_ptr(), made.data_ptr()} == set(driver.pointers[0])
    first = driver.open.count("module")
    run.launch(stored, torch.device("cpu"))
    assert driver.open.count("module") == first == 1


def test_a_tensor_that_is_not_aligned_is_copied() -> None:
    base = torch.randn(1 + 16 * 32)
    x, w = base[1:].view(16, 32), torch.randn(32, 24)
    run, driver = kernels(Product(), x, w)
    (made,) = run.launch([x, w], torch.device("cpu"))
    close(made, torch.relu(x.double() @ w.double()))
    assert x.data_ptr() not in driver.pointers[0] and w.data_ptr() in driver.pointers[0]


def test_a_module_compiles_by_itself() -> None:
    from prism_mlir.torch import compile, to_mlir

    module = torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.ReLU())
    x = torch.randn(8, 32)
    assert to_mlir(module, x).count("linalg.generic") >= 2
    result = compile(module, x, samples=20)
    parameters = [p.detach().numpy() for p in module.parameters()]
    wanted = torch.relu(module[0].double()(x.double())).detach()
    close(torch.from_numpy(result(*parameters, x.numpy())), wanted)


SCRIPT = """
import torch
from prism_mlir.torch.launch import Kernels
found, call = [], Kernels.__call__
Kernels.__call__ = lambda self, *t: (found.append(self.result.compilation), call(self, *t))[1]
x, w = torch.ones(16, 32), torch.ones(32, 16)
with torch.no_grad():
    y = torch.compile(lambda x, w: torch.relu(x @ w), backend="prism", options={"samples": 20})(x, w)
assert y.eq(32).all()
print(found[0].discovery.recorded, found[0].checked_before)
"""


def test_another_process_finds_what_was_searched(tmp_path: Path) -> None:
    environment = {**os.environ, "PRISM_CACHE_DIR": str(tmp_path), "PRISM_EMULATE": "1"}
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    said = [
        subprocess.run(
            [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [["False", "False"], ["True", "True"]]


def test_the_table_of_a_process_keeps_results_and_refusals() -> None:
    from prism_mlir.frameworks import kernels as table
    from prism_mlir.graph.errors import PrismError
    from prism_mlir.torch import to_mlir

    table.forget()
    text = to_mlir(Product(), torch.randn(4, 8), torch.randn(8, 4))
    result = table.kernels_of(text, "sm_80", QUICK)
    assert table.kernels_of(text, "sm_80", dict(QUICK)) is result
    assert table.kernels_of(text, "sm_90", QUICK) is not result
    for _ in range(2):
        with pytest.raises(PrismError, match="nonsense"):
            table.kernels_of("func.func @main() {\n  nonsense\n}", "sm_80", {})


def test_importing_the_package_loads_no_framework() -> None:
    code = "import prism_mlir, prism_mlir.api, sys; print({'torch', 'jax'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"
