"""When is emitted code accurate enough? (the rule of verification, stage 3)

Both the emitted code and the source program are compared with an f64 evaluation of the program. Emitted code must be no worse
than the source, up to what its own arithmetic cannot avoid: one rounding of the result to its type, and a sum of ``length``
products in f32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.ops import Kind
from prism_mlir.graph.program import Program

F32_UNIT = 2.0**-24


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors of one output on one input set, all absolute; ``scale`` is the largest finite reference value.

    tolerance: what the emitted code was allowed: the source's error, plus unavoidable rounding
    special:   elements whose reference is NaN or infinite in the output type, where only the kind is compared
    """

    input_set: str
    output: str
    error: float
    source_error: float
    tolerance: float
    scale: float
    special: int
    reason: str = ""

    @property
    def ok(self) -> bool:
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        return {
            "inputs": self.input_set,
            "output": self.output,
            "error": self.error,
            "source_error": self.source_error,
            "tolerance": self.tolerance,
            "scale": self.scale,
            "special": self.special,
            "ok": self.ok,
            **({"reason": self.reason} if self.reason else {}),
        }


def reduction_length(program: Program) -> int:
    """The longest sum of the program: the largest dim that a matmul contracts or a sum reduces."""
    classes, longest = dim_classes(program), 1
    for node in program.nodes:
        if node.op.kind is Kind.MATMUL:
            dim = classes.of[node.operands[0]][-1]
        elif node.op.kind is Kind.REDUCE and node.op.dim is not None:
            dim = classes.of[node.operands[0]][node.op.dim]
        else:
            continue
        longest = max(longest, 1 if dim is None else classes.sizes[dim])
    return longest


def compare(
    input_set: str,
    output: str,
    dtype: DType,
    got: NDArray[Any],
    source: NDArray[Any],
    exact: NDArray[np.float64],
    length: int,
) -> Accuracy:
    """Judge one output.

    got, source: the emitted code's and the source program's result, as the dtype's storage
    exact:       the f64 evaluation
    length:      see :func:`reduction_length`; sums of n terms in f32 lose at most about sqrt(n) units, typically
    """
    value, theirs = to_float64(got, dtype), to_float64(source, dtype)
    rounded = to_float64(from_float64(exact, dtype), dtype)
    finite = np.isfinite(rounded)
    scale = float(np.max(np.abs(exact[finite]), initial=0.0))
    error = _largest(value, exact, finite)
    source_error = _largest(theirs, exact, finite & np.isfinite(theirs))
    unit = 2.0 ** -(dtype.mantissa_bits + 1)
    smallest = float(np.finfo(np.float16).smallest_subnormal) / 2 if dtype is DType.F16 else 0.0
    tolerance = source_error + unit * scale + F32_UNIT * np.sqrt(length) * scale + smallest
    reason = ""
    kinds = _same_kind(value, rounded)
    if not kinds[~finite].all():
        reason = f"{int((~kinds[~finite]).sum())} elements should be NaN or infinite and are not"
    elif not error <= tolerance:
        where = np.unravel_index(int(np.nanargmax(np.where(finite, _distance(value, exact), -1))), exact.shape)
        reason = f"error {error:.3g} at {list(map(int, where))} exceeds {tolerance:.3g}"
    return Accuracy(input_set, output, error, source_error, float(tolerance), scale, int((~finite).sum()), reason)


def _distance(value: NDArray[np.float64], exact: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        distance = np.abs(value - exact)
    return np.where(np.isnan(distance), np.inf, distance)


def _largest(value: NDArray[np.float64], exact: NDArray[np.float64], where: NDArray[np.bool_]) -> float:
    return float(np.max(_distance(value, exact)[where], initial=0.0))


def _same_kind(value: NDArray[np.float64], rounded: NDArray[np.float64]) -> NDArray[np.bool_]:
    both_nan = np.isnan(value) & np.isnan(rounded)
    return np.asarray(both_nan | (value == rounded) | (np.isfinite(value) & np.isfinite(rounded)))
