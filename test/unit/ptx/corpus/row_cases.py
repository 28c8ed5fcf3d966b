"""Reductions and scans of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from corpus_case import TINY16, TINY32, U16, U32, UBF, Array, Case, Expect, Launch, from_bf16, to_bf16

ONE_OUT = frozenset({1})


def softmax(kernel: str, dtype: type[np.floating], rows: int, columns: int) -> Case:
    """Of each exponent d = x - max, d log2(e) is rounded twice (constant and product), so e^d is off by 2 |d| U32, and ex2
    by 4 U32. A sum adds up to 8 values a thread and goes through 7 rounds of partners; division is off by 4 U32."""
    x = (np.random.default_rng(11).standard_normal((rows, columns)) * 3).astype(dtype)
    out = np.full((rows, columns), np.nan, dtype)
    d = x.astype(np.float64) - x.max(axis=1, keepdims=True)
    exact = np.exp(d) / np.exp(d).sum(axis=1, keepdims=True)
    worst = np.abs(d).max(axis=1, keepdims=True)
    bound = (2 * (np.abs(d) + worst) + 2 * 4 + 16 + 4) * U32 * exact + TINY32
    if dtype is np.float16:
        bound = bound + U16 * exact + TINY16
    return Case((Launch(kernel, (rows,), (x, out, columns), ONE_OUT),), (Expect(out, exact, bound),))


def layer_norm() -> Case:
    """Sums: up to 3 values a thread and 7 rounds of partners, so 10 U32 of the sum of sizes; the result is rounded to f16
    once."""
    rng = np.random.default_rng(12)
    rows, columns, eps = 5, 592, 1e-5
    x = (rng.standard_normal((rows, columns)) * 2 + 0.5).astype(np.float16)
    w, b = (rng.standard_normal(columns).astype(np.float16) for _ in range(2))
    out, mean, scale = np.zeros_like(x), np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    wide = x.astype(np.float64)
    m = wide.mean(axis=1)
    s = 1 / np.sqrt(wide.var(axis=1) + eps)
    size = np.abs(wide).mean(axis=1)
    hat = (wide - m[:, None]) * s[:, None] * w
    exact = hat + b
    # mean: 10 U32 of the mean size, and one division; 1/deviation: half the relative error of the variance, root and division.
    near = 16 * U32 * size[:, None] * s[:, None] * np.abs(w.astype(np.float64))
    bound = U16 * np.abs(exact) + TINY16 + near + 32 * U32 * (np.abs(hat) + np.abs(exact))
    launch = Launch("layer_norm-f16", (rows,), (x, w, b, out, mean, scale, columns, eps), frozenset({3, 4, 5}))
    return Case(
        (launch,), (Expect(out, exact, bound), Expect(mean, m, 16 * U32 * size), Expect(scale, s, 32 * U32 * s))
    )


def rms_norm() -> Case:
    """The result is rounded to bf16 once; f32 errors before that are below 32 U32: a sum of 2 values and 8 rounds, rsqrt,
    products."""
    rng = np.random.default_rng(13)
    rows, columns, eps = 6, 500, 1e-6
    x, w = to_bf16(rng.standard_normal((rows, columns))), to_bf16(rng.standard_normal(columns))
    wide, weight = from_bf16(x).astype(np.float64), from_bf16(w).astype(np.float64)
    exact = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + eps) * weight
    out = np.zeros_like(x)
    launch = Launch("rms_norm-bf16", (rows,), (x, w, out, columns, eps), frozenset({2}))
    return Case((launch,), (Expect(out, exact, (UBF + 32 * U32) * np.abs(exact) + TINY32, from_bf16),))


def running_sum() -> Case:
    """An element is a sum along a path of 4 values of a thread, 5 rounds of a warp, 4 warps, and the sums of these: 16 U32."""
    x = np.random.default_rng(14).standard_normal((3, 403)).astype(np.float32)
    out = np.zeros_like(x)
    bound = 16 * U32 * np.cumsum(np.abs(x.astype(np.float64)), axis=1)
    launch = Launch("running_sum-f32", (3,), (x, out, 403), ONE_OUT)
    return Case((launch,), (Expect(out, np.cumsum(x.astype(np.float64), axis=1), bound),))


def reverse_sum() -> Case:
    """Integers: exact, wrapping around."""
    x = np.random.default_rng(15).integers(-(2**31), 2**31, (4, 201), np.int32)
    out = np.zeros_like(x)
    exact = np.cumsum(x[:, ::-1].astype(np.int64), axis=1)[:, ::-1].astype(np.int32)
    return Case((Launch("running_sum-i32", (4,), (x, out, 201), ONE_OUT),), (Expect(out, exact),))


def recurrence() -> Case:
    """Two roundings a step of the scan (product and sum), at most 10 steps a block, 3 blocks: 64 U32 of the same with all
    sizes."""
    rng = np.random.default_rng(16)
    rows, columns = 3, 300
    a = (rng.uniform(0.96, 1, (rows, columns)) * rng.choice([-1, 1], (rows, columns))).astype(
        np.float32
    )  # felt 100 steps on
    x = rng.standard_normal((rows, columns)).astype(np.float32)
    exact, size = np.zeros((rows, columns)), np.zeros((rows, columns))
    h, s = np.zeros(rows), np.zeros(rows)
    for t in range(columns):
        h, s = a[:, t].astype(np.float64) * h + x[:, t], np.abs(a[:, t].astype(np.float64)) * s + np.abs(x[:, t])
        exact[:, t], size[:, t] = h, s
    out = np.zeros_like(x)
    launch = Launch("recurrence-f32", (rows,), (a, x, out, columns), frozenset({2}))
    return Case((launch,), (Expect(out, exact, 64 * U32 * size),))


def argmax() -> Case:
    """Many equal maxima: the first one counts."""
    x = np.random.default_rng(17).integers(0, 9, (7, 333)).astype(np.float32)
    x[2, 5] = 50
    out = np.zeros(7, np.int32)
    return Case(
        (Launch("argmax-f32", (7,), (x, out, 333), ONE_OUT),), (Expect(out, x.argmax(axis=1).astype(np.int32)),)
    )


def sort() -> Case:
    x = np.random.default_rng(18).integers(-50, 50, (5, 101), np.int32)
    x[0, :2] = [-(2**31), 2**31 - 1]
    out = np.zeros_like(x)
    return Case((Launch("sort-i32", (5,), (x, out, 101, 2**31 - 1), ONE_OUT),), (Expect(out, np.sort(x, axis=1)),))


def histogram() -> Case:
    """Atomic additions to what is there before."""
    x = (np.random.default_rng(19).standard_normal(1300) * 9 + 30).clip(0, 63).astype(np.int32)
    out = np.full(64, 5, np.int32)
    exact = 5 + np.bincount(x, minlength=64).astype(np.int32)
    return Case((Launch("histogram-i32", (3,), (x, out, 1300), frozenset()),), (Expect(out, exact),))


def rearrange() -> Case:
    """Moves are exact; a running product of up to 128 factors rounds at most 127 times along any tree."""
    x = np.random.default_rng(21).standard_normal(128).astype(np.float32)
    moved, largest, totals = np.zeros((5, 128), np.float32), np.zeros(16, np.float32), np.zeros(4, np.float32)
    i = np.arange(128)
    product = np.cumprod(x.astype(np.float64))
    pairs = x.reshape(64, 2)[:, ::-1].reshape(-1)
    exact = np.stack([x[::-1], x[i * 7 % 128], x.reshape(32, 4).T.reshape(-1), pairs, product])
    bound = np.zeros((5, 128))
    bound[4] = 127 * U32 * np.abs(product) + TINY32
    launch = Launch("rearrange-f32", (1,), (x, moved, largest, totals), frozenset({1, 2, 3}))
    last = np.array([x.max(), x.argmax(), np.bitwise_xor.reduce(i), np.bitwise_or.reduce(i)])
    return Case((launch,), (Expect(moved, exact, bound), Expect(largest, np.sort(x)[::-1][:16]), Expect(totals, last)))


def cross_entropy() -> Case:
    """log and exp as in softmax; the two parts of the loss cancel, so the bound is of their sizes."""
    rng = np.random.default_rng(20)
    rows, columns = 6, 417
    x = (rng.standard_normal((rows, columns)) * 4).astype(np.float16)
    label = rng.integers(0, columns, rows)
    label[3] = -100
    wide = x.astype(np.float64)
    lse = np.log(np.exp(wide).sum(axis=1))
    exact = np.where(label >= 0, lse - wide[np.arange(rows), label], 0)
    spread = wide.max(axis=1) - wide.min(axis=1)
    loss = np.zeros(rows, np.float32)
    launch = Launch("cross_entropy-f16", (rows,), (x, label, loss, columns), frozenset({2}))
    bound: Array = (2 * spread + 32 + 4 * np.abs(lse) + np.abs(exact)) * U32
    return Case((launch,), (Expect(loss, exact, np.where(label >= 0, bound, 0)),))


CASES: dict[str, Callable[[], Case]] = {
    "softmax-f32": lambda: softmax("softmax-f32", np.float32, 9, 1000),
    "softmax-f16": lambda: softmax("softmax-f16", np.float16, 5, 400),
    "softmax_online-f32": lambda: softmax("softmax_online-f32", np.float32, 4, 1027),
    "layer_norm-f16": layer_norm,
    "rms_norm-bf16": rms_norm,
    "running_sum-f32": running_sum,
    "running_sum-i32": reverse_sum,
    "recurrence-f32": recurrence,
    "argmax-f32": argmax,
    "sort-i32": sort,
    "histogram-i32": histogram,
    "cross_entropy-f16": cross_entropy,
    "rearrange-f32": rearrange,
}
