"""Attention."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from corpus_case import TINY16, U16, U32, UBF, Array, Case, Expect, Launch, from_bf16, to_bf16


def exact_attention(q: Array, k: Array, v: Array, scale: float, causal: bool) -> tuple[Array, Array, Array, Array]:
    """In f64: the result, the same with the sizes of ``v``, the logarithm of the sums, and how uncertain f32 scores are.

    A score is a sum of head products, each rounding U32 of the sizes; scaling and the split of the exponent add 4 more.
    """
    scores = q @ np.swapaxes(k, -1, -2) * scale
    size = np.abs(q) @ np.abs(np.swapaxes(k, -1, -2)) * scale
    if causal:
        hidden = np.triu(np.ones(scores.shape[-2:], bool), 1)
        scores = np.where(hidden, -np.inf, scores)
    top = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - top)
    total = e.sum(axis=-1, keepdims=True)
    p = e / total
    doubt = (q.shape[-1] + 4) * U32 * size.max(axis=-1)
    return p @ v, p @ np.abs(v), (top + np.log(total))[..., 0], doubt


def attention(kernel: str, kind: str, length: int, head: int, block: int, causal: bool) -> Case:
    """Weights are rounded to the element type before the second product and the result after it; a weight is off by twice
    the doubt of the scores (its own and the sum's), and by 64 U32 for exponentials, sums and rescaling."""
    rng = np.random.default_rng(31)
    heads, scale = 2, 0.6 / np.sqrt(head)
    x = [rng.standard_normal((heads, length, head)).astype(np.float32) for _ in range(3)]
    store = to_bf16 if kind == "bf16" else lambda a: a.astype(np.float16)
    decode = from_bf16 if kind == "bf16" else lambda a: a
    q, k, v = (store(a) for a in x)
    out, lse = np.zeros_like(q), np.zeros((heads, length), np.float32)
    exact, size, logs, doubt = exact_attention(*(decode(a).astype(np.float64) for a in (q, k, v)), scale, causal)
    unit = UBF if kind == "bf16" else U16
    bound = (unit + 64 * U32 + 2 * doubt[..., None]) * size + unit * np.abs(exact) + 2 * TINY16
    launch = Launch(
        kernel, (-(-length // block), heads), (q, k, v, out, lse, length, np.float32(scale)), frozenset({3, 4})
    )
    logs_bound = doubt + 32 * U32 + 8 * U32 * np.abs(logs)
    return Case((launch,), (Expect(out, exact, bound, decode), Expect(lse, logs, logs_bound)))


def decode() -> Case:
    """Two kernels: parts of 96 keys of 250 (the last one ragged), then their combination."""
    rng = np.random.default_rng(32)
    heads, share, head, length, chunk = 2, 4, 32, 250, 96
    parts, scale = -(-length // chunk), 0.125
    q = rng.standard_normal((heads, share, head)).astype(np.float16)
    k, v = (rng.standard_normal((heads, length, head)).astype(np.float16) for _ in range(2))
    part = np.zeros((parts, heads, share, head), np.float32)
    lse = np.zeros((parts, heads, share), np.float32)
    out = np.zeros((heads, share, head), np.float16)
    exact, size, _, doubt = exact_attention(*(a.astype(np.float64) for a in (q, k, v)), scale, False)
    bound = (U16 + 128 * U32 + 4 * doubt[..., None]) * size + U16 * np.abs(exact) + TINY16
    first = Launch(
        "decode_part-f16", (parts, heads), (q, k, v, part, lse, length, chunk, np.float32(scale)), frozenset({3, 4})
    )
    second = Launch("decode_combine-f16", (heads * share,), (part, lse, out, parts, heads * share), frozenset({2}))
    return Case((first, second), (Expect(out, exact, bound),))


CASES: dict[str, Callable[[], Case]] = {
    "attention-f16": lambda: attention("attention-f16", "f16", 117, 32, 32, causal=False),
    "attention-causal-f16": lambda: attention("attention-causal-f16", "f16", 150, 32, 64, causal=True),
    "attention-causal-bf16": lambda: attention("attention-causal-bf16", "bf16", 107, 32, 32, causal=True),
    "decode-f16": decode,
}
