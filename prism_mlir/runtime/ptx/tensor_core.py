"""Sums as tensor cores of Ampere form them, bit for bit (MMA-Sim, arXiv 2511.10909, "truncated fused dot product").

A dot product is summed in steps of 16 bytes of an operand row (8 halves, 4 tf32), each with what came before as one more summand.
In a step all summands are aligned to the largest exponent, truncated to 24 bits after the point there, and added exactly. The
sum is rounded toward zero to f32, or to nearest even to f16. Exponents of products are sums of the operands' exponents, with no
normalisation; subnormal numbers keep the least exponent of their type, zeros count as 2^-132 (f16 results: 2^-20).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Exponent = npt.NDArray[np.int64]

POINT = 24  # bits kept after the point of the largest summand
STEP_BYTES = 16
LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126}  # exponents of subnormal numbers
ZERO = {"f32": -132, "f16": -20}
NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF}


def split(x: npt.NDArray[np.floating], kind: str) -> tuple[F64, Exponent]:
    """Significands of size 1 to 2 (less for subnormal numbers and zero) and exponents."""
    significand, exponent = np.frexp(x.astype(np.float64))
    significand, exponent = significand * 2, exponent.astype(np.int64) - 1
    least = LEAST[kind]
    low = (exponent < least) | (x == 0)
    significand = np.where(low, np.ldexp(significand, np.where(low, exponent - least, 0)), significand)
    return significand, np.where(low, least, exponent)


def multiply_add(
    a: npt.NDArray[np.floating], b: npt.NDArray[np.floating], c: npt.NDArray[np.floating], kind: str, result: str
) -> npt.NDArray[np.floating]:
    """``a.b + c`` with shapes (..., M, K), (..., K, N), (..., M, N). ``kind``: f16, bf16 or tf32; ``result``: f16 or f32."""
    step = STEP_BYTES // {"f16": 2, "bf16": 2, "tf32": 4}[kind]
    (a_s, a_e), (b_s, b_e) = split(a, kind), split(b, kind)
    for k in range(0, a.shape[-1], step):
        part = slice(k, min(k + step, a.shape[-1]))
        with np.errstate(invalid="ignore", over="ignore"):
            products = a_s[..., :, part, None] * b_s[..., None, part, :]
            exponents = a_e[..., :, part, None] + b_e[..., None, part, :]
            c = _step(products, exponents, c, result)
    return c


def _step(products: F64, exponents: Exponent, c: npt.NDArray[np.floating], result: str) -> npt.NDArray[np.floating]:
    """One fused sum over axis -2."""
    c_s, c_e = split(c, result)
    summands = np.concatenate([products, c_s[..., None, :]], axis=-2)
    places = np.concatenate([exponents, c_e[..., None, :]], axis=-2)
    places = np.where(summands == 0, ZERO[result], places)
    top = places.max(axis=-2)
    kept = np.trunc(np.ldexp(summands, places - top[..., None, :] + POINT))
    total = np.ldexp(kept.sum(axis=-2), top - POINT)
    narrow = total.astype(np.float16) if result == "f16" else _toward_zero(total)
    narrow = narrow + np.zeros((), narrow.dtype)  # no negative zero
    bits = narrow.view(np.uint16 if result == "f16" else np.uint32)
    return np.where(np.isnan(narrow), bits.dtype.type(NAN[result]), bits).view(narrow.dtype)


def _toward_zero(x: F64) -> npt.NDArray[np.float32]:
    """Truncated to the precision of f32 (what lies beyond its range is an infinity)."""
    significand, exponent = split(x, "f32")
    return np.ldexp(np.trunc(np.ldexp(significand, 23)), exponent - 23).astype(np.float32)
