"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from corpus_case import TINY16, U16, U32, U64, UBF, Array, Case, Expect, Launch, from_bf16, to_bf16

# Relative error of a product of two elements before it is added. tf32 keeps 10 bits of fraction, and truncation loses up to
# 2**-10; tf32x3 adds what was lost, cut to tf32 again, and leaves out the product of the two losses. f16, bf16 and f32
# products are exact in f32, or rounded once as part of the sum.
PRODUCT = {"tf32": 2 * 2.0**-10 + 2.0**-20, "tf32x3": 2 * 2.0**-20 + 2.0**-20}
ROUNDING = {np.float16: (U16, TINY16), np.uint16: (UBF, 0.0), np.float32: (U32, 0.0), np.float64: (U64, 0.0)}


def elements(kind: str, seed: int, *shape: int) -> Array:
    """Random matrices; ``e5m2`` is the upper half of f16."""
    rng = np.random.default_rng(seed)
    if kind == "i8":
        return rng.integers(-128, 128, shape, np.int8)
    x = rng.standard_normal(shape) / 4
    if kind == "bf16":
        return to_bf16(x)
    if kind == "e5m2":
        return (x.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)
    return x.astype(f"f{int(kind[1:]) // 8}")


def wide(x: Array) -> Array:
    if x.dtype == np.uint8:
        return (x.astype(np.uint16) << 8).view(np.float16).astype(np.float64)
    return (from_bf16(x) if x.dtype == np.uint16 else x).astype(np.float64)


def product_bound(a: Array, b: Array, out: type[np.generic], terms: float, each: float = 0.0) -> tuple[Array, Array]:
    """The exact product, and the bound: ``terms`` additions in f32 (f64) one after another, ``each`` product's error, one
    rounding."""
    exact, size = wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b))
    unit, tiny = ROUNDING[out]
    return exact, (terms * min(unit, U32) + each) * size + unit * np.abs(exact) + tiny


def matmul(
    kernel: str, kind: str, out: type[np.generic], shape: tuple[int, int, int], known: str = "rows",
    each: float = 0.0, terms: float = 1.0, transposed: bool = False,
) -> Case:  # fmt: skip
    """``known``: ``rows`` where the compiler knows that the elements of a row lie side by side, ``none`` where it knows no
    stride. ``terms``: additions a product; ``transposed``: ``a`` and ``b`` are stored by columns."""
    m, n, k = shape
    a, b = elements(kind, 21, m, k), elements(kind, 22, k, n)
    c = np.zeros((m, n), out)
    blocks = [int(x) for x in next(p for p in kernel.split("-") if "x" in p and p[0].isdigit()).split("x")]
    stored_a, stored_b = (np.ascontiguousarray(x.T) if transposed else x for x in (a, b))
    strides: tuple[int, ...] = (k, n)
    if known == "none":
        strides = (1, m, 1, k) if transposed else (k, 1, n, 1)
    args: tuple[Any, ...] = (stored_a, stored_b, c, m, n, k, *strides)
    launch = Launch(kernel, (-(-m // blocks[0]) * -(-n // blocks[1]),), args, frozenset({2}))
    if kind == "i8":
        return Case((launch,), (Expect(c, a.astype(np.int32) @ b.astype(np.int32)),))
    exact, bound = product_bound(a, b, out, terms * k, each)
    return Case((launch,), (Expect(c, exact, bound, from_bf16 if kind == "bf16" else lambda x: x),))


def grouped() -> Case:
    """Groups of 40, 0, 1 and 70 rows; tiles of 32 rows, so every group ends ragged."""
    first = np.array([0, 40, 40, 41, 111], np.int32)
    n, k = 80, 112
    x, w = elements("f16", 23, 111, k), elements("f16", 24, 4, k, n)
    out = np.zeros((111, n), np.float16)
    parts = [product_bound(x[s:e], w[g], np.float16, k) for g, (s, e) in enumerate(pairwise(first))]
    exact, bound = (np.concatenate([p[i] for p in parts]) for i in range(2))
    launch = Launch("grouped_matmul-f16", (3,), (x, w, out, first, 4, n, k), frozenset({2}))
    return Case((launch,), (Expect(out, exact, bound),))


def split_k(kernel: str, out: type[np.generic], parts: int) -> Case:
    """``parts`` more additions than in one product; in f16 each of them, and each part, is rounded to f16."""
    m, n, k = 45, 48, 272
    a, b = elements("f16", 25, m, k), elements("f16", 26, k, n)
    c = np.zeros((m, n), out)
    exact, bound = product_bound(a, b, out, k + parts)
    if out is np.float16:
        bound = bound + 2 * parts * (U16 * (np.abs(wide(a)) @ np.abs(wide(b))) + TINY16)
    launch = Launch(kernel, (4, parts), (a, b, c, m, n, k), frozenset())
    return Case((launch,), (Expect(c, exact, bound),))


def in_f16() -> Case:
    """Sums kept in f16: each of the k/16 products of the tensor core rounds its 64 sums to f16."""
    case = matmul("matmul-f16-f16-32x64x32-w4-s3", "f16", np.float16, (70, 80, 144))
    (e,) = case.expected
    size = np.abs(elements("f16", 21, 70, 144).astype(np.float64)) @ np.abs(elements("f16", 22, 144, 80))
    return Case(case.launches, (Expect(e.got, e.exact, e.bound + 144 / 16 * (U16 * size + TINY16)),))


CASES: dict[str, Callable[[], Case]] = {
    "matmul-f16-16x32x32-w1-s1": lambda: matmul(
        "matmul-f16-16x32x32-w1-s1", "f16", np.float16, (45, 37, 51), known="none"
    ),
    "matmul-f16-transposed": lambda: matmul(
        "matmul-f16-16x32x32-w1-s1", "f16", np.float16, (33, 50, 70), known="none", transposed=True
    ),
    "matmul-f16-64x64x32-w4-s3": lambda: matmul("matmul-f16-64x64x32-w4-s3", "f16", np.float16, (100, 80, 144)),
    "matmul-f16-32x32x64-w2-s2": lambda: matmul("matmul-f16-32x32x64-w2-s2", "f16", np.float32, (70, 48, 208)),
    "matmul-f16-128x64x32-w8-s4": lambda: matmul("matmul-f16-128x64x32-w8-s4", "f16", np.float16, (150, 80, 176)),
    "matmul-f16-f16-32x64x32-w4-s3": in_f16,
    "matmul-bf16-64x32x32-w4-s5": lambda: matmul("matmul-bf16-64x32x32-w4-s5", "bf16", np.uint16, (70, 96, 272)),
    "matmul-tf32-32x64x32-w4-s3": lambda: matmul(
        "matmul-tf32-32x64x32-w4-s3", "f32", np.float32, (40, 80, 80), each=PRODUCT["tf32"]
    ),
    "matmul-tf32x3-32x32x32-w4-s2": lambda: matmul(
        "matmul-tf32x3-32x32x32-w4-s2", "f32", np.float32, (40, 48, 80), each=PRODUCT["tf32x3"], terms=3
    ),
    "matmul-f32-32x32x16-w4-s2": lambda: matmul("matmul-f32-32x32x16-w4-s2", "f32", np.float32, (40, 48, 48)),
    "matmul-i8-64x32x64-w4-s3": lambda: matmul("matmul-i8-64x32x64-w4-s3", "i8", np.int32, (70, 48, 208)),
    # Twice the additions: NumPy's own sum in f64 has such an error, too.
    "matmul-f64-32x32x16-w4-s2": lambda: matmul("matmul-f64-32x32x16-w4-s2", "f64", np.float64, (40, 48, 48), terms=2),
    "matmul-e5m2-32x32x32-w4-s2": lambda: matmul("matmul-e5m2-32x32x32-w4-s2", "e5m2", np.float32, (40, 48, 80)),
    "grouped_matmul-f16": grouped,
    "split_k-f16-f32": lambda: split_k("split_k-f16-f32", np.float32, 3),
    "split_k-f16-f16": lambda: split_k("split_k-f16-f16", np.float16, 2),
}
