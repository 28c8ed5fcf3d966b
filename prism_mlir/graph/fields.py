"""The two number systems in which programs and graphs are evaluated.

``Reals`` is f64: what a program means, up to rounding. ``PrimeField`` is exact: integers modulo a prime, division is the
modular inverse, and functions that are no field operations (unary bodies, max, min) are fixed random functions of which only
congruence is known, so an equality that holds here for random inputs holds by algebra alone (Schwartz-Zippel).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_mlir.graph.scalar_fn import ScalarFn

Array = NDArray[Any]


class Domain(Protocol):
    """Arithmetic on arrays of numbers; every method broadcasts as NumPy does."""

    def constant(self, value: float) -> Array: ...
    def add(self, a: Array, b: Array) -> Array: ...
    def sub(self, a: Array, b: Array) -> Array: ...
    def mul(self, a: Array, b: Array) -> Array: ...
    def div(self, a: Array, b: Array) -> Array: ...
    def maximum(self, a: Array, b: Array) -> Array: ...
    def minimum(self, a: Array, b: Array) -> Array: ...
    def matmul(self, a: Array, b: Array) -> Array: ...
    def sum(self, a: Array, axis: int) -> Array: ...
    def amax(self, a: Array, axis: int) -> Array: ...
    def amin(self, a: Array, axis: int) -> Array: ...
    def keep(self, mask: Array, a: Array, otherwise: float) -> Array: ...
    def unary(self, fn: ScalarFn, a: Array) -> Array: ...


@dataclass(frozen=True, slots=True)
class Reals:
    """IEEE double arithmetic, silent about infinities and NaN."""

    def constant(self, value: float) -> Array:
        return np.asarray(value, dtype=np.float64)

    def add(self, a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            return a + b

    def sub(self, a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            return a - b

    def mul(self, a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            return a * b

    def div(self, a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.divide(a, b))

    def maximum(self, a: Array, b: Array) -> Array:
        return np.maximum(a, b)

    def minimum(self, a: Array, b: Array) -> Array:
        return np.minimum(a, b)

    def matmul(self, a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.matmul(a, b))

    def sum(self, a: Array, axis: int) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(a.sum(axis=axis, keepdims=True))

    def amax(self, a: Array, axis: int) -> Array:
        return np.asarray(a.max(axis=axis, keepdims=True))

    def amin(self, a: Array, axis: int) -> Array:
        return np.asarray(a.min(axis=axis, keepdims=True))

    def keep(self, mask: Array, a: Array, otherwise: float) -> Array:
        """``a`` where the mask is not zero."""
        return np.where(mask != 0, a, np.float64(otherwise))

    def unary(self, fn: ScalarFn, a: Array) -> Array:
        return fn(a)


@dataclass(frozen=True, slots=True)
class PrimeField:
    """Integers modulo ``p``, held as int64 in ``[0, p)``.

    ``p`` stays below 2**26, so that a sum of up to 2**11 products fits in int64 without reduction in between.
    Division by zero gives zero; callers that care test :meth:`has_zero` on divisors by drawing other inputs.
    """

    p: int = 67_108_859
    seed: int = 0

    def __post_init__(self) -> None:
        if not 2 < self.p < 2**26:
            raise ValueError("the modulus must be a prime between 3 and 2**26")

    def constant(self, value: float) -> Array:
        numerator, denominator = float(value).as_integer_ratio()
        return np.asarray(numerator % self.p * pow(denominator, -1, self.p) % self.p, dtype=np.int64)

    def add(self, a: Array, b: Array) -> Array:
        return (a + b) % self.p

    def sub(self, a: Array, b: Array) -> Array:
        return (a - b) % self.p

    def mul(self, a: Array, b: Array) -> Array:
        return a * b % self.p

    def div(self, a: Array, b: Array) -> Array:
        return a * self.inverse(b) % self.p

    def inverse(self, a: Array) -> Array:
        """Elementwise ``a**(p-2)``: the inverse by Fermat's little theorem, zero where ``a`` is zero."""
        result, base, exponent = np.ones_like(a), a % self.p, self.p - 2
        while exponent:
            if exponent & 1:
                result = result * base % self.p
            base = base * base % self.p
            exponent >>= 1
        return result

    def maximum(self, a: Array, b: Array) -> Array:
        return np.maximum(a, b)

    def minimum(self, a: Array, b: Array) -> Array:
        return np.minimum(a, b)

    def matmul(self, a: Array, b: Array) -> Array:
        return np.asarray(np.matmul(a, b)) % self.p

    def sum(self, a: Array, axis: int) -> Array:
        return np.asarray(a.sum(axis=axis, keepdims=True)) % self.p

    def amax(self, a: Array, axis: int) -> Array:
        return np.asarray(a.max(axis=axis, keepdims=True))

    def amin(self, a: Array, axis: int) -> Array:
        return np.asarray(a.min(axis=axis, keepdims=True))

    def keep(self, mask: Array, a: Array, otherwise: float) -> Array:
        """``a`` where the mask is odd: of a mask only congruence is known, and a random one must decide both ways."""
        return np.where(mask % 2 == 1, a, self._value(otherwise))

    def _value(self, value: float) -> Array:
        """A number of the field for every float; one fixed random number for each infinity."""
        if math.isfinite(value):
            return self.constant(value)
        digest = hashlib.blake2b(repr(value).encode(), digest_size=8).digest()
        return np.asarray(int.from_bytes(digest, "little") % self.p, dtype=np.int64)

    def unary(self, fn: ScalarFn, a: Array) -> Array:
        """A random function fixed by the text of ``fn``: a SplitMix64 hash of the argument, modulo ``p``."""
        digest = hashlib.blake2b(f"{self.seed}:{fn.text}".encode(), digest_size=8).digest()
        with np.errstate(over="ignore"):
            z = a.astype(np.uint64) + np.frombuffer(digest, dtype=np.uint64)[0]
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
        return np.asarray(z % np.uint64(self.p)).astype(np.int64)
