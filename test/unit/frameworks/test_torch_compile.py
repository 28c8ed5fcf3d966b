"""``torch.compile(f, backend="prism")`` on the PTX machine, against eager PyTorch in f64."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
F: Any = pytest.importorskip("torch.nn.functional")
pytestmark = pytest.mark.extras

QUICK: dict[str, Any] = {"samples": 20}
EPS = {"torch.float16": 2.0**-11, "torch.bfloat16": 2.0**-8, "torch.float32": 2.0**-24}


class Launches:
    """How many kernels were launched."""

    def __init__(self) -> None:
        self.count = 0

    def took(self) -> int:
        """Since the last time."""
        found, self.count = self.count, 0
        return found


@pytest.fixture(autouse=True)
def launches(monkeypatch: pytest.MonkeyPatch) -> Iterator[Launches]:
    """On the PTX machine, with every warning of Prism an error, from a fresh start, without gradients."""
    from prism_mlir.frameworks.fallback import PrismWarning
    from prism_mlir.torch.launch import Kernels

    monkeypatch.setenv("PRISM_EMULATE", "1")
    counted, emulate = Launches(), Kernels.emulate

    def emulated(self: Kernels, tensors: Any) -> Any:
        counted.count += len(self.result.kernels)
        return emulate(self, tensors)

    monkeypatch.setattr(Kernels, "emulate", emulated)
    torch.manual_seed(0)
    torch._dynamo.reset()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error", PrismWarning)
        yield counted


def compiled(f: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    made: Callable[..., Any] = torch.compile(f, backend="prism", options=QUICK, **more)
    return made


def wide(given: Any) -> Any:
    """A tensor or a module in f64."""
    if isinstance(given, torch.nn.Module):
        return copy.deepcopy(given).double()
    return given.double() if isinstance(given, torch.Tensor) and given.is_floating_point() else given


def close(got: Any, wanted: Any, roundings: int = 8) -> None:
    """To a few roundings of the result's type, of the largest element."""
    assert got.shape == wanted.shape
    allowed = roundings * EPS[str(got.dtype)] * max(1.0, float(wanted.abs().max()))
    torch.testing.assert_close(got.double(), wanted.double(), rtol=0, atol=allowed)


def agrees(f: Callable[..., Any], *arguments: Any, roundings: int = 8) -> Any:
    """The result of compiled code, compared with eager PyTorch in f64."""
    got = compiled(f)(*arguments)
    wanted = wide(f)(*(wide(a) for a in arguments))
    listed = (got, wanted) if isinstance(got, tuple) else ((got,), (wanted,))
    for g, w in zip(*listed, strict=True):
        close(g, w, roundings)
    return got


def linear(t: Any, w: Any) -> Any:
    return torch.relu(t @ w)


def test_rms_norm_and_linear(launches: Launches) -> None:
    norm, weights = torch.nn.RMSNorm(64), torch.nn.Linear(64, 32, bias=False)
    x = torch.randn(16, 64)
    got = compiled(lambda t: weights(norm(t)))(x)
    w = weights.weight.double()
    close(got, (x.double() / (x.double().square().mean(-1, keepdim=True) + 2.0**-23).sqrt()) @ w.T)
    assert launches.took() == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_llama_mlp(dtype: Any, launches: Launches) -> None:
    from llama_parts import MLP

    agrees(MLP(32, 64).to(dtype), torch.randn(2, 8, 32).to(dtype))
    assert launches.took() == 1


def test_llama_norm_and_projections() -> None:
    from llama_parts import RMSNorm, linear

    norm, query, key = (m.half() for m in (RMSNorm(32), linear(32, 32), linear(32, 16)))

    class Both(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.query, self.key = norm, query, key

        def forward(self, x: Any) -> Any:
            x = self.norm(x)
            return self.query(x), self.key(x)

    agrees(Both(), torch.randn(2, 8, 32).half())


Q, K = torch.randn(2, 4, 16, 16), torch.randn(2, 2, 16, 16)


@pytest.mark.parametrize(
    ("options", "arguments", "dtype"),
    [
        ({}, (Q, Q, Q.roll(1)), torch.float32),
        ({"is_causal": True}, (Q, Q, Q.roll(1)), torch.float16),
        ({"enable_gqa": True}, (Q, K, K.roll(1)), torch.bfloat16),
        ({"enable_gqa": True, "is_causal": True}, (Q, K, K.roll(1)), torch.float16),
        ({"attn_mask": torch.randn(16, 16) < 1}, (Q, Q, Q.roll(1)), torch.float16),
        ({"attn_mask": torch.randn(2, 1, 16, 16)}, (Q, Q, Q.roll(1)), torch.float32),
    ],
    ids=["plain", "causal", "groups", "groups, causal", "mask", "bias"],
)
def test_attention_is_one_kernel(options: dict[str, Any], arguments: Any, dtype: Any, launches: Launches) -> None:
    class Attend(torch.nn.Module):
        def forward(self, q: Any, k: Any, v: Any) -> Any:
            mask = options.get("attn_mask")
            mask = mask.to(q.dtype) if mask is not None and mask.is_floating_point() else mask
            return F.scaled_dot_product_attention(q, k, v, **{**options, "attn_mask": mask})

    agrees(Attend(), *(t.to(dtype) for t in arguments))
    assert launches.took() == 1


def test_layer_norm_and_linear() -> None:
    agrees(torch.nn.Sequential(torch.nn.LayerNorm(32), torch.nn.Linear(32, 16)), torch.randn(16, 32))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_mlp(approximate: str) -> None:
    gelu = torch.nn.GELU(approximate)
    agrees(torch.nn.Sequential(torch.nn.Linear(32, 64), gelu, torch.nn.Linear(64, 32)), torch.randn(16, 32))


def test_lora() -> None:
    def lora(x: Any, w: Any, a: Any, b: Any) -> Any:
        return x @ w + 2 * ((x @ a) @ b)

    given = [torch.randn(s) / 8 for s in ((16, 32), (32, 32), (32, 4), (4, 32))]
    agrees(lora, *given)


def test_a_decoder_block(launches: Launches) -> None:
    """Norm and projections, attention (with copies, since its heads lie between tokens), the residual stream, norm and MLP."""
    from llama_parts import Decoder

    agrees(Decoder(), torch.randn(2, 8, 32), torch.randn(8, 16), torch.randn(8, 16), roundings=32)
    assert 4 <= launches.took() <= 6


def test_attention_by_its_definition() -> None:
    """As models write it without the fused operator, with what is around it."""

    class Attend(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.o = (torch.nn.Linear(32, 32) for _ in range(4))

        def forward(self, x: Any) -> Any:
            q, k, v = (p(x).view(2, 8, 2, 16).transpose(1, 2) for p in (self.q, self.k, self.v))
            weights = F.softmax(q @ k.transpose(2, 3) * 0.25, -1)
            return self.o((weights @ v).transpose(1, 2).reshape(2, 8, 32))

    agrees(Attend(), torch.randn(2, 8, 32), roundings=16)


def test_other_shapes_compile_again(launches: Launches) -> None:
    f, w = compiled(linear), torch.randn(32, 16)
    for rows in (16, 8, 24, 8):
        x = torch.randn(rows, 32)
        close(f(x, w), linear(x.double(), w.double()))
        assert launches.took() == 1


def test_symbolic_sizes_are_given_their_values(launches: Launches) -> None:
    f, w = compiled(linear, dynamic=True), torch.randn(32, 16)
    for rows in (16, 8):
        x = torch.randn(rows, 32)
        close(f(x, w), linear(x.double(), w.double()))
        assert launches.took() == 1


def test_numbers_as_arguments(launches: Launches) -> None:
    def scaled(x: Any, w: Any, factor: float, rows: int) -> Any:
        return (x @ w)[:rows] * factor

    f, x, w = compiled(scaled), torch.randn(16, 32), torch.randn(32, 16)
    for factor, rows in ((2.0, 8), (0.5, 4)):
        close(f(x, w, factor, rows), scaled(x.double(), w.double(), factor, rows))


def test_tensors_without_dims_and_results_without_dims() -> None:
    agrees(lambda x, s: ((x * s).sum(), x.amax()), torch.randn(16, 32), torch.tensor(3.0))


def test_arguments_that_are_not_contiguous() -> None:
    w, base = torch.randn(16, 32), torch.randn(32, 48)
    agrees(linear, torch.randn(32, 16).t(), w.t())
    agrees(linear, base[:, 8:40], torch.randn(32, 1).expand(32, 16))


def test_results_lie_in_memory_as_they_do_in_eager_pytorch() -> None:
    def f(x: Any, w: Any) -> Any:
        y = x @ w
        return y.t(), torch.relu(y.t().contiguous())

    x, w = torch.randn(16, 32), torch.randn(32, 24)
    got = agrees(f, x, w)
    assert [g.stride() for g in got] == [e.stride() for e in f(x, w)]


def test_results_share_memory_as_they_do_in_eager_pytorch() -> None:
    def f(x: Any, w: Any) -> Any:
        y = x @ w
        return y, y.view(4, -1), x, x.t(), None, 3

    x, w = torch.randn(16, 32), torch.randn(32, 24)
    y, view, same, turned, nothing, number = compiled(f)(x, w)
    close(y, x.double() @ w.double())
    y[0, 0] = 7.0
    assert view[0, 0] == 7.0
    x[0, 1] = 5.0
    assert same[0, 1] == 5.0 and turned[1, 0] == 5.0
    assert nothing is None and number == 3


def test_an_argument_that_is_written() -> None:
    def f(x: Any, w: Any, total: Any) -> Any:
        total += x @ w
        return total * 2

    x, w, total = torch.randn(16, 32), torch.randn(32, 16), torch.ones(16, 16)
    got = compiled(f)(x, w, total)
    wanted = 1 + x.double() @ w.double()
    close(total, wanted)
    close(got, 2 * wanted)


def test_parameters_and_buffers_are_read_when_it_runs() -> None:
    class Shifted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(32, 16)
            self.register_buffer("shift", torch.ones(16))

        def forward(self, x: Any) -> Any:
            return self.linear(x) + self.shift

    module, x = Shifted(), torch.randn(8, 32)
    f = compiled(module)
    close(f(x), wide(module)(x.double()))
    module.linear.weight.mul_(2)
    module.shift.add_(1)
    close(f(x), wide(module)(x.double()))


def test_inference_mode() -> None:
    x, w = torch.randn(16, 32), torch.randn(32, 16)
    with torch.inference_mode():
        close(compiled(linear)(x, w), linear(x.double(), w.double()))


def test_what_is_not_supported_stays_eager_around_kernels(launches: Launches) -> None:
    """An embedding, a running sum and an argmax have no kernels; the norm and the product between them have."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.norm, self.head = (
                torch.nn.Embedding(10, 32),
                torch.nn.LayerNorm(32),
                torch.nn.Linear(32, 16),
            )

        def forward(self, tokens: Any) -> Any:
            logits = self.head(self.norm(self.table(tokens)))
            return logits.cumsum(0), logits.argmax(-1)

    model, tokens = Model(), torch.arange(8)
    sums, best = compiled(model)(tokens)
    assert launches.took() == 1
    wanted = wide(model)(tokens)
    close(sums, wanted[0], 32)
    assert best.tolist() == wanted[1].tolist()


def test_masks_from_arguments_stay_eager_where_they_must(launches: Launches) -> None:
    """Lengths are integers; the comparison that makes a mask of them is left outside."""

    def f(x: Any, w: Any, lengths: Any) -> Any:
        mask = torch.arange(16)[None, :] < lengths[:, None]
        return torch.where(mask, x @ w, 0.0).sum(-1)

    agrees(f, torch.randn(8, 32), torch.randn(32, 16), torch.arange(8) + 3, roundings=64)
    assert launches.took() >= 1


def test_truth_values_and_integers_are_made_from_what_kernels_give(launches: Launches) -> None:
    def f(x: Any, w: Any) -> Any:
        y = x @ w
        positive = y > 0
        return positive, torch.where(positive, y, 0.0).sum(-1), positive.sum(-1)

    x, w = torch.randn(16, 32), torch.randn(32, 16)
    positive, total, count = compiled(f)(x, w)
    assert launches.took() >= 1
    y = x.double() @ w.double()
    assert torch.equal(positive, y > 0) and torch.equal(count, (y > 0).sum(-1))
    close(total, y.clamp(min=0).sum(-1), 64)
