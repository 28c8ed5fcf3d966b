"""The workloads in PyTorch compute what NumPy does in f64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism_mlir.runtime.bundle import torch_peers
from prism_mlir.runtime.bundle.driver import GpuError
from prism_mlir.runtime.bundle.torch_peers import FUNCTIONS, TorchTask

Array = np.ndarray[Any, Any]


def normalised(x: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def attended(q: Array, k: Array, v: Array) -> Array:
    scores = np.exp(np.einsum("bqd,bkd->bqk", q, k))
    return np.einsum("bqk,bkd->bqd", scores / scores.sum(-1, keepdims=True), v)


def gated(x: Array, w: Array, v: Array) -> Array:
    product = x @ w
    return product / (1 + np.exp(-product)) * (x @ v)


MEANINGS: dict[str, Callable[..., Array]] = {
    "rms_norm": lambda x, w: normalised(x) @ w,
    "rms_norm_mlp": lambda x, w, v: (normalised(x) @ w) * (normalised(x) @ v),
    "swiglu": gated,
    "attention": attended,
    "qk_attention": lambda q, k, v: attended(normalised(q), k, v),
}


def inputs_of(name: str) -> list[Array]:
    rng = np.random.default_rng(4)
    if "attention" in name:
        shapes: list[tuple[int, ...]] = [(2, 1, 8), (2, 12, 8), (2, 12, 8)]
    else:
        shapes = [(4, 16), (16, 6), (16, 6)][: 2 if name == "rms_norm" else 3]
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def test_every_function_has_a_meaning() -> None:
    assert set(FUNCTIONS) == set(MEANINGS)


@pytest.mark.extras
@pytest.mark.parametrize("name", MEANINGS)
def test_torch_computes_what_numpy_does(name: str) -> None:
    pytest.importorskip("torch")
    inputs = inputs_of(name)
    wanted = MEANINGS[name](*(a.astype(np.float64) for a in inputs))
    task = TorchTask(name, False, inputs, sets=2, device="cpu")
    task.poison()
    for which in (0, 1):
        task.enqueue(which)
    for which in (1, 0):  # that of set 1 is there, that of set 0 is computed again
        np.testing.assert_allclose(task.outputs(which)[0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.extras
def test_compiled_code_is_asked_for_as_in_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    asked: list[dict[str, Any]] = []

    def compiled(function: Any, **options: Any) -> Any:
        asked.append(options)
        return function

    monkeypatch.setattr(torch, "compile", compiled)
    inputs = inputs_of("swiglu")
    task = TorchTask("swiglu", True, inputs, sets=1, device="cpu")
    task.enqueue(0)
    assert asked == [{"mode": "max-autotune"}]
    np.testing.assert_allclose(task.outputs(0)[0], gated(*inputs), rtol=1e-3, atol=1e-4)


def test_without_torch_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(torch_peers.importlib, "import_module", missing)
    with pytest.raises(GpuError, match=r"torch is not importable \(No module named 'torch'\)"):
        TorchTask("swiglu", False, [], 1)
