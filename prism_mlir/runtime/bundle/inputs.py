"""Inputs by recipe: numbers that every machine and every NumPy draws alike, so that a bundle need not carry them.

The integers of NumPy's PCG64 are guaranteed to stay the same ("Compatibility Guarantee" in its documentation); those of
distributions are not. So numbers are made of the former by arithmetic that is exact: four pieces of 16 bits of one integer are
added, which is nearly a normal distribution (Irwin-Hall), and scaled by one rounded product.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

DISTRIBUTION = "irwin-hall-4"
DEVIATION = ((65536.0**2 - 1) / 3) ** 0.5  # of a sum of four numbers, each of 0 .. 65535 alike
CHUNK = 1 << 20
STORAGE = {"f16": "float16", "bf16": "uint16", "f32": "float32", "f64": "float64"}
STORAGE.update({"i1": "bool", "i8": "int8", "i32": "int32", "i64": "int64"})

Array = NDArray[Any]


def recipe(dtype: str, shape: tuple[int, ...], seed: int, scale: float = 1.0) -> dict[str, Any]:
    """How to draw an input: its elements have the standard deviation ``scale``; those of ``i1`` are zeros and ones alike."""
    made = {"dtype": dtype, "shape": list(shape), "distribution": DISTRIBUTION, "seed": seed, "scale": scale}
    return {**made, "sha256": digest(draw(made))}


def draw(made: dict[str, Any]) -> Array:
    """The array of a recipe, held as ``STORAGE`` says (bf16: its bits)."""
    if made["distribution"] != DISTRIBUTION:
        raise ValueError(f"unknown distribution '{made['distribution']}'")
    shape, dtype = tuple(made["shape"]), made["dtype"]
    count, factor = int(np.prod(shape, dtype=np.int64)), made["scale"] / DEVIATION
    bits = np.random.PCG64(made["seed"])
    found = np.empty(count, dtype=STORAGE[dtype])
    for start in range(0, count, CHUNK):
        raw = np.asarray(bits.random_raw(min(CHUNK, count - start)))
        found[start : start + CHUNK] = _values(raw, dtype, factor)
    return found.reshape(shape)


def _values(raw: NDArray[Any], dtype: str, factor: float) -> Array:
    if dtype == "i1":
        return (raw & np.uint64(1)).astype(np.bool_)
    total = np.zeros(raw.shape, dtype=np.int64)
    for k in range(4):
        total += ((raw >> np.uint64(16 * k)) & np.uint64(0xFFFF)).astype(np.int64)
    return from_float64((total - 2 * 65535) * factor, dtype)


def digest(array: Array) -> str:
    """SHA-256 of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def from_float64(values: NDArray[Any], dtype: str) -> Array:
    """Round to a type (nearest, ties to even)."""
    if dtype != "bf16":
        return values.astype(STORAGE[dtype])
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def to_float64(array: Array, dtype: str) -> NDArray[np.float64]:
    """The exact f64 values of an array held as ``STORAGE`` says."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)
