"""Element by element: sums, functions, conversions, a transposition, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from corpus_case import TINY32, U32, Array, Case, Expect, Launch, from_bf16, to_bf16

ONE_OUT = frozenset({1})


def vector_add(kernel: str, dtype: type[np.generic], n: int, block: int) -> Case:
    """Addition is exact up to one rounding, which NumPy does the same way."""
    rng = np.random.default_rng(1)
    if issubclass(dtype, np.integer):
        x, y = (rng.integers(-(2**62), 2**62, n, dtype) * 2 for _ in range(2))
    else:
        x, y = (rng.standard_normal(n).astype(dtype) for _ in range(2))
        x[:3], y[:3] = [np.inf, np.nan, -0.0], [1.0, 2.0, -0.0]
    out = np.zeros_like(x)
    return Case((Launch(kernel, (-(-n // block),), (x, y, out, n), frozenset({2})),), (Expect(out, x + y),))


def vector_add_bf16() -> Case:
    rng = np.random.default_rng(2)
    x, y = (to_bf16(rng.standard_normal(1300)) for _ in range(2))
    out = np.zeros_like(x)
    exact = to_bf16(from_bf16(x) + from_bf16(y))
    return Case((Launch("vector_add-bf16", (3,), (x, y, out, 1300), frozenset({2})),), (Expect(out, exact),))


def functions() -> Case:
    """Bounds: the errors in ulp (2 U32) that the CUDA programming guide states for erff, tanhf, log1pf, sinf, cosf and powf,
    times how the result depends on them; sigmoid from ex2 and div."""
    rng = np.random.default_rng(3)
    special = [0.0, -0.0, 1e-40, -1e-40, np.inf, -np.inf, np.nan, 3e38, 105615.0, -1e10, 7.5e30, 88.0, -88.0, 1e-4]
    v = np.concatenate([special, rng.standard_normal(120) * 3, rng.standard_normal(60) * 40]).astype(np.float32)
    n = len(v)
    x = v.astype(np.float64)
    out = np.zeros((7, n), np.float32)

    def each(fn: Callable[[float], float], at: Array = x) -> Array:
        return np.array([fn(float(a)) for a in at])

    def wave(fn: Callable[[float], float]) -> Array:
        return each(lambda a: fn(a) if math.isfinite(a) else math.nan)

    with np.errstate(all="ignore"):
        size = np.abs(x)
        sigmoid = 1 / (1 + np.exp(-x))
        log1p, power = np.log1p(x * x), size**2.5
        square32 = np.isfinite(v * v)
        rows = [
            (0.5 * x * (1 + each(lambda a: math.erf(a * math.sqrt(0.5)))), 8 * size * U32),
            (np.tanh(x), 4 * U32 * np.abs(np.tanh(x)) + TINY32),
            # x/log2(e) is rounded before ex2; the rest is a sum, a quotient and a product.
            (x * sigmoid, (3 * size + 16) * U32 * np.abs(x * sigmoid) + 2.0**-120),
            (np.where(square32 | np.isnan(x), log1p, np.inf), 6 * U32 * log1p + TINY32),
            (wave(math.sin), 4 * U32 * np.abs(wave(math.sin)) + TINY32),
            (wave(math.cos), 4 * U32 * np.abs(wave(math.cos))),
            (np.where(np.isfinite(power.astype(np.float32)), power, np.where(np.isnan(x), np.nan, np.inf)),
             8 * U32 * power + TINY32),
        ]  # fmt: skip
    return Case(
        (Launch("functions", (-(-n // 128),), (v, out, n), ONE_OUT),),
        tuple(Expect(out[i], exact, bound) for i, (exact, bound) in enumerate(rows)),
    )


def converted(kernel: str, x: Array, exact: Array, block: int = 256) -> Case:
    out = np.zeros(exact.shape, exact.dtype)
    return Case((Launch(kernel, (-(-len(x) // block),), (x, out, len(x)), ONE_OUT),), (Expect(out, exact),))


def floats() -> Array:
    """f32 of all magnitudes of f16 and beyond, halfway cases, infinities."""
    rng = np.random.default_rng(4)
    some = rng.standard_normal(500) * 2.0 ** rng.integers(-28, 18, 500)
    halfway = (1 + (2 * np.arange(40) + 1) * 2.0**-11) * 2.0 ** rng.integers(-16, 14, 40)
    special = [0.0, -0.0, np.inf, -np.inf, 65504.0, 65519.0, 65520.0, 2.0**-25, 2.0**-24, 1.5 * 2.0**-25, 1e-30, 1e30]
    return np.concatenate([some, halfway, special]).astype(np.float32)


def to_f16() -> Case:
    with np.errstate(over="ignore"):
        return converted("convert-f32-f16", floats(), floats().astype(np.float16))


def to_e5m2(bits: int) -> int:
    """f16 to the 8-bit float with 5 bits of exponent and 2 of fraction: the upper half, to nearest even. Overflow gives
    infinity."""
    upper, rest = bits >> 8, bits & 0xFF
    return upper + (rest > 0x80 or (rest == 0x80 and upper & 1 == 1))


def to_fp8() -> Case:
    x = np.arange(0, 0x7C00, 7, dtype=np.uint16)
    x = x[x < 0x7B80]  # what rounds beyond the largest number is the compiler's choice
    x = np.concatenate([x, x | 0x8000])
    return converted("convert-f16-e5m2", x.view(np.float16), np.array([to_e5m2(int(b)) for b in x], np.uint8), 512)


def transpose() -> Case:
    x = np.random.default_rng(5).standard_normal((75, 131)).astype(np.float16)
    out = np.zeros((131, 75), np.float16)
    return Case((Launch("transpose-f16", (3, 3), (x, out, 75, 131), ONE_OUT),), (Expect(out, x.T),))


def integers() -> Case:
    """Python's unbounded integers, wrapped to 64 bits."""
    edges = [0, 1, -1, 6, 7, -7, 13, -13, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63), -(2**63) + 1]
    x = np.concatenate([edges, np.random.default_rng(7).integers(-(2**62), 2**62, 100)]).astype(np.int64)
    rows = []
    for v in x.tolist():
        low, unsigned = v & 0xFFFFFFFF, v & (2**64 - 1)
        quotient, remainder = abs(v) // 7, abs(v) % 13
        rows.append([
            -quotient if v < 0 else quotient, -remainder if v < 0 else remainder, unsigned * unsigned >> 64, v >> 3, v << 2,
            abs(v), low.bit_count(), 32 - low.bit_length(),
        ])  # fmt: skip
    exact = np.array([[w & (2**64 - 1) for w in row] for row in rows], np.uint64).view(np.int64).T
    out = np.zeros((8, len(x)), np.int64)
    return Case((Launch("integers-i64", (1,), (x, out, len(x)), ONE_OUT),), (Expect(out, exact),))


def half_arithmetic(kernel: str, store: Callable[[Array], Array], load: Callable[[Array], Array]) -> Case:
    """One rounding each: f32 holds sums of close numbers, and products, of two short ones exactly, or Triton computes in f32."""
    rng = np.random.default_rng(8)
    special = [0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 6e4, 6e-8, -6e-8, 1.5]
    x, y = (store(np.concatenate([rng.permutation(special), rng.standard_normal(390)])) for _ in range(2))
    a, b = load(x).astype(np.float64), load(y).astype(np.float64)
    n = len(x)
    out = np.zeros((7, n), x.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        rows = [a + b, a - b, a * b, np.maximum(a, b), np.minimum(a, b), np.where(a > b, -a, -b), np.abs(a)]
        exact = np.stack([load(store(row)) for row in rows])
    return Case((Launch(kernel, (2,), (x, y, out, n), frozenset({2})),), (Expect(out, exact, 0.0, load),))


def cached_copy() -> Case:
    x = np.random.default_rng(9).standard_normal(1040).astype(np.float32)
    out = np.zeros((2, 1040), np.float32)
    launch = Launch("cached_copy-f32", (3,), (x, out, 1040), ONE_OUT)
    return Case((launch,), (Expect(out, np.stack([x, x]) * 2),))


def atomics() -> Case:
    """Three programs; blocks run in order on the machine, so that what each finds is known, too."""
    n = 300
    i = np.arange(n)
    x = np.random.default_rng(10).standard_normal(n).astype(np.float32)
    words, floats = np.array([-1, 0, 0, -(2**31), 2**31 - 1, 0, 0, 0], np.int32), np.zeros(n + 2, np.float32)
    floats[:2] = [-np.inf, np.inf]
    old = np.zeros(3, np.int32)
    exact = [np.bitwise_and.reduce(i), np.bitwise_or.reduce(i), np.bitwise_xor.reduce(i), n - 8, -7, i.sum(), 5, 3]
    launch = Launch("atomics", (3,), (x, words, floats, old, n), frozenset({3}))
    return Case(
        (launch,),
        (
            Expect(words, np.array(exact)),
            Expect(floats, np.concatenate([[x.max(), x.min()], x])),
            Expect(old, np.arange(3)),
        ),
    )


def philox(counter: tuple[int, int, int, int], seed: int) -> tuple[int, int, int, int]:
    """Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), with unbounded integers."""
    a, b, c, d = counter
    low, high = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        left, right = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (right >> 32) ^ b ^ low, right & 0xFFFFFFFF, (left >> 32) ^ d ^ high, left & 0xFFFFFFFF
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


def uniform(word: int) -> np.float32:
    """As Triton makes a number of [0, 1) of a word: the magnitude of the signed word, rounded to f32, times just under 2**-31."""
    signed = word - (1 << 32) if word >> 31 else word
    return np.float32(~signed if signed < 0 else signed) * np.float32(4.6566127342e-10)


def dropout() -> Case:
    n, seed, rate = 1000, 77, np.float32(0.3)
    x = np.random.default_rng(6).standard_normal(n).astype(np.float32)
    keep = np.array([uniform(philox((i, 0, 0, 0), seed)[0]) > rate for i in range(n)])
    exact = np.where(keep, x.astype(np.float64) / (1 - np.float64(rate)), 0)
    out = np.zeros(n, np.float32)
    launch = Launch("dropout-f32", (4,), (x, out, n, rate, seed), ONE_OUT)
    # 1 - rate is rounded once, the quotient is within 2 ulp; what is dropped is exactly 0.
    return Case((launch,), (Expect(out, exact, 5 * U32 * np.abs(exact)),))


def random_integers() -> Case:
    n, seed = 200, 0x0123456789ABCDEF
    out = np.zeros((n, 4), np.int32)
    exact = np.array([philox((i, 0, 0, 0), seed) for i in range(n)], np.uint32).view(np.int32)
    return Case((Launch("random_integers", (2,), (out, n, seed), frozenset({0})),), (Expect(out, exact),))


def random_normal() -> Case:
    """Box-Muller. Errors relative to the radius: the angle is off by U32 of up to 2 pi from each of two roundings,
    logarithm, root, cosine and products by a few ulp."""
    n, seed = 200, 5
    words = [philox((i, 0, 0, 0), seed)[:2] for i in range(n)]
    u, v = (np.array([uniform(w[j]) for w in words], np.float64) for j in range(2))
    radius = np.sqrt(-2 * np.log(np.maximum(u, 1e-7)))
    out = np.zeros(n, np.float32)
    return Case(
        (Launch("random_normal", (2,), (out, n, seed), frozenset({0})),),
        (Expect(out, radius * np.cos(2 * np.pi * v), 24 * U32 * radius),),
    )


CASES: dict[str, Callable[[], Case]] = {
    "vector_add-f32": lambda: vector_add("vector_add-f32", np.float32, 1003, 256),
    "vector_add-f16": lambda: vector_add("vector_add-f16", np.float16, 2064, 1024),
    "vector_add-bf16": vector_add_bf16,
    "vector_add-i64": lambda: vector_add("vector_add-i64", np.int64, 300, 128),
    "functions": functions,
    "convert-f32-f16": to_f16,
    "convert-f32-bf16": lambda: converted("convert-f32-bf16", floats(), to_bf16(floats())),
    "convert-f16-f64": lambda: converted(
        "convert-f16-f64", np.arange(0, 0x7C00, 31, np.uint16).view(np.float16),
        np.arange(0, 0x7C00, 31, np.uint16).view(np.float16).astype(np.float64),
    ),
    "convert-f32-i8": lambda: converted(
        "convert-f32-i8", np.linspace(-128.9, 127.9, 501, dtype=np.float32),
        np.trunc(np.linspace(-128.9, 127.9, 501, dtype=np.float32)).astype(np.int8),
    ),
    "convert-i64-f32": lambda: converted(
        "convert-i64-f32", np.array([0, -1, 2**24 + 1, 2**24 + 3, 2**62 + 2**38, -(2**63), 2**63 - 1]),
        np.array([0, -1, 2**24, 2**24 + 4, 2**62, -(2.0**63), 2.0**63], np.float32),
    ),
    "convert-f16-e5m2": to_fp8,
    "integers-i64": integers,
    "half_arithmetic-f16": lambda: half_arithmetic(
        "half_arithmetic-f16", lambda a: a.astype(np.float16), lambda a: a.astype(np.float32)
    ),
    "half_arithmetic-bf16": lambda: half_arithmetic("half_arithmetic-bf16", to_bf16, from_bf16),
    "cached_copy-f32": cached_copy,
    "atomics": atomics,
    "transpose-f16": transpose,
    "dropout-f32": dropout,
    "random_integers": random_integers,
    "random_normal": random_normal,
}  # fmt: skip
