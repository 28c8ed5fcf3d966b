"""What ``torch.compile(f, backend="prism")`` leaves to eager PyTorch, and the one warning that says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_EMULATE", "1")
    torch.manual_seed(0)
    torch._dynamo.reset()


def warned(f: Callable[..., Any], *arguments: Any, **more: Any) -> tuple[Any, str]:
    """The result, and the text of the only warning; a second call gives none."""
    from prism_mlir.torch import PrismWarning

    g = torch.compile(f, backend="prism", **more)
    with pytest.warns(PrismWarning) as caught:
        result = g(*arguments)
        g(*arguments)
    (text,) = [str(w.message) for w in caught if issubclass(w.category, PrismWarning)]
    return result, text


def product(x: Any, w: Any) -> Any:
    return x @ w


def test_tensors_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRISM_EMULATE")
    x, w = torch.randn(4, 8), torch.randn(8, 4)
    result, text = warned(product, x, w)
    assert torch.equal(result, x @ w)
    assert text == (
        "a graph of torch.compile runs eagerly, since its tensors are on the CPU; "
        "move them to a GPU, or set PRISM_EMULATE=1 to run kernels on the PTX machine, for tests"
    )


def test_gradients() -> None:
    x, w = torch.randn(4, 8), torch.randn(8, 4, requires_grad=True)
    result, text = warned(product, x, w)
    assert "its results need gradients; call it under torch.no_grad() or torch.inference_mode()" in text
    result.sum().backward()
    assert torch.equal(w.grad, x.sum(0)[:, None].expand(8, 4))


def test_nothing_that_is_supported() -> None:
    x = torch.randn(4, 8)
    with torch.no_grad():
        result, text = warned(lambda t: t.cumsum(-1).argsort(), x)
    assert torch.equal(result, x.cumsum(-1).argsort())
    assert "no operator that sums or contracts" in text


def test_nothing_that_sums() -> None:
    x = torch.randn(4, 8)
    with torch.no_grad():
        result, text = warned(lambda t: torch.relu(t) + 1, x)
    assert torch.equal(result, torch.relu(x) + 1)
    assert "no operator that sums or contracts" in text


def test_a_dim_that_is_marked_dynamic() -> None:
    x, w = torch.randn(4, 8), torch.randn(8, 4)
    torch._dynamo.mark_dynamic(x, 0)
    with torch.no_grad():
        result, text = warned(product, x, w)
    assert torch.equal(result, x @ w)
    assert "marked dynamic; do not call mark_dynamic" in text


def test_tensors_on_another_device() -> None:
    with torch.no_grad():
        _, text = warned(product, torch.empty(4, 8, device="meta"), torch.empty(8, 4, device="meta"))
    assert "its tensors are on meta; bring them to an NVIDIA GPU" in text


def test_a_type_that_no_program_has() -> None:
    x = torch.randn(4, 8, dtype=torch.complex64)
    with torch.no_grad():
        result, text = warned(lambda t: t.sum(-1), x)
    assert torch.equal(result, x.sum(-1))
    assert "no operator that sums or contracts" in text


def test_an_unknown_option_is_an_error() -> None:
    f = torch.compile(product, backend="prism", options={"smaples": 3})
    with torch.no_grad(), pytest.raises(Exception, match="no option 'smaples'"):
        f(torch.randn(4, 8), torch.randn(8, 4))


def test_an_unknown_target_is_told() -> None:
    x, w = torch.randn(4, 8), torch.randn(8, 4)
    with torch.no_grad():
        result, text = warned(product, x, w, options={"target": "sm_1"})
    assert torch.equal(result, x @ w)
    assert "unknown target 'sm_1'" in text


@pytest.mark.parametrize(
    ("capability", "target"),
    [((8, 0), "sm_80"), ((8, 6), "sm_86"), ((8, 9), "sm_86"), ((9, 0), "sm_90"), ((12, 0), "sm_90")],
)
def test_the_newest_target_that_a_gpu_runs(capability: tuple[int, int], target: str) -> None:
    from prism_mlir.torch.dynamo import target_of

    assert target_of(capability) == target


def test_a_gpu_that_is_too_old() -> None:
    from prism_mlir.frameworks.fallback import Fallback
    from prism_mlir.torch.dynamo import target_of

    with pytest.raises(Fallback, match=r"compute capability 7\.5"):
        target_of((7, 5))
