"""How badly a source program errs on inputs of a kind, not only on those that emitted code ran on (see ``accuracy``, rule 2).

In front of an exponential few elements are sensitive to rounding, and in a small program there may be none at all in one draw:
the source's errors differ by orders of magnitude from draw to draw. A program that is quickly run is run on many.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from itertools import islice
from math import prod

from prism_mlir.compiler.accuracy import SourceError, references
from prism_mlir.compiler.input_sets import ArgumentType, InputSet, input_sets
from prism_mlir.graph.program import Program
from prism_mlir.runtime.cpu_jit import CpuProgram

DRAWS = 4  # of inputs of a kind at least, the first one included
MOST_DRAWS = 64
ELEMENTS = 1 << 18  # of all values of the program, in all draws together, up to which there are more of them

HOPELESS = 16.0  # times as bad as the source on the same inputs, from which on a large program is not run on others

MoreErrors = Callable[[float], Sequence[SourceError]]
"""The source's errors of an output on other inputs; given how many times as bad as the source the code is on the first ones."""

_BETWEEN_DRAWS = 1_000_003


def draws(program: Program) -> int:
    """How many draws of inputs count."""
    elements = sum(prod(shape) for shape in program.shapes)
    return min(max(ELEMENTS // max(elements, 1), DRAWS), MOST_DRAWS)


def input_set(
    program: Program, number: int, seed: int, types: tuple[ArgumentType, ...], again: int = 0
) -> InputSet | None:
    """The set of inputs of that number; ``None`` where there are fewer. again: other inputs of the same kind"""
    return next(islice(input_sets(program, seed + again * _BETWEEN_DRAWS, types), number, None), None)


def more_errors(
    program: Program,
    source: CpuProgram,
    draw: Callable[[int], InputSet | None],
    stored: Collection[int] = (),
    *,
    tf32: bool = False,
) -> list[MoreErrors]:
    """For each output, the source's errors on other inputs of a kind. All are worked out together, where one is asked for.

    draw: the inputs, ``again`` and again; stored, tf32: see ``error_bounds``
    """
    count = draws(program)

    @cache
    def found() -> list[tuple[SourceError, ...]]:
        return [one(inputs) for again in range(1, count) if (inputs := draw(again)) is not None]

    def one(inputs: InputSet) -> tuple[SourceError, ...]:
        wanted = references(program, inputs.arguments, stored, tf32=tf32)
        rows = zip(program.results, source(*inputs.arguments), wanted, strict=True)
        return tuple(SourceError.of(out.dtype, theirs, reference) for out, theirs, reference in rows)

    def of_output(k: int, times: float) -> list[SourceError]:
        return [] if count == DRAWS and times > HOPELESS else [errors[k] for errors in found()]

    return [partial(of_output, k) for k in range(len(program.results))]
