"""The paper's workloads in PyTorch, as a programmer writes them: what the kernels are compared with, where torch is installed.

What is measured is the time on the device: launches are enqueued while it waits, as for kernels.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .driver import GpuError
from .inputs import Array

EPSILON = 1e-6


def _normalised(torch: Any, x: Any) -> Any:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON)


def rms_norm(torch: Any, x: Any, w: Any) -> Any:
    return _normalised(torch, x) @ w


def rms_norm_mlp(torch: Any, x: Any, w: Any, v: Any) -> Any:
    n = _normalised(torch, x)
    return (n @ w) * (n @ v)


def swiglu(torch: Any, x: Any, w: Any, v: Any) -> Any:
    return torch.nn.functional.silu(x @ w) * (x @ v)


def attention(torch: Any, q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


def qk_attention(torch: Any, q: Any, k: Any, v: Any) -> Any:
    return attention(torch, _normalised(torch, q), k, v)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "rms_norm_mlp": rms_norm_mlp,
    "rms_norm": rms_norm,
    "swiglu": swiglu,
    "qk_attention": qk_attention,
    "attention": attention,
}


class TorchTask:
    """One of the functions on sets of inputs, eager or compiled.

    device: ``cuda``, or ``cpu`` for tests. Raises :class:`GpuError` where torch is missing or has no device.
    """

    as_source = True  # torch rounds between operators, as the source program does

    def __init__(self, function: str, compiled: bool, inputs: list[Array], sets: int, device: str = "cuda") -> None:
        try:
            self._torch: Any = importlib.import_module("torch")
        except ImportError as error:
            raise GpuError(f"torch is not importable ({error})") from None
        if device == "cuda" and not self._torch.cuda.is_available():
            raise GpuError("this torch has no CUDA device")
        self.sets = sets
        self._compiled = compiled
        plain = FUNCTIONS[function]
        self._run: Any = lambda *tensors: plain(self._torch, *tensors)
        if compiled:
            self._run = self._torch.compile(self._run, mode="max-autotune")
        self._inputs = [[self._torch.from_numpy(a.copy()).to(device) for a in inputs] for _ in range(sets)]
        self._last: tuple[int, Any] | None = None

    def poison(self) -> None:
        """Results are new tensors, so that what an earlier run left cannot be taken for them."""
        self._last = None

    def enqueue(self, which: int) -> None:
        with self._torch.no_grad():
            if self._compiled:
                self._torch.compiler.cudagraph_mark_step_begin()
            self._last = which, self._run(*self._inputs[which])

    def outputs(self, which: int) -> list[Array]:
        """The last result where it is of this set (CUDA graphs overwrite earlier ones); else that of another run."""
        if self._last is None or self._last[0] != which:
            self.enqueue(which)
        assert self._last is not None
        return [self._last[1].detach().cpu().numpy()]
