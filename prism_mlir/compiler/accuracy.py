"""When is emitted code accurate enough? (the rule of verification, stage 3)

Emitted code and source program are both compared with an f64 evaluation of the program. Emitted code must

1. stay, element by element, within the bound that f32 arithmetic can keep (``error_bound``), and
2. be no worse than the source program itself: at its worst element, up to one rounding of the result and the rounding of
   f32 sums; or else, errors divided by how much rounding moves each element, not twice as bad as the source on the worst of a few
   input sets of the kind: neither at its worst element nor on the whole (root mean square).

The first rule holds where the source loses everything; the second where the source is exact. The second form of it is for
elements that rounding moves by very different amounts, as in front of an exponential: which of few sensitive elements a rounding
hits is chance, and of two programs that round alike the worse element would be the emitted code's every other time. Where the
source itself gives infinity or NaN, emitted code may too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_mlir.compiler.error_bound import F32_UNIT, error_bounds, first_order_errors
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.fields import Reals
from prism_mlir.graph.ops import Kind
from prism_mlir.graph.program import Program

TWICE = 2.0  # as bad as the source on a few input sets: what chance does to the few elements that rounding moves most


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors of one output on one input set, absolute; ``scale`` is the largest finite reference value.

    used:      the largest share of what an element is allowed (the smaller of both rules) that its error takes; 1 is all of it
    special:   elements whose reference is NaN or infinite in the output type, where only the kind is compared
    """

    input_set: str
    output: str
    error: float
    source_error: float
    used: float
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
            "used": self.used,
            "scale": self.scale,
            "special": self.special,
            "ok": self.ok,
            **({"reason": self.reason} if self.reason else {}),
        }

    @staticmethod
    def from_dict(data: Any) -> Accuracy:
        """The inverse of :meth:`to_dict`. Raises :class:`InputError` where ``data`` is none."""
        try:
            return Accuracy(
                input_set=str(data["inputs"]),
                output=str(data["output"]),
                error=float(data["error"]),
                source_error=float(data["source_error"]),
                used=float(data["used"]),
                scale=float(data["scale"]),
                special=int(data["special"]),
                reason=str(data.get("reason", "")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not an accuracy: {type(error).__name__} {error}") from None


def reduction_length(program: Program) -> int:
    """The longest sum of the program: the largest dim that a matmul contracts or a sum reduces."""
    longest = 1
    for node in program.nodes:
        shape = program.shapes[node.operands[0]]
        if node.op.kind is Kind.MATMUL:
            longest = max(longest, shape[-1])
        elif node.op.kind is Kind.REDUCE and node.op.dim is not None:
            longest = max(longest, shape[node.op.dim])
    return longest


@dataclass(frozen=True, slots=True)
class Reference:
    """What an output should be: its f64 value, and how far emitted code may be from it, element by element.

    first_order: how much rounding moves each element next to others, a second evaluation, made where it is asked for; like the
                 bound where not given
    """

    exact: NDArray[np.float64]
    bound: NDArray[np.float64]
    first_order: Callable[[], NDArray[np.float64]] | None = None


def references(
    program: Program, arguments: Sequence[NDArray[Any]], stored: Collection[int] = (), *, tf32: bool = False
) -> tuple[Reference, ...]:
    """The reference of each result, whole, from whole function arguments. stored, tf32: see ``error_bounds``."""
    views = program.views(arguments)
    exact = program.evaluate(views, Reals())

    def whole(errors: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.float64], ...]:
        spread = [np.broadcast_to(b, np.shape(e)) for e, b in zip(exact, errors, strict=True)]
        return tuple(program.scatter(spread))

    @cache
    def first_order() -> tuple[NDArray[np.float64], ...]:
        return whole(first_order_errors(program, views, stored, tf32=tf32))

    bounds = whole(error_bounds(program, views, stored, tf32=tf32))
    pairs = enumerate(zip(program.scatter(exact), bounds, strict=True))
    return tuple(Reference(value, bound, partial(lambda k: first_order()[k], k)) for k, (value, bound) in pairs)


def compare(
    input_set: str,
    output: str,
    dtype: DType,
    got: NDArray[Any],
    source: NDArray[Any],
    reference: Reference,
    length: int,
    *,
    as_source: bool = True,
    more: Callable[[float], Sequence[SourceError]] = lambda _: (),
) -> Accuracy:
    """Judge one output.

    got, source: the emitted code's and the source program's result, as the dtype's storage
    length:      see :func:`reduction_length`; sums of n terms in f32 lose at most about sqrt(n) units, typically
    as_source:   whether both rules hold; with products in tf32, which the source does not have, it is the first alone
    more:        the source's errors on other input sets of the kind, for the second form of rule 2; it is given how many times as
                 bad as the source the result is
    """
    value, theirs, exact = to_float64(got, dtype), to_float64(source, dtype), reference.exact
    rounded = _rounded(exact, dtype)
    border = _near_overflow(reference, dtype)
    either_side = border & np.isinf(value) & (np.sign(value) == np.sign(exact))
    # an intermediate result, which the source rounds, overflowed there
    overflowed = ~np.isfinite(theirs) & ~_same_kind(theirs, rounded)
    lost_alike = ~np.isfinite(value) & overflowed
    value = np.where(either_side | lost_alike, exact, value)
    rounded = np.where(border | lost_alike, exact, rounded)
    finite = np.isfinite(rounded)
    distance = _distance(value, exact)
    error = float(np.max(distance[finite], initial=0.0))
    near = _near_source(dtype, theirs, exact, finite, length)
    scale, source_error = near.scale, near.source_error
    allowed = near.at_worst(reference) if as_source else reference.bound
    if as_source and not (distance <= allowed)[finite].all():
        ours = SourceError.of(dtype, got, reference, finite & np.isfinite(theirs))
        own = SourceError.of(dtype, source, reference)
        found = [own, *more(ours.worst / own.worst if own.worst else 1.0)]
        worst, mean = max(e.worst for e in found), max(e.mean for e in found)
        if ours.mean <= TWICE * mean:
            allowed = _spread(reference, allowed, worst)
    place = np.unravel_index(int(np.argmax(np.where(finite, distance - allowed, -np.inf))), exact.shape)
    reason = ""
    kinds = _same_kind(value, rounded)
    if not kinds[~finite].all():
        reason = f"{int((~kinds[~finite]).sum())} elements should be NaN or infinite and are not"
    elif finite.any() and not distance[place] <= allowed[place]:
        reason = (
            f"element {list(map(int, place))} is {value[place]:.9g}, should be {exact[place]:.9g} "
            f"within {allowed[place]:.3g}"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(distance == 0, 0.0, distance / allowed)
    used = float(np.max(shares[finite], initial=0.0))
    return Accuracy(input_set, output, error, source_error, used, scale, int((~finite).sum()), reason)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an output may be, whatever computes it.

    allowed: largest error of each element by both rules (by the first where the source is none to go by), the second in the form
             that allows more
    judged:  elements that are to be judged: not those where the source overflows, or is near to that
    source:  error that is no worse than the source's own at its worst element, see rule 2
    """

    allowed: NDArray[np.float64]
    judged: NDArray[np.bool_]
    source: float


def allowance(
    dtype: DType, source: NDArray[Any], reference: Reference, length: int, *, as_source: bool = True
) -> Allowance:
    """The rules of :func:`compare` before there is a result; its arguments."""
    theirs, exact = to_float64(source, dtype), reference.exact
    rounded = _rounded(exact, dtype)
    overflowed = ~np.isfinite(theirs) & ~_same_kind(theirs, rounded)
    finite = np.isfinite(rounded)
    near = _near_source(dtype, theirs, exact, finite, length)
    allowed = reference.bound
    if as_source:
        allowed = _spread(reference, near.at_worst(reference), SourceError.of(dtype, source, reference).worst)
    return Allowance(allowed, ~(overflowed | _near_overflow(reference, dtype)), near.allowed)


class _Near(NamedTuple):
    """The first form of rule 2, with what it is made of."""

    allowed: float
    source_error: float
    scale: float

    def at_worst(self, reference: Reference) -> NDArray[np.float64]:
        """Largest error of each element; a bound that is NaN says nothing."""
        return np.asarray(np.fmin(reference.bound, self.allowed))


def _near_source(
    dtype: DType, theirs: NDArray[np.float64], exact: NDArray[np.float64], finite: NDArray[np.bool_], length: int
) -> _Near:
    scale = float(np.max(np.abs(exact[finite]), initial=0.0))
    source_error = _largest(theirs, exact, finite & np.isfinite(theirs))
    unit = 2.0 ** -(dtype.mantissa_bits + 1)
    smallest = float(np.finfo(np.float16).smallest_subnormal) / 2 if dtype is DType.F16 else 0.0
    return _Near(
        source_error + unit * scale + F32_UNIT * float(np.sqrt(length)) * scale + smallest, source_error, scale
    )


@dataclass(frozen=True, slots=True)
class SourceError:
    """Errors of a result divided by how much rounding moves each element: the largest, and the root mean square."""

    worst: float
    mean: float

    @staticmethod
    def of(
        dtype: DType, result: NDArray[Any], reference: Reference, judged: NDArray[np.bool_] | None = None
    ) -> SourceError:
        """Of finite elements, ``judged`` among them, that rounding moves at all. result: as the dtype's storage."""
        value, moved = to_float64(result, dtype), _first_order(reference)
        judged = np.isfinite(value) & np.isfinite(_rounded(reference.exact, dtype)) if judged is None else judged
        judged = judged & np.isfinite(moved) & (moved > 0)
        shares = _distance(value, reference.exact)[judged] / moved[judged]
        return SourceError(float(np.max(shares, initial=0.0)), _root_mean_square(shares))


def _spread(reference: Reference, allowed: NDArray[np.float64], worst: float) -> NDArray[np.float64]:
    """Largest error of each element by the second form of rule 2, or by the first, which gives ``allowed``."""
    moved = _first_order(reference)
    share = TWICE * worst * np.where(np.isfinite(moved), moved, 0.0)
    return np.asarray(np.fmin(reference.bound, np.fmax(allowed, share)))


def _first_order(reference: Reference) -> NDArray[np.float64]:
    return reference.bound if reference.first_order is None else reference.first_order()


def _root_mean_square(shares: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(shares**2))) if shares.size else 0.0


def _rounded(exact: NDArray[np.float64], dtype: DType) -> NDArray[np.float64]:
    return to_float64(from_float64(exact, dtype), dtype)


def _near_overflow(reference: Reference, dtype: DType) -> NDArray[np.bool_]:
    """Elements so close to the largest number of the type that an allowed error decides whether they become infinite."""
    with np.errstate(invalid="ignore"):
        low, high = np.abs(reference.exact) - reference.bound, np.abs(reference.exact) + reference.bound
        return np.isfinite(high) & np.isfinite(_rounded(low, dtype)) & ~np.isfinite(_rounded(high, dtype))


def _distance(value: NDArray[np.float64], exact: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        distance = np.abs(value - exact)
    return np.where(np.isnan(distance), np.inf, distance)


def _largest(value: NDArray[np.float64], exact: NDArray[np.float64], where: NDArray[np.bool_]) -> float:
    return float(np.max(_distance(value, exact)[where], initial=0.0))


def _same_kind(value: NDArray[np.float64], rounded: NDArray[np.float64]) -> NDArray[np.bool_]:
    both_nan = np.isnan(value) & np.isnan(rounded)
    return np.asarray(both_nan | (value == rounded) | (np.isfinite(value) & np.isfinite(rounded)))
