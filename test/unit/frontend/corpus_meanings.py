"""What every file of ``test/inputs/corpus`` computes, in NumPy on f64. Constants are rounded as the files have them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Meaning = Callable[..., Any]


def h(value: float) -> float:
    """A constant that is rounded to f16."""
    return float(np.float16(value))


def f(value: float) -> float:
    """A constant that is rounded to f32."""
    return float(np.float32(value))


def bf(value: float) -> float:
    """A constant that is rounded to bf16."""
    bits = np.array([value], np.float32).view(np.uint32)
    return float((((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).view(np.float32)[0])


erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def silu(x: Array) -> Array:
    return x * sigmoid(x)


def softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def rms(x: Array, g: Array, eps: float = f(1e-6)) -> Array:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * g


def norm(x: Array, g: Array, b: Array, eps: float = f(1e-5)) -> Array:
    d = x - x.mean(axis=-1, keepdims=True)
    return d / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + eps) * g + b


def gelu_tanh(x: Array, *, outer: float, inner: float, cubic: float) -> Array:
    return x * (0.5 + 0.5 * np.tanh(outer * (x + inner * cubic * x**3)))


def attention(q: Array, k: Array, v: Array, scale: float, change: Callable[[Array], Array] = lambda s: s) -> Array:
    """Of batches of queries by keys."""
    return softmax(change(np.einsum("bqd,bkd->bqk", q, k) * scale)) @ v


def grouped(q: Array, k: Array, v: Array, change: Callable[[Array], Array] = lambda s: s) -> Array:
    """``jax.nn.dot_product_attention``: batch, tokens, heads, elements; several query heads for each head of keys."""
    times = q.shape[2] // k.shape[2]
    k, v = (np.repeat(t, times, axis=2) for t in (k, v))
    scores = change(np.einsum("btnh,bsnh->bnts", q, k) * f(1 / math.sqrt(q.shape[-1])))
    return np.einsum("bnts,bsnh->btnh", softmax(scores), v)


def lower(scores: Array) -> Array:
    """Scores of keys that come later are out."""
    rows, columns = scores.shape[-2:]
    return np.where(np.tri(rows, columns, dtype=bool), scores, -np.inf)


def near(scores: Array) -> Array:
    i, j = np.indices(scores.shape[-2:])
    return np.where(abs(i - j) <= 4, scores, -np.inf)


def rotated(x: Array, c: Array, s: Array) -> Array:
    a, b = np.split(x, 2, axis=-1)
    return x * c + np.concatenate([-b, a], axis=-1) * s


def interleaved(x: Array, c: Array, s: Array) -> Array:
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([a * c - b * s, a * s + b * c], axis=-1).reshape(x.shape)


def computed_angles(x: Array) -> Array:
    angles = np.arange(16)[:, None] * (1.0 / 10000 ** (np.arange(0, 32, 2, dtype=np.float32) / 32)).astype(np.float32)
    both = np.concatenate([angles, angles], axis=-1)
    return rotated(x, np.cos(both), np.sin(both))


def heads(x: Array, w: Array) -> list[Array]:
    y = (x @ w).reshape(2, 16, 3, 4, 16)
    return [y[:, :, k] for k in range(3)]


def of_heads(q: Array, k: Array, v: Array, scale: float) -> Array:
    p = softmax(np.einsum("bqhd,bkhd->bhqk", q, k) * scale)
    return np.einsum("bhqk,bkhd->bqhd", p, v).reshape(2, 16, 64)


def block(x: Array, wq: Array, wk: Array, wv: Array, wo: Array) -> Array:
    return of_heads(*((x @ w).reshape(2, 16, 4, 16) for w in (wq, wk, wv)), 0.25) @ wo + x


def with_cache(q: Array, k: Array, v: Array, nk: Array, nv: Array) -> Array:
    return attention(q, np.concatenate([k, nk], axis=1), np.concatenate([v, nv], axis=1), 0.125)


def gated(x: Array, g: Array, u: Array, d: Array) -> Array:
    return (silu(x @ g) * (x @ u)) @ d


def group_rms(x: Array, g: Array) -> Array:
    return rms(x.reshape(16, 4, 16), np.ones(16)).reshape(16, 64) * g


JAX: dict[str, Meaning] = {
    "add_norm": lambda x, r, g: (rms(x + r, g), x + r),
    "argument_result": lambda x: (x, x + 1),
    "attention_block": block,
    "attn_add": lambda q, k, v, m: attention(q, k, v, h(32**-0.5), lambda s: s + m),
    "attn_bool": lambda q, k, v, m: attention(q, k, v, f(32**-0.5), lambda s: np.where(m != 0, s, -np.inf)),
    "attn_causal": lambda q, k, v: attention(q, k, v, 1 / h(math.sqrt(32)), lower),
    "attn_causal_iota": lambda q, k, v: attention(q, k, v, 0.125, lower),
    "attn_lse": lambda q, k, v: attention(q, k, v, 0.125),
    "bf16_linear": lambda x, w: gelu_tanh(x @ w, outer=bf(math.sqrt(2 / math.pi)), inner=bf(0.044715), cubic=1),
    "clip": lambda x: np.clip(x, -1, 1),
    "dot": np.dot,
    "dpa": grouped,
    "dpa_bias": lambda q, k, v, b: grouped(q, k, v, lambda s: s + b),
    "dpa_causal": lambda q, k, v: grouped(q, k, v, lower),
    "dpa_causal_f32": lambda q, k, v: grouped(q, k, v, lower),
    "dpa_gqa": grouped,
    "dpa_gqa_decode": grouped,
    "dpa_mask": lambda q, k, v, m: grouped(q, k, v, lambda s: np.where(m != 0, s, -np.inf)),
    "dpa_window": lambda q, k, v: grouped(q, k, v, near),
    "dyt": lambda x, w: np.tanh(0.5 * x) @ w,
    "einsum_heads": lambda x, w: np.einsum("bsd,dhk->bhsk", x, w),
    "einsum_out": lambda x, w: np.einsum("bhsk,hkd->bsd", x, w),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "f32_linear": lambda x, w: silu(x @ w),
    "gated_mlp": gated,
    "gelu_quick": lambda x, w: x @ w * sigmoid(h(1.702) * (x @ w)),
    "group_rms": group_rms,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "kv_concat": with_cache,
    "l2norm": lambda x, g: x / np.sqrt((x * x).sum(axis=-1, keepdims=True)) * g,
    "layer_norm": norm,
    "layer_norm_jnp_var": lambda x: norm(x, np.ones(64), np.zeros(64), h(1e-5)),
    "layer_norm_linear_bias": lambda x, g, b, w, c: norm(x, g, b) @ w + c,
    "leaky": lambda x: np.where(x >= 0, x, h(0.01) * x),
    "log_softmax": lambda x: np.log(softmax(x)),
    "lora": lambda x, w, a, b: x @ w + 2.0 * ((x @ a) @ b),
    "matmul_t": lambda x, w: x @ w.T,
    "matvec": np.dot,
    "mean_var": lambda x: (x.mean(axis=-1), x.var(axis=-1)),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "mlp_gelu_exact": lambda x, w, b, v, c: (lambda y: 0.5 * y * (1 + erf(y * h(1 / math.sqrt(2)))))(x @ w + b) @ v + c,
    "mlp_gelu_tanh": lambda x, w, b, v, c: (
        gelu_tanh(x @ w + b, outer=h(math.sqrt(2 / math.pi)), inner=h(0.044715), cubic=1) @ v + c
    ),
    "norm_mlp_residual": lambda x, g, u, d, w: x + gated(rms(x, w), g, u, d),
    "odd_sum": lambda x: x.sum(axis=(0, 2)),
    "one_out": lambda x, y: x @ y,
    "outer": np.outer,
    "packed_glu": lambda x, w: (lambda y: y[:, :128] * sigmoid(y[:, 128:]))(x @ w),
    "qkv_heads": lambda x, w: tuple(np.swapaxes(y, 1, 2) for y in heads(x, w)),
    "qkv_split": lambda x, w: tuple(np.split(x @ w, 3, axis=-1)),
    "relu6": lambda x: np.clip(x, 0, 6),
    "residual": lambda x, w: x + np.maximum(x @ w, 0),
    "rms_intpow": lambda x, g: rms(x, 1 + g),
    "rms_linear": lambda x, g, w: rms(x, g) @ w,
    "rms_norm": rms,
    "rms_pow": rms,
    "rms_recip_n": rms,
    "rope_attention": lambda q, k, v, c, s: (
        softmax(np.einsum("bhqd,bhkd->bhqk", rotated(q, c, s), rotated(k, c, s)) * 0.25) @ v
    ),
    "rope_computed": computed_angles,
    "rope_half": rotated,
    "rope_interleaved": interleaved,
    "scalar_arg": lambda x, s: x * s,
    "self_attention": lambda x, w, o: of_heads(*heads(x, w), 0.25) @ o,
    "several_results": lambda x, a, b: (x @ a, x @ b, x),
    "silu_expr": lambda x, w: silu(x @ w),
    "silu_tanh": lambda x, w: silu(x @ w),
    "size_one": lambda x, y: x * y,
    "softmax": softmax,
    "softmax_lse": softmax,
    "softmax_noshift": softmax,
    "softmax_recip": softmax,
    "softplus": lambda x: np.logaddexp(x, 0),
    "total": lambda x: x.sum(),
    "transpose_only": np.transpose,
    "transposed_softmax": lambda x: softmax(np.swapaxes(x, 0, 1), 0),
    "vecmat": np.dot,
}


def safe_softmax(s: Array, mask: Array) -> Array:
    kept = np.where(mask != 0, s, -np.inf)
    some = np.isfinite(kept).any(axis=-1, keepdims=True)
    return np.where(some, softmax(np.where(some, kept, 0)), 0)


def joined(parts: list[Array]) -> Array:
    return np.concatenate(parts, axis=1)


def _overwritten(a: Array, b: Array) -> Array:
    return joined([a[:, :16], np.exp(b), a[:, 32:]])


def matmul(a: Array, b: Array) -> Array:
    return a @ b


def exp(a: Array) -> Array:
    return np.exp(a)


LINALG: dict[str, Meaning] = {
    "arith_on_tensors": lambda a, b: np.exp(a + b) / 2,
    "batch_matmul": matmul,
    "batch_matmul_transpose_b": lambda a, b: np.einsum("bmk,bnk->bmn", a, b),
    "batch_matvec": lambda a, b: np.einsum("bmk,bk->bm", a, b),
    "batch_reduce_matmul": lambda a, b: np.einsum("bmk,bkn->mn", a, b),
    "batch_vecmat": lambda b, a: np.einsum("bm,bmn->bn", b, a),
    "captured_scalar": lambda a, s: a * s,
    "cast_dim": exp,
    "clampf": lambda a: np.clip(a, -1, 1),
    "collapse_expand": lambda a, w: (a @ w).reshape(4, 16, 8, 8),
    "concat": lambda a, b: np.tanh(joined([a, b])),
    "constant_result": lambda a: (np.exp(a), np.array([1.0, 2.0])),
    "contract": lambda a, b: np.einsum("mhk,nkh->hnm", a, b),
    "cumulative_in_place": lambda a: a,
    "dense_constant": lambda a: a * np.array([[1.0, -2.0, 3.0], [0.5, 0.25, 4.0]]),
    "dot": np.dot,
    "elementwise": lambda a, b: np.exp(a) + b.T,
    "f64_detour": lambda a: a * a * 0.5,
    "fma": lambda a: 2.5 * a + a,
    "fpowi": lambda a: a**2,
    "fpowi3": lambda a: a**3,
    "from_elements": lambda a: a * np.array([1.5, -2.0]),
    "generate": lambda a: np.tril(a),
    "index_scaled": lambda a: a * np.arange(64),
    "insert": _overwritten,
    "isnan_guard": lambda a: a,
    "map_reduce_broadcast": lambda a: a / (a * a).sum(axis=1, keepdims=True),
    "math_cosh": np.cosh,
    "math_erf": erf,
    "math_exp2": np.exp2,
    "math_expm1": np.expm1,
    "math_log10": lambda a: np.log10(a),
    "math_log1p": lambda a: np.log1p(a),
    "math_log2": lambda a: np.log2(a),
    "math_ceil": np.ceil,
    "math_floor": np.floor,
    "math_round": lambda a: np.sign(a) * np.floor(np.abs(a) + 0.5),
    "math_roundeven": np.rint,
    "math_tan": np.tan,
    "math_tanh": np.tanh,
    "math_trunc": np.trunc,
    "matmul": matmul,
    "matmul_accumulates": lambda a, w, c: a @ w + c,
    "matmul_f16_accumulator": matmul,
    "matmul_transpose_a_op": lambda a, w: a.T @ w,
    "matmul_transposed_b": lambda a, w: a @ w.T,
    "matvec": np.dot,
    "mean_by_divui": lambda a: a.mean(axis=1),
    "mmt4d": lambda a, b: np.einsum("ikxz,jkyz->ijxy", a, b),
    "named_abs": np.abs,
    "named_add": np.add,
    "named_div": np.divide,
    "named_erf": erf,
    "named_ceil": np.ceil,
    "named_exp": exp,
    "named_floor": np.floor,
    "named_log": lambda a: np.log(a),
    "named_max": np.maximum,
    "named_min": np.minimum,
    "named_mul": np.multiply,
    "named_negf": np.negative,
    "named_reciprocal": lambda a: 1 / a,
    "named_round": lambda a: np.sign(a) * np.floor(np.abs(a) + 0.5),
    "named_rsqrt": lambda a: 1 / np.sqrt(a),
    "named_select": lambda c, a, b: np.where(c != 0, a, b),
    "named_sqrt": lambda a: np.sqrt(a),
    "named_square": np.square,
    "named_sub": np.subtract,
    "named_tanh": np.tanh,
    "ones": exp,
    "pack": lambda a: np.exp(a).reshape(2, 8, 8, 8).transpose(0, 2, 1, 3),
    "pad": lambda a, w: a @ w[:60],
    "powf_minus_half": lambda a: (a * a + 1) ** -0.5,
    "private_calls": lambda x, w: silu(x @ w),
    "rank0": np.add,
    "reduce_region": lambda a: a.max(axis=0),
    "resource": lambda a: a * np.array([[1.0, 2.0], [3.0, 4.0]]),
    "same_result_twice": lambda a: (np.exp(a), np.exp(a)),
    "scalar_argument": lambda a, s: a * s,
    "sin_cos": lambda a: np.sin(a) + np.cos(a),
    "slice_of_a_row": lambda a, b: a[3] + b,
    "slices": lambda a: a[:, :32] * a[:, 1:64:2],
    "softmax_op": softmax,
    "splat": lambda a: 1.5 * a,
    "splat_result": lambda a: (np.exp(a), np.ones(2)),
    "tensor_reshape": lambda a: np.exp(a).reshape(64),
    "torch_safe_softmax": safe_softmax,
    "transpose_copy": np.transpose,
    "unpack": lambda a: np.exp(a).transpose(0, 2, 1, 3).reshape(16, 64),
    "vecmat": np.dot,
}

POSITIVE = {"math_log10", "math_log1p", "math_log2", "named_log", "named_reciprocal", "named_rsqrt", "named_sqrt"}
"""Files whose functions are defined for positive numbers alone."""
