"""Every operator of ATen that has a rule: what upstream's JIT computes from its linalg is what PyTorch computes in f64."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
F: Any = pytest.importorskip("torch.nn.functional")
pytestmark = pytest.mark.extras

Case = tuple[str, Callable[..., Any], tuple[Any, ...]]
EPS = {"torch.float16": 2.0**-11, "torch.bfloat16": 2.0**-8, "torch.float32": 2.0**-24}


def normal(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def positive(*shape: int) -> Any:
    return normal(*shape).abs() + 0.25


X, Y, ROW, P = normal(3, 4, 8), normal(3, 4, 8).roll(1), normal(8), positive(3, 4, 8)
MASK = normal(4, 8) > 0
Q, K, V = normal(2, 4, 5, 8), normal(2, 2, 6, 8), normal(2, 2, 6, 8).roll(3)

ELEMENTWISE: list[Case] = [
    ("add", lambda x, y: x + y, (X, ROW)),
    ("add alpha", lambda x, y: torch.add(x, y, alpha=0.5), (X, Y)),
    ("add scalar", lambda x: 2 + x, (X,)),
    ("sub", lambda x, y: x - y, (X, Y)),
    ("rsub", lambda x: 1 - x, (X,)),
    ("mul", lambda x, y: x * y * 3, (X, normal(4, 1))),
    ("div", lambda x, y: x / y, (X, P)),
    ("div scalar", lambda x: 3.0 / x, (P,)),
    ("neg", lambda x: -x, (X,)),
    ("abs", torch.abs, (X,)),
    ("pow", lambda x: x**2 + x**3, (X,)),
    ("pow half", lambda x: x**0.5 + x**-0.5 + x**-1 + x**1.5, (P,)),
    ("rsqrt", torch.rsqrt, (P,)),
    ("sqrt", torch.sqrt, (P,)),
    ("exp", torch.exp, (X,)),
    ("exp2", torch.exp2, (X,)),
    ("expm1", torch.expm1, (X,)),
    ("log", torch.log, (P,)),
    ("log1p", torch.log1p, (P,)),
    ("log2", torch.log2, (P,)),
    ("sin", torch.sin, (X,)),
    ("cos", torch.cos, (X,)),
    ("tanh", torch.tanh, (X,)),
    ("erf", torch.erf, (X,)),
    ("sigmoid", torch.sigmoid, (X,)),
    ("silu", F.silu, (X,)),
    ("gelu", F.gelu, (X,)),
    ("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), (X,)),
    ("relu", torch.relu, (X,)),
    ("reciprocal", torch.reciprocal, (P,)),
    ("maximum", torch.maximum, (X, Y)),
    ("minimum", torch.minimum, (X, Y)),
    ("clamp", lambda x: torch.clamp(x, -0.5, 0.75), (X,)),
    ("clamp one side", lambda x: torch.clamp(x, min=-0.5), (X,)),
    ("clamp tensor", lambda x, y: torch.clamp(x, max=y), (X, Y)),
    ("where", lambda m, x, y: torch.where(m, x, y), (MASK, X, Y)),
    ("where scalar", lambda x: torch.where(x > 0.5, x, 0.0), (X,)),
    ("masked fill", lambda x, m: x.masked_fill(m, -3.0), (X, MASK)),
    ("logic", lambda x, y: torch.where((x > 0) & (y < 1) | ~(x >= y), x, y), (X, Y)),
    ("logical", lambda x, y: torch.where(torch.logical_or(x == y, torch.logical_not(x <= 0)), x, y), (X, Y)),
    ("not equal", lambda x, y: torch.where(x != y, x, -y), (X, Y)),
]
MOVES: list[Case] = [
    ("view", lambda x: x.view(3, 2, 2, 8).reshape(6, 16), (X,)),
    ("regroup", lambda x: x.reshape(8, 12), (X,)),
    ("flatten", lambda x: x.flatten(1), (X,)),
    ("squeeze", lambda x: x.unsqueeze(1).unsqueeze(-1).squeeze(1), (X,)),
    ("squeeze all", lambda x: x[:, None].squeeze(), (X,)),
    ("expand", lambda x: x.expand(2, 3, 8) * 2, (ROW,)),
    ("repeat", lambda x: x.repeat(3, 1), (ROW,)),
    ("permute", lambda x: x.permute(2, 0, 1), (X,)),
    ("transpose", lambda x: x.transpose(0, -1).contiguous(), (X,)),
    ("t", lambda x: x.t(), (normal(3, 5),)),
    ("slice", lambda x: x[1:, :, 2:-1], (X,)),
    ("slice step", lambda x: x[:, ::2], (X,)),
    ("select", lambda x: x[:, -1] + x.select(1, 0), (X,)),
    ("cat", lambda x, y: torch.cat([x, y[:, :1], x[:, 2:]], 1), (X, Y)),
    ("stack", lambda x, y: torch.stack([x, y], -1), (X, Y)),
    ("split", lambda x: torch.cat(x.split(3, -1)[::2], -1), (X,)),
    ("split sizes", lambda x: x.split([2, 6], -1)[1], (X,)),
    ("chunk", lambda x: torch.add(*x.chunk(2, -1)), (X,)),
    ("unbind", lambda x: torch.add(*x[:2].unbind(0)), (X,)),
    ("pad", lambda x: F.pad(x, (1, 2, 0, 1), value=0.5), (X,)),
    ("clone", lambda x: x.clone().detach(), (X,)),
    ("full", lambda x: x + torch.full((8,), 0.5) + torch.ones(8) - torch.zeros(4, 1), (X,)),
    ("full like", lambda x: x * torch.full_like(x, 2) + torch.ones_like(x) + torch.zeros_like(x), (X,)),
    ("new", lambda x: x * x.new_full((8,), 2) + x.new_ones(1) + x.new_zeros(8), (X,)),
    ("arange", lambda x: x * torch.arange(1, 9) + torch.arange(0.0, 4.0, 0.5), (X,)),
    ("tril", lambda x: torch.tril(x), (X,)),
    ("triu", lambda x: torch.triu(x, diagonal=2), (X,)),
    ("causal", lambda x: x.masked_fill(torch.ones(4, 8, dtype=torch.bool).triu(1), 0.0), (X,)),
    ("index mask", lambda x: torch.where(torch.arange(4)[:, None] >= torch.arange(8), x, 0.0), (X,)),
]
SUMS: list[Case] = [
    ("sum", lambda x: x.sum(-1, keepdim=True), (X,)),
    ("sum all", lambda x: x.sum(), (X,)),
    ("sum dims", lambda x: x.sum((0, 2)), (X,)),
    ("mean", lambda x: x.mean(-1) + x.mean(), (X,)),
    ("amax", lambda x: x.amax(-1) - x.amin((1, -1), keepdim=True)[:, 0], (X,)),
    ("var", lambda x: x.var(-1) + x.var(-1, unbiased=False), (X,)),
    ("std", lambda x: x.std((0, 1), correction=0), (X,)),
    ("var mean", lambda x: torch.add(*torch.var_mean(x, -1)), (X,)),
    ("softmax", lambda x: x.softmax(-1), (X,)),
    ("softmax middle", lambda x: F.softmax(x, 1), (X,)),
    ("log softmax", lambda x: F.log_softmax(x, -1), (X,)),
    ("layer norm", lambda x, w, b: F.layer_norm(x, (8,), w, b), (X, ROW, ROW + 1)),
    ("layer norm plain", lambda x: F.layer_norm(x, (4, 8)), (X,)),
    ("rms norm", lambda x, w: F.rms_norm(x, (8,), w, 1e-6), (X, ROW)),
    ("mm", lambda x, y: x @ y, (normal(5, 8), normal(8, 6))),
    ("matmul", lambda x, y: x @ y, (X, normal(8, 6))),
    ("matmul batch", lambda x, y: x @ y.mT, (X, Y)),
    ("matmul batches", lambda x, y: x @ y, (normal(2, 1, 5, 8), normal(3, 8, 6))),
    ("bmm", torch.bmm, (X, normal(3, 8, 5))),
    ("mv", torch.mv, (normal(5, 8), ROW)),
    ("dot", torch.dot, (ROW, ROW + 1)),
    ("linear", F.linear, (X, normal(5, 8), normal(5))),
    ("addmm", lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2), (normal(6), normal(5, 8), normal(8, 6))),
    ("baddbmm", lambda b, x, y: torch.baddbmm(b, x, y, alpha=0.5), (normal(3, 4, 5), X, normal(3, 8, 5))),
    ("einsum", lambda x, y: torch.einsum("abc,dc->adb", x, y), (X, normal(5, 8))),
]
ATTENTION: list[Case] = [
    ("attention", F.scaled_dot_product_attention, (Q, Q.roll(1), Q.roll(2))),
    ("scale", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.1), (Q, Q.roll(1), Q.roll(2))),
    ("causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (Q, Q.roll(1), Q.roll(2))),
    ("groups", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), (Q, K, V)),
    (
        "groups, causal",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        (Q, K, V),
    ),
    (
        "groups, mask",
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True),
        (Q, K, V, torch.ones(5, 6, dtype=torch.bool).tril(2)),
    ),
    (
        "bias",
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        (Q, Q.roll(1), Q.roll(2), normal(2, 1, 5, 5)),
    ),
    ("three dims", F.scaled_dot_product_attention, (Q[0], Q[0].roll(1), Q[0].roll(2))),
]
CASES = {name: (f, arguments) for name, f, arguments in (*ELEMENTWISE, *MOVES, *SUMS, *ATTENTION)}


def cast(given: Any, dtype: Any) -> Any:
    return given.to(dtype) if given.is_floating_point() else given


def on_upstream(f: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What upstream's JIT computes, in f64."""
    from prism_mlir.runtime.cpu_jit import run_module
    from prism_mlir.torch import to_mlir

    arrays = [(t.view(torch.uint16) if t.dtype is torch.bfloat16 else t).numpy() for t in arguments]
    (made,) = run_module(to_mlir(f, *arguments), arrays)
    found = torch.from_numpy(made)
    return (found.view(torch.bfloat16) if found.dtype is torch.uint16 else found).double()


@pytest.mark.parametrize("name", CASES)
def test_in_f32(name: str) -> None:
    f, given = CASES[name]
    arguments = tuple(t.contiguous() for t in given)
    wanted = f(*(cast(t, torch.float64) for t in arguments))
    got = on_upstream(f, arguments)
    assert got.shape == wanted.shape
    torch.testing.assert_close(got, wanted.double(), rtol=0, atol=64 * 2.0**-24 * max(1.0, float(wanted.abs().max())))


NARROW = ("gelu tanh", "mul", "softmax", "rms norm", "layer norm", "linear", "groups, causal", "var", "cat")


@pytest.mark.parametrize(("name", "dtype"), list(itertools.product(NARROW, ("float16", "bfloat16"))))
def test_narrow_types_round_as_eager_pytorch_does(name: str, dtype: str) -> None:
    """Within the error that eager PyTorch makes itself, and two roundings."""
    f, given = CASES[name]
    kind = getattr(torch, dtype)
    arguments = tuple(cast(t, kind).contiguous() for t in given)
    wanted = f(*(cast(t, torch.float64) for t in arguments))
    eager = f(*arguments)
    assert eager.dtype is kind
    allowed = float((eager.double() - wanted).abs().max()) + 2 * EPS[str(kind)] * max(1.0, float(wanted.abs().max()))
    torch.testing.assert_close(on_upstream(f, arguments), wanted, rtol=0, atol=allowed)


def test_what_has_no_rule_is_refused_at_its_node() -> None:
    from prism_mlir.graph.errors import UnsupportedError
    from prism_mlir.torch import to_mlir

    with pytest.raises(UnsupportedError, match=r"graph:3:1: error: aten\.cumsum\.default is not supported"):
        to_mlir(lambda x: torch.exp(x).cumsum(0), ROW)


def test_a_view_as_another_type_is_refused() -> None:
    from prism_mlir.graph.errors import UnsupportedError
    from prism_mlir.torch import to_mlir

    with pytest.raises(UnsupportedError, match=r"aten\.view\.dtype as another type"):
        to_mlir(lambda x: x.view(torch.int32).float(), ROW)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_norm_without_eps_has_that_of_the_type_it_is_computed_in(dtype: str) -> None:
    """For small numbers eps is what counts: x / sqrt(x^2 + 2^-23) with x = 2^-13 is 1/3 of the largest that it can be."""
    x = torch.full((1, 8), 2.0**-13, dtype=getattr(torch, dtype))
    got = on_upstream(lambda t: torch.ops.aten._fused_rms_norm(t, [8], None, None)[0], (x,))
    wanted = 2.0**-13 / (2.0**-26 + 2.0**-23) ** 0.5
    torch.testing.assert_close(got, torch.full((1, 8), wanted, dtype=torch.float64), rtol=2.0**-8, atol=0)


def test_casts_keep_what_they_round() -> None:
    """f32 to f16 and back drops 13 bits."""
    x = torch.tensor([1 + 2.0**-12, 1 + 2.0**-9, 3.0])
    assert on_upstream(lambda t: t.half().float(), (x,)).tolist() == [1.0, 1 + 2.0**-9, 3.0]
