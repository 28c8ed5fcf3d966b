"""The programs of ``test/corpus/iree``. Where IREE multiplies f16 without tensor cores it does so in f32, too, so bounds are
alike."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from corpus_case import TINY16, TINY32, U16, U32, Array, Case, Expect, Launch
from product_cases import elements, product_bound


def one_kernel(name: str, inputs: tuple[Array, ...], out: Array, exact: Array, bound: Array | float = 0.0) -> Case:
    """A program whose only kernel takes the inputs and the result."""
    launch = Launch(f"iree-{name}", None, (*inputs, out), frozenset({len(inputs)}))
    return Case((launch,), (Expect(out, exact, bound),))


def matmul_ragged() -> Case:
    a, b = elements("f16", 41, 45, 51), elements("f16", 42, 51, 37)
    return one_kernel("matmul_ragged", (a, b), np.zeros((45, 37), np.float32), *product_bound(a, b, np.float32, 51))


def matmul_bias_relu() -> Case:
    """Two f32 additions more than the product: start and bias; relu cannot enlarge an error."""
    a, b = elements("f16", 43, 64, 128), elements("f16", 44, 128, 96)
    bias = np.random.default_rng(45).standard_normal(96).astype(np.float32)
    exact, bound = product_bound(a, b, np.float32, 130)
    bound = bound + 2 * U32 * (np.abs(exact) + np.abs(bias))
    return one_kernel(
        "matmul_bias_relu", (a, b, bias), np.zeros((64, 96), np.float32), np.maximum(exact + bias, 0), bound
    )


def matmul_i8() -> Case:
    a, b = elements("i8", 46, 16, 32), elements("i8", 47, 32, 24)
    return one_kernel("matmul_i8", (a, b), np.zeros((16, 24), np.int32), a.astype(np.int32) @ b.astype(np.int32))


def matmul_dynamic() -> Case:
    """A block an element of the result is what the compiler asks for; sizes come as the halves of 64-bit numbers."""
    m, n = 5, 7
    a, b = elements("f32", 48, m, 32), elements("f32", 49, 32, n)
    out = np.zeros((m, n), np.float32)
    exact, bound = product_bound(a, b, np.float32, 32)
    launch = Launch("iree-matmul_dynamic", (m * n,), (a, b, out, m, 0, n, 0), frozenset({2}))
    return Case((launch,), (Expect(out, exact, bound),))


def softmax() -> Case:
    """As in ``row_cases``, with up to 6 values a lane and 5 rounds of partners; IREE's exponential is a polynomial of 2 ulp."""
    x = (np.random.default_rng(50).standard_normal((5, 192)) * 3).astype(np.float32)
    d = x.astype(np.float64) - x.max(axis=1, keepdims=True)
    exact = np.exp(d) / np.exp(d).sum(axis=1, keepdims=True)
    bound = (2 * (np.abs(d) + np.abs(d).max(axis=1, keepdims=True)) + 2 * 4 + 16 + 4) * U32 * exact + TINY32
    return one_kernel("softmax", (x,), np.zeros((5, 192), np.float32), exact, bound)


def row_sum() -> Case:
    """1037 values in any order."""
    x = np.random.default_rng(51).standard_normal((7, 1037)).astype(np.float32)
    wide = x.astype(np.float64)
    return one_kernel("row_sum", (x,), np.zeros(7, np.float32), wide.sum(axis=1), 1037 * U32 * np.abs(wide).sum(axis=1))


def rms_norm() -> Case:
    """One rounding to f16; before it sums of 256 squares, which weigh half, a root, a quotient, two products, all in f32."""
    rng = np.random.default_rng(52)
    x, w = rng.standard_normal((12, 256)).astype(np.float16), rng.standard_normal(256).astype(np.float16)
    wide = x.astype(np.float64)
    exact = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-6) * w
    bound = (U16 + (128 + 8) * U32) * np.abs(exact) + TINY16
    return one_kernel("rms_norm", (x, w), np.zeros((12, 256), np.float16), exact, bound)


def gelu() -> Case:
    """erf within 2 ulp (4 U32), and a rounding each of its argument, sum and products: 8 U32 of the size of the argument."""
    x = (np.random.default_rng(53).standard_normal(1003) * 2).astype(np.float32)
    wide = x.astype(np.float64)
    exact = np.array([0.5 * v * (1 + math.erf(v * math.sqrt(0.5))) for v in wide.tolist()])
    return one_kernel("gelu", (x,), np.zeros(1003, np.float32), exact, 8 * U32 * np.abs(wide))


def convolution() -> Case:
    """A sum of 3 x 3 x 16 products."""
    x, w = elements("f16", 54, 1, 10, 12, 16), elements("f16", 55, 3, 3, 16, 24)
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), axis=(0, 1))  # (8, 10, 16, 3, 3)
    rows = windows.transpose(0, 1, 3, 4, 2).reshape(80, 144)
    exact, bound = product_bound(rows, w.reshape(144, 24), np.float32, 144)
    shape = (1, 8, 10, 24)
    return one_kernel("convolution", (x, w), np.zeros(shape, np.float32), exact.reshape(shape), bound.reshape(shape))


CASES: dict[str, Callable[[], Case]] = {
    "matmul_ragged": matmul_ragged,
    "matmul_bias_relu": matmul_bias_relu,
    "matmul_i8": matmul_i8,
    "matmul_dynamic": matmul_dynamic,
    "softmax": softmax,
    "row_sum": row_sum,
    "rms_norm": rms_norm,
    "gelu": gelu,
    "convolution": convolution,
}
