"""The check of a function that was compiled in islands: does the whole still compute what the source does?

Each island was compared with an f64 evaluation and with the source, element by element, when it was compiled. Here both whole
functions run on the same arguments, the rest of both on upstream's CPU JIT, islands on the PTX machine. There is no f64
evaluation of operations that Prism does not know, so the source itself tells how exact an answer can be: it runs once more with
every float argument moved by at most one unit in its last place. Rounding inside of a function does to its results what such a
movement of its arguments does, a few times over, so a result must lie within :data:`ROUNDINGS` times the distance (in the
Euclidean norm) that the movement makes. Integers must be equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.compiler.input_sets import scale_of
from prism_mlir.compiler.task_pool import TaskPool, pool_here
from prism_mlir.compiler.tasks import Context, SentBare
from prism_mlir.frontend.islands.find import Islands
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.errors import InaccurateError, UnsupportedError
from prism_mlir.runtime.cpu_jit import CpuProgram, compile_module
from prism_mlir.runtime.jit_buffers import External, TensorSignature

Array = NDArray[Any]
ROUNDINGS = 8.0
"""Chains of sixty roundings, whose errors add up like the steps of a random walk."""
SETS = 2


@dataclass(frozen=True, slots=True)
class WholeError:
    """How far a result is from the source's, relative to its Euclidean norm, and how far it may be."""

    input_set: str
    result: int
    distance: float
    allowed: float

    @property
    def ok(self) -> bool:
        return self.distance <= self.allowed


@dataclass(frozen=True, slots=True)
class WholeCheck:
    """errors: of all results on all input sets; skipped: why the whole function did not run, where it did not."""

    errors: tuple[WholeError, ...]
    skipped: str = ""


@dataclass(frozen=True)
class WholeChecker(SentBare):
    """A cut function and its source; both are loaded when they are first needed, in each process once.

    externals: what the islands' functions compute, by name
    """

    text: str
    cut: Islands
    externals: Mapping[str, External]
    seed: int = 0

    @cached_property
    def theirs(self) -> CpuProgram:
        return compile_module(self.text, self.cut.function)

    @cached_property
    def ours(self) -> CpuProgram:
        return compile_module(self.cut.rest, self.cut.function, self.externals)


def check_whole(checker: WholeChecker, pool: TaskPool | None = None) -> WholeCheck:
    """Compare the cut function with its source on random arguments; each set of them is a task.

    Raises :class:`InaccurateError` where they differ by more than they may, :class:`ExecutionError` where the PTX machine
    reports an error. A function that upstream cannot run on the CPU is not compared; the result says so.
    """
    errors: list[WholeError] = []
    try:
        for found in (pool or pool_here()).ordered(Context(checker), _check_set, [(k,) for k in range(SETS)]):
            errors += found
    except UnsupportedError as error:
        return WholeCheck((), error.message)
    wrong = next((e for e in errors if not e.ok), None)
    if wrong is not None:
        raise InaccurateError(
            f"result {wrong.result} of the whole function is {wrong.distance:.3g} away from the source's, "
            f"relative to its norm, on {wrong.input_set} inputs; {wrong.allowed:.3g} are allowed"
        )
    return WholeCheck(tuple(errors))


def _check_set(checker: WholeChecker, number: int) -> list[WholeError]:
    theirs, ours = checker.theirs, checker.ours
    rng = np.random.default_rng([checker.seed, number])
    arguments = [drawn(s, theirs.arguments, rng) for s in theirs.arguments]
    moved = theirs(*(moved_by_a_unit(a, s, rng) for a, s in zip(arguments, theirs.arguments, strict=True)))
    pairs = zip(theirs.results, ours(*arguments), theirs(*arguments), moved, strict=True)
    return [_error(f"random {number}", n, *pair) for n, pair in enumerate(pairs)]


def drawn(signature: TensorSignature, all_arguments: Sequence[TensorSignature], rng: np.random.Generator) -> Array:
    """Normal floats; truths; integers that may be positions: below the smallest dim of the arguments that is not one."""
    dtype = _float_of(signature)
    if dtype is not None:
        return from_float64(np.asarray(rng.normal(size=signature.shape) * scale_of(signature.shape)), dtype)
    if signature.element == "f64":
        return np.asarray(rng.normal(size=signature.shape) * scale_of(signature.shape))
    least = min((n for a in all_arguments for n in a.shape if n > 1), default=2)
    top = 2 if signature.element == "i1" else min(least, 128)
    return np.asarray(rng.integers(0, top, signature.shape)).astype(signature.numpy_dtype)


def moved_by_a_unit(array: Array, signature: TensorSignature, rng: np.random.Generator) -> Array:
    """Floats moved by at most one unit in the last place, either way."""
    dtype = _float_of(signature)
    if dtype is None:
        return array
    factor = 1 + rng.uniform(-1, 1, array.shape) * 2.0**-dtype.mantissa_bits
    return from_float64(to_float64(array, dtype) * factor, dtype)


def _float_of(signature: TensorSignature) -> DType | None:
    return DType(signature.element) if signature.element in ("f16", "bf16", "f32") else None


def _error(name: str, number: int, signature: TensorSignature, got: Array, want: Array, moved: Array) -> WholeError:
    dtype = _float_of(signature)
    if dtype is None and signature.element != "f64":
        return WholeError(name, number, float(np.count_nonzero(got != want)), 0.0)
    a, b, c = (v if dtype is None else to_float64(v, dtype) for v in (got, want, moved))
    unit = np.finfo(np.float64).eps if dtype is None else 2.0 ** -(dtype.mantissa_bits + 1)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return WholeError(name, number, float("inf"), ROUNDINGS * unit)
    finite = np.isfinite(a) & np.isfinite(c)
    norm = float(np.linalg.norm(b[finite])) or 1.0
    distance, movement = (float(np.linalg.norm(v[finite] - b[finite])) / norm for v in (a, c))
    return WholeError(name, number, distance, ROUNDINGS * max(movement, float(unit)))
