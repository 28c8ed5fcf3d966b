"""Write a decoder layer of Llama 3.2 1B, one step of decoding with a cache, as JAX exports it: norm, QKV, rotary embedding,
grouped-query attention on a cache that grows at a position known at run time only, output projection, residual, norm, gated MLP,
residual.

    pip install jax==0.10.2 jaxlib==0.10.2
    python examples/llama/export.py > decoder_layer.mlir             # hidden 2048, as in the model
    python examples/llama/export.py --small > small.mlir             # hidden 64, for a quick look
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

THETA = 500_000.0
EPSILON = 1e-5


@dataclass(frozen=True)
class Sizes:
    hidden: int = 2048
    heads: int = 32
    kv_heads: int = 8
    head: int = 64
    mlp: int = 8192
    cache: int = 1024
    batch: int = 2
    dtype: Any = jnp.float16


def rms_norm(x: jax.Array, weight: jax.Array) -> jax.Array:
    h = x.astype(jnp.float32)
    h = h * jax.lax.rsqrt(jnp.mean(h * h, axis=-1, keepdims=True) + EPSILON)
    return weight * h.astype(x.dtype)


def rotate(x: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
    first, second = jnp.split(x, 2, axis=-1)
    return x * cos + jnp.concatenate([-second, first], axis=-1) * sin


def decoder_layer(sizes: Sizes) -> tuple[Any, list[jax.ShapeDtypeStruct]]:
    """The function, and the shapes of its arguments."""
    s = sizes

    def split(x: jax.Array, heads: int) -> jax.Array:
        return x.reshape(s.batch, 1, heads, s.head).transpose(0, 2, 1, 3)

    def layer(x, position, k_cache, v_cache, w_in, w_q, w_k, w_v, w_o, w_post, w_gate, w_up, w_down):  # type: ignore[no-untyped-def]
        h = rms_norm(x, w_in)
        q, k, v = split(h @ w_q, s.heads), split(h @ w_k, s.kv_heads), split(h @ w_v, s.kv_heads)
        frequencies = 1.0 / (THETA ** (jnp.arange(0, s.head, 2, dtype=jnp.float32) / s.head))
        angles = position.astype(jnp.float32) * frequencies
        angles = jnp.concatenate([angles, angles])
        cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        zero = jnp.int32(0)
        k_cache = jax.lax.dynamic_update_slice(k_cache, k, (zero, zero, position, zero))
        v_cache = jax.lax.dynamic_update_slice(v_cache, v, (zero, zero, position, zero))
        q = q.reshape(s.batch, s.kv_heads, s.heads // s.kv_heads, s.head)
        scores = jnp.einsum("bkgd,bknd->bkgn", q, k_cache, preferred_element_type=jnp.float32) * s.head**-0.5
        scores = jnp.where(jnp.arange(s.cache, dtype=jnp.int32) <= position, scores, -jnp.inf)
        weights = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
        out = jnp.einsum("bkgn,bknd->bkgd", weights, v_cache).reshape(s.batch, 1, s.heads * s.head)
        x = x + out @ w_o
        h = rms_norm(x, w_post)
        return x + (jax.nn.silu(h @ w_gate) * (h @ w_up)) @ w_down, k_cache, v_cache

    def float_(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, s.dtype)

    kv = float_(s.batch, s.kv_heads, s.cache, s.head)
    arguments = [
        float_(s.batch, 1, s.hidden),
        jax.ShapeDtypeStruct((), jnp.int32),
        kv,
        kv,
        float_(s.hidden),
        float_(s.hidden, s.heads * s.head),
        float_(s.hidden, s.kv_heads * s.head),
        float_(s.hidden, s.kv_heads * s.head),
        float_(s.heads * s.head, s.hidden),
        float_(s.hidden),
        float_(s.hidden, s.mlp),
        float_(s.hidden, s.mlp),
        float_(s.mlp, s.hidden),
    ]
    return layer, arguments


def text(sizes: Sizes) -> str:
    """StableHLO in generic form, which needs no jaxlib to be read."""
    layer, arguments = decoder_layer(sizes)
    module = jax.jit(layer).lower(*arguments).compiler_ir("stablehlo")
    return str(module.operation.get_asm(print_generic_op_form=True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="hidden 64 instead of 2048")
    small = Sizes(hidden=64, heads=4, kv_heads=2, head=16, mlp=128, cache=32)
    print(text(small if parser.parse_args().small else Sizes()))
