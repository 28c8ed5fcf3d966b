"""Run the kernels of a result on tensors: on a GPU from their pointers, on torch's stream, or on the PTX machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch

from prism_mlir.api import Result
from prism_mlir.compiler.execute import Emulator
from prism_mlir.frontend.torch.convert import Buffer
from prism_mlir.graph.launch_info import KernelArgument, Role
from prism_mlir.runtime.cuda import LoadedKernels, load_driver

DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i1": torch.bool,
    "i8": torch.int8,
    "i32": torch.int32,
    "i64": torch.int64,
}


def _stream(device: Any) -> int:
    """The handle of the stream that torch uses now."""
    return int(torch.cuda.current_stream(device).cuda_stream)


@dataclass(frozen=True)
class Cuda:
    """What launching needs of CUDA and of torch; tests give others."""

    driver: Callable[[], Any] = load_driver
    stream: Callable[[Any], int] = _stream
    on_device: Callable[[Any], AbstractContextManager[Any]] = torch.cuda.device


@dataclass(eq=False)
class Kernels:
    """The kernels of a program as a function on tensors.

    arguments, results: how tensors lie in memory
    """

    result: Result
    arguments: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    cuda: Cuda = field(default_factory=Cuda)
    _lock: Any = field(default_factory=threading.Lock, repr=False)
    _loaded: dict[Any, LoadedKernels] = field(default_factory=dict, repr=False)
    _emulator: Emulator | None = field(default=None, repr=False)

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Results for tensors of the shapes that the program has, on one device."""
        stored = [_stored(t, b) for t, b in zip(tensors, self.arguments, strict=True)]
        device = tensors[0].device if tensors else torch.device("cpu")
        made = self.emulate(stored) if device.type == "cpu" else self.launch(stored, device)
        return tuple(_shown(t, b) for t, b in zip(made, self.results, strict=True))

    def emulate(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """On the PTX machine. The lock is its: what it has checked it need not check again."""
        with self._lock:
            if self._emulator is None:
                self._emulator = Emulator(self.result.launch, self.result.ptx)
            return [
                _tensor(a, b) for a, b in zip(self._emulator([_array(t) for t in tensors]), self.results, strict=True)
            ]

    def launch(self, tensors: Sequence[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
        """On a GPU: queued on torch's stream, not waited for. Memory is torch's, whose allocator knows the stream."""
        launch = self.result.launch
        with self.cuda.on_device(device):
            outputs = [torch.empty(b.stored, dtype=DTYPES[o.dtype], device=device) for b, o in self._outputs()]
            kernels = self._kernels(device)  # after torch has made its context current
            workspace = [torch.empty(max(1, n), dtype=torch.uint8, device=device) for n in launch.workspace]
            given = {a.index: _aligned(tensors[a.index], a) for a in launch.arguments(Role.INPUT)}
            pointers = {(Role.INPUT, k): t.data_ptr() for k, t in given.items()}
            pointers |= {(Role.OUTPUT, k): t.data_ptr() for k, t in enumerate(outputs)}
            pointers |= {(Role.WORKSPACE, k): t.data_ptr() for k, t in enumerate(workspace)}
            kernels.enqueue(pointers, self.cuda.stream(device))
        return outputs

    def _outputs(self) -> list[tuple[Buffer, KernelArgument]]:
        return list(zip(self.results, self.result.launch.arguments(Role.OUTPUT), strict=True))

    def _kernels(self, device: torch.device) -> LoadedKernels:
        """Loaded once on every device, for as long as the process lives."""
        with self._lock:
            if device not in self._loaded:
                loaded = LoadedKernels(self.cuda.driver(), self.result.launch, self.result.ptx)
                self._loaded[device] = loaded.__enter__()
            return self._loaded[device]


def _stored(tensor: torch.Tensor, buffer: Buffer) -> torch.Tensor:
    """A tensor as the kernel's contiguous buffer: without a copy where it lies in memory as it did at compilation."""
    return tensor.detach().permute(buffer.order).contiguous()


def _shown(tensor: torch.Tensor, buffer: Buffer) -> torch.Tensor:
    """A kernel's buffer as the tensor that eager PyTorch would give."""
    order = buffer.order
    return tensor.reshape(buffer.stored).permute([order.index(d) for d in range(len(order))])


def _aligned(tensor: torch.Tensor, argument: KernelArgument) -> torch.Tensor:
    return tensor.clone() if tensor.data_ptr() % argument.alignment else tensor


def _array(tensor: torch.Tensor) -> Any:
    """As NumPy holds it: bf16 as its bits."""
    return (tensor.view(torch.uint16) if tensor.dtype is torch.bfloat16 else tensor).numpy()


def _tensor(array: Any, buffer: Buffer) -> torch.Tensor:
    made = torch.from_numpy(array)
    return made.view(torch.bfloat16) if buffer.dtype == "torch.bfloat16" else made
