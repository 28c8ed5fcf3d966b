"""What a launch of ``prism ptx run`` left in its outputs: figures, comparisons, files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.graph.errors import InputError, Location
from prism_mlir.tools.ptx_arguments import FLOATS, Array, as_numbers, load_npy

# Relative and absolute tolerance by dtype, those of torch.testing.assert_close; integers must be equal.
TOLERANCES = {"f16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5), "f32": (1.3e-6, 1e-5), "f64": (1e-7, 1e-7)}


@dataclass(frozen=True, slots=True)
class Figures:
    """Of an array: extremes and mean of its numbers (None where it has none), and how many are NaN or infinite."""

    min: float | int | None
    max: float | int | None
    mean: float | None
    nan: int
    infinite: int


def figures(array: Array, dtype: str) -> Figures:
    """NaN is counted and left out; infinities are counted and take part in the extremes, not in the mean."""
    numbers = as_numbers(array, dtype)
    if dtype not in FLOATS:
        numbers = numbers.astype(np.uint8) if dtype == "i1" else numbers
        if not numbers.size:
            return Figures(None, None, None, 0, 0)
        return Figures(int(numbers.min()), int(numbers.max()), float(numbers.mean(dtype=np.float64)), 0, 0)
    nan, finite = np.isnan(numbers), np.isfinite(numbers)
    some = not nan.all()
    low = float(np.min(numbers, where=~nan, initial=np.inf)) if some else None
    high = float(np.max(numbers, where=~nan, initial=-np.inf)) if some else None
    with np.errstate(over="ignore"):
        mean = float(np.mean(numbers, dtype=np.float64, where=finite)) if finite.any() else None
    nans = int(np.count_nonzero(nan))
    return Figures(low, high, mean, nans, numbers.size - int(np.count_nonzero(finite)) - nans)


@dataclass(frozen=True, slots=True)
class Comparison:
    """An output beside what was expected, elementwise: an element is right where ``|got - expected| <= atol + rtol |expected|``,
    or both are NaN, or both are the same infinity.

    wrong: how many elements are not right; ``first`` is the index of the first of them, with its two values
    """

    file: str
    rtol: float
    atol: float
    wrong: int
    elements: int
    largest_error: float
    first: tuple[int, ...]
    got: float | int | None
    expected: float | int | None

    @property
    def text(self) -> str:
        """One line for people."""
        limits = f"rtol {self.rtol:g}, atol {self.atol:g}"
        if not self.wrong:
            return f"agrees with {self.file}: largest error {self.largest_error:.3g} ({limits})"
        where = f"first at {list(self.first)}: {self.got!r}, expected {self.expected!r}"
        return f"{self.wrong} of {self.elements} elements differ from {self.file} ({limits}), {where}"


def compare(got: Array, dtype: str, file: Path, rtol: float | None, atol: float | None) -> Comparison:
    """Compare an output with a ``.npy`` file of numbers of any type (bf16 also as its bits in uint16).

    Raises:
        InputError: located; the file cannot be read, or has another shape.
    """
    expected = load_expected(file, got.shape)
    if dtype == "bf16" and expected.dtype == np.uint16:
        expected = as_numbers(expected, dtype)
    default = TOLERANCES.get(dtype, (0.0, 0.0))
    rtol, atol = default[0] if rtol is None else rtol, default[1] if atol is None else atol
    have = as_numbers(got, dtype)
    error, right = _errors(have, np.asarray(expected), rtol, atol)
    wrong = np.flatnonzero(~right)
    at = tuple(map(int, np.unravel_index(wrong[0], got.shape))) if wrong.size else ()
    pair = (have[at].item(), expected[at].item()) if wrong.size else (None, None)
    largest = float(np.max(error, where=np.isfinite(error), initial=0.0))
    return Comparison(str(file), rtol, atol, int(wrong.size), got.size, largest, at, *pair)


def load_expected(file: Path, shape: tuple[int, ...]) -> Array:
    """What an output of ``shape`` is compared with. Raises located errors as :func:`load_npy`, and for another shape."""
    expected = load_npy(file)
    if expected.shape != shape:
        shapes = f"the file has shape {list(expected.shape)}, the output {list(shape)}"
        raise InputError(shapes, Location(str(file), 1, 1), "save it with the shape of the output")
    return expected


def _errors(got: Array, expected: Array, rtol: float, atol: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Absolute errors in f64, and which elements are right."""
    a, b = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(a - b)
        right = (error <= atol + rtol * np.abs(b)) & np.isfinite(error)
    # f64 cannot tell all 64-bit integers apart
    same = got == expected if got.dtype.kind in "iub" and expected.dtype.kind in "iub" else a == b
    exact = got.dtype.kind in "iub" and expected.dtype.kind in "iub" and not (rtol or atol)
    return error, np.asarray(same) if exact else right | same | (np.isnan(a) & np.isnan(b))


def npy_bytes(array: Array) -> bytes:
    """The content of a ``.npy`` file."""
    stream = BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()
