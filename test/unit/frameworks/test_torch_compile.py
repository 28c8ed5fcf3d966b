"""``torch.compile(f, backend="prism")`` on the PTX machine, against eager PyTorch in f64."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras

QUICK: dict[str, Any] = {"samples": 20}
EPS = {"torch.float16": 2.0**-11, "torch.bfloat16": 2.0**-8, "torch.float32": 2.0**-24}


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On the PTX machine, with every warning an error, from a fresh start."""
    monkeypatch.setenv("PRISM_EMULATE", "1")
    torch.manual_seed(0)
    torch._dynamo.reset()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.filterwarnings("error", message=".*torch.compile")
        yield


def compiled(f: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    made: Callable[..., Any] = torch.compile(f, backend="prism", options=QUICK, **more)
    return made


def wide(given: Any) -> Any:
    """A tensor or a module in f64."""
    return given.double() if isinstance(given, torch.nn.Module) or given.is_floating_point() else given


def close(got: Any, wanted: Any, roundings: int = 8) -> None:
    """To a few roundings of the result's type, of the largest element."""
    assert got.shape == wanted.shape
    allowed = roundings * EPS[str(got.dtype)] * max(1.0, float(wanted.abs().max()))
    torch.testing.assert_close(got.double(), wanted.double(), rtol=0, atol=allowed)


def test_rms_norm_and_linear() -> None:
    norm, linear = torch.nn.RMSNorm(64), torch.nn.Linear(64, 32, bias=False)
    x = torch.randn(16, 64)
    got = compiled(lambda t: linear(norm(t)))(x)
    weight = linear.weight.double()
    wanted = (x.double() / (x.double().square().mean(-1, keepdim=True) + 2.0**-23).sqrt()) @ weight.T
    close(got, wanted)
