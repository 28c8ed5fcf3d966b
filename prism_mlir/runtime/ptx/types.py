"""The fundamental types of PTX (PTX ISA, "Fundamental Types") and how NumPy holds their bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

UNSIGNED: dict[int, type[np.unsignedinteger[Any]]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED: dict[int, type[np.signedinteger[Any]]] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
FLOATS: dict[int, type[np.floating[Any]]] = {16: np.float16, 32: np.float32, 64: np.float64}


@dataclass(frozen=True, slots=True)
class Scalar:
    """One PTX type.

    ``kind`` is ``b`` (bits), ``u``, ``s``, ``f``, ``bf`` (bfloat16), ``tf`` (tf32), ``p`` (predicate), or ``fx2``, ``bfx2``,
    ``ux2``, ``sx2`` for packed pairs.
    """

    name: str
    kind: str
    bits: int

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def storage(self) -> np.dtype[Any]:
        """The NumPy type of a register that holds this type: bits are bits, predicates are bool."""
        return np.dtype(np.bool_) if self.kind == "p" else np.dtype(UNSIGNED[self.bits])

    @property
    def value(self) -> np.dtype[Any]:
        """The NumPy type in which this type computes; bfloat16, tf32 and packed pairs keep their bits."""
        if self.kind == "s":
            return np.dtype(SIGNED[self.bits])
        if self.kind == "f":
            return np.dtype(FLOATS[self.bits])
        return self.storage

    @property
    def is_float(self) -> bool:
        return self.kind in ("f", "bf", "tf", "fx2", "bfx2")

    @property
    def is_signed(self) -> bool:
        return self.kind == "s"


SCALARS: dict[str, Scalar] = {
    **{f"{k}{n}": Scalar(f"{k}{n}", k, n) for k in "bus" for n in (8, 16, 32, 64)},
    **{f"f{n}": Scalar(f"f{n}", "f", n) for n in (16, 32, 64)},
    "bf16": Scalar("bf16", "bf", 16),
    "tf32": Scalar("tf32", "tf", 32),
    "f16x2": Scalar("f16x2", "fx2", 32),
    "bf16x2": Scalar("bf16x2", "bfx2", 32),
    "u16x2": Scalar("u16x2", "ux2", 32),
    "s16x2": Scalar("s16x2", "sx2", 32),
    "pred": Scalar("pred", "p", 1),
}
