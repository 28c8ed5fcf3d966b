"""Parts of decoders, as Hugging Face writes Llama's."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


def linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


class RMSNorm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)

    def forward(self, x: Any) -> Any:
        kind = x.dtype
        x = x.to(torch.float32) if kind != torch.float64 else x
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(kind)


class MLP(nn.Module):
    def __init__(self, size: int, inner: int) -> None:
        super().__init__()
        self.gate, self.up, self.down = linear(size, inner), linear(size, inner), linear(inner, size)

    def forward(self, x: Any) -> Any:
        return self.down(F.silu(self.gate(x)) * self.up(x))


def turned(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Attention(nn.Module):
    def __init__(self, size: int, heads: int, groups: int) -> None:
        super().__init__()
        self.features = size // heads
        self.q, self.o = linear(size, size), linear(size, size)
        self.k, self.v = (linear(size, self.features * groups) for _ in range(2))

    def forward(self, x: Any, cos: Any, sin: Any) -> Any:
        q, k, v = (p(x).unflatten(-1, (-1, self.features)).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = turned(q, cos, sin), turned(k, cos, sin)
        made = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o(made.transpose(1, 2).flatten(2))


class Decoder(nn.Module):
    def __init__(self, size: int = 32, heads: int = 2, groups: int = 1) -> None:
        super().__init__()
        self.before, self.after = RMSNorm(size), RMSNorm(size)
        self.attention, self.mlp = Attention(size, heads, groups), MLP(size, 2 * size)

    def forward(self, x: Any, cos: Any, sin: Any) -> Any:
        x = x + self.attention(self.before(x), cos, sin)
        return x + self.mlp(self.after(x))
