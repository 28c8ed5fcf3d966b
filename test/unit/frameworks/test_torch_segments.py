"""Where a model is cut, and that layers that are alike are one program; nothing is searched or run here."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Programs that are asked for. Their results are zeros."""
    from prism_mlir.torch import dynamo
    from prism_mlir.torch.launch import Kernels

    found: list[str] = []
    kinds = {f"torch.{name}": getattr(torch, name) for name in ("float16", "float32")}

    def emulate(self: Kernels, _tensors: Any) -> list[Any]:
        return [torch.zeros(b.stored, dtype=kinds[b.dtype]) for b in self.results]

    monkeypatch.setenv("PRISM_EMULATE", "1")
    monkeypatch.setattr(dynamo, "kernels_of", lambda text, *_: found.append(text))
    monkeypatch.setattr(Kernels, "emulate", emulate)
    torch._dynamo.reset()
    return found


def test_layers_that_are_alike_are_the_same_programs(texts: list[str]) -> None:
    """Of three decoder layers: three times norm and projections, attention, and the way back to the residual stream; twice norm
    and MLP, and once that with the last norm and the head, to which the last sum goes alone. Five of those twelve differ."""
    from llama_parts import Decoder, RMSNorm, linear

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.layers = (
                torch.nn.Embedding(10, 64),
                torch.nn.ModuleList(Decoder(64, 4, 2) for _ in range(3)),
            )
            self.norm, self.head = RMSNorm(64), linear(64, 10)

        def forward(self, tokens: Any, cos: Any, sin: Any) -> Any:
            x = self.table(tokens)
            for layer in self.layers:
                x = layer(x, cos, sin)
            return self.head(self.norm(x))

    angles = torch.zeros(16, 16).half()
    with torch.inference_mode():
        made = torch.compile(Model().half(), backend="prism")(torch.zeros(2, 16, dtype=torch.long), angles, angles)
    assert made.shape == (2, 16, 10)
    assert (len(texts), len(set(texts))) == (12, 5)


def test_a_weight_goes_to_the_segment_that_reads_it(texts: list[str]) -> None:
    """The transposes of weights after attention are no results of what is before it: every program has one result."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project, self.back = torch.nn.Linear(32, 32), torch.nn.Linear(32, 32)

        def forward(self, x: Any) -> Any:
            q = self.project(x).view(2, 16, 2, 16).transpose(1, 2)
            made = torch.nn.functional.scaled_dot_product_attention(q, q, q)
            return self.back(made.transpose(1, 2).reshape(2, 16, 32))

    with torch.no_grad():
        torch.compile(Model(), backend="prism")(torch.zeros(2, 16, 32))
    heads = [line for text in texts for line in text.splitlines() if "func.func @main" in line]
    assert len(heads) == 3
    assert all(head.rpartition("->")[2].count("tensor<") == 1 for head in heads)
    assert sorted(head.count("%arg") for head in heads) == [1, 3, 3]


@pytest.mark.parametrize(("inner", "programs"), [(512, 1), (1024, 2)])
def test_long_rows_go_through_memory(inner: int, programs: int, texts: list[str]) -> None:
    """The two products of an MLP are one program where a kernel can hold a row between them."""
    from llama_parts import MLP

    with torch.no_grad():
        torch.compile(MLP(32, inner), backend="prism")(torch.zeros(4, 32))
    assert len(texts) == programs
