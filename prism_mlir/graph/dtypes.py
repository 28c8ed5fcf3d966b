"""Element types of tensors, and how NumPy holds them.

bfloat16 has no NumPy type of its own: arrays hold its bits as ``uint16``.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class DType(StrEnum):
    """An element type, spelled as in MLIR."""

    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"
    I1 = "i1"
    I8 = "i8"
    I32 = "i32"
    I64 = "i64"

    @property
    def bytes(self) -> int:
        """Bytes an element takes in memory."""
        return {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i1": 1, "i8": 1, "i32": 4, "i64": 8}[self.value]

    @property
    def in_memory(self) -> str:
        """The MLIR type of an element where kernels load and store it: a truth value is a byte, 0 or 1."""
        return "i8" if self is DType.I1 else self.value

    @property
    def is_float(self) -> bool:
        return self in (DType.F16, DType.BF16, DType.F32, DType.F64)

    @property
    def mantissa_bits(self) -> int:
        """Explicit mantissa bits of a floating type; half an ulp at 1.0 is ``2**-(mantissa_bits + 1)``. A mask has none."""
        return {"f16": 10, "bf16": 7, "f32": 23, "f64": 52, "i1": 0}[self.value]

    @property
    def storage(self) -> np.dtype[np.generic]:
        """The NumPy type that holds this element (bf16: its bits as ``uint16``)."""
        names = {"f16": "float16", "bf16": "uint16", "f32": "float32", "f64": "float64"}
        names |= {"i1": "bool", "i8": "int8", "i32": "int32", "i64": "int64"}
        return np.dtype(names[self.value])


def to_float64(array: NDArray[np.generic], dtype: DType) -> NDArray[np.float64]:
    """The exact f64 values of an array held as ``dtype.storage``."""
    if dtype is DType.BF16:
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def from_float64(array: NDArray[np.floating], dtype: DType) -> NDArray[np.generic]:
    """Round f64 values to ``dtype`` (nearest, ties to even) and hold them as ``dtype.storage``."""
    if dtype is not DType.BF16:
        with np.errstate(over="ignore"):
            return array.astype(dtype.storage)
    with np.errstate(over="ignore"):
        bits = array.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    return np.where(np.isnan(array), quiet_nan, rounded).astype(np.uint16)
