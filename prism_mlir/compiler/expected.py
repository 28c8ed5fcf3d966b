"""Recipes of inputs, and what outputs should be for them, in the form in which a machine with a GPU is told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.compiler.accuracy import Reference, allowance, reduction_length, references
from prism_mlir.compiler.input_sets import ArgumentType, scale_of
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.errors import ExecutionError
from prism_mlir.graph.program import Program
from prism_mlir.runtime.bundle.check import Expected
from prism_mlir.runtime.bundle.inputs import recipe

WHOLE = 1 << 18  # elements of an output up to which all are compared with what they should be
SAMPLED = 1 << 16  # elements that are compared of larger ones, spread at random; NaN is looked for in all

Array = NDArray[Any]


def recipes(types: Sequence[ArgumentType], seed: int) -> tuple[dict[str, Any], ...]:
    """How to draw the arguments of a function: numbers like those it was checked with."""
    return tuple(
        recipe(t.dtype.value, t.shape, seed * 1000 + k, 1.0 if t.dtype is DType.I1 else scale_of(t.shape))
        for k, t in enumerate(types)
    )


def expected_outputs(
    program: Program,
    arguments: Sequence[Array],
    source: Sequence[Array],
    stored: Collection[int] = (),
    *,
    tf32: bool = False,
) -> tuple[Expected, ...]:
    """What outputs should be, and how far they may be from it: both rules that emitted code is checked by.

    source: what the source program gives for the arguments; stored, tf32: see ``error_bounds``
    """
    length = reduction_length(program)
    wanted = references(program, arguments, stored, tf32=tf32)
    found = []
    for out, theirs, reference in zip(program.results, source, wanted, strict=True):
        rule = allowance(out.dtype, theirs, reference, length, as_source=not tf32)
        found.append(_expected(out.dtype, reference, rule.allowed, rule.judged, rule.source))
    return tuple(found)


def within_bounds(program: Program, arguments: Sequence[Array], *, tf32: bool = False) -> tuple[Expected, ...]:
    """The same by the first rule alone, the bound of f32 arithmetic, where there is no source program to compare with."""
    return tuple(
        _expected(out.dtype, r, np.fmin(r.bound, np.inf), np.isfinite(_rounded(r.exact, out.dtype)), 0.0)
        for out, r in zip(program.results, references(program, arguments, tf32=tf32), strict=True)
    )


def _expected(
    dtype: DType, reference: Reference, allowed: NDArray[np.float64], judged: NDArray[np.bool_], source: float
) -> Expected:
    exact = reference.exact.reshape(-1)
    rounded = _rounded(exact, dtype)
    index = _chosen(judged.reshape(-1))
    kept = index if index.size else slice(None)
    value = np.where(np.isfinite(rounded), exact, rounded)
    return Expected(
        dtype.value, tuple(reference.exact.shape), value[kept], allowed.reshape(-1)[kept], index, float(source)
    )


def _rounded(exact: NDArray[np.float64], dtype: DType) -> NDArray[np.float64]:
    return to_float64(from_float64(exact, dtype), dtype)


def _chosen(judged: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Elements that are compared; empty where it is all of them."""
    if judged.size and not judged.any():
        raise ExecutionError("no element of a result can be checked: the source program overflows in all of them")
    if judged.size <= WHOLE:
        return np.empty(0, np.int64) if judged.all() else np.flatnonzero(judged).astype(np.int64)
    drawn = np.random.default_rng(0).choice(judged.size, SAMPLED, replace=False)
    index = np.unique(np.concatenate([drawn, [0, judged.size - 1]]))
    return np.asarray(index[judged[index]], dtype=np.int64)
