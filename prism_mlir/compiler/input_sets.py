"""Inputs on which emitted code is checked: random ones, and ones chosen to break it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.graph.dtypes import DType, from_float64
from prism_mlir.graph.ops import ADD, Kind, Shape
from prism_mlir.graph.program import Program

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class InputSet:
    """Whole function arguments, held as their dtype's storage."""

    name: str
    arguments: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class ArgumentType:
    """Shape and element type of a function argument."""

    shape: Shape
    dtype: DType


def argument_types(program: Program) -> tuple[ArgumentType, ...]:
    """Types of the function's arguments as far as the program uses them (one that it does not use is an empty f32 tensor).

    The function itself knows better, where it is at hand: it may have arguments that nothing uses.
    """
    found = {i.arg: ArgumentType(i.arg_shape, i.dtype) for i in program.inputs if i.arg is not None}
    count = max(found, default=-1) + 1
    return tuple(found.get(k, ArgumentType((0,), DType.F32)) for k in range(count))


def input_sets(program: Program, seed: int = 0, types: tuple[ArgumentType, ...] | None = None) -> Iterator[InputSet]:
    """Input sets in order of cost-effectiveness: random first. types: of all arguments, used or not.

    ``random``:  normal numbers; arguments with a long last-but-one dim (weights) are scaled by its square root
    ``zeros``:   the first argument has every other row zero
    ``one hot``: the first argument is zero but for one large element a row
    ``large``:   normal numbers times 32, with signs alternating (f16 squares stay finite in f32, not in f16)
    ``tiny``:    the first argument holds denormals of its type
    ``steep``:   where the program shifts an exponential, the first argument times 1024: scores of some 1e4 either way
    ``masked``:  where a tensor is added to such an exponential's argument, half of it is -inf, all of its first row included
    """
    types = argument_types(program) if types is None else types
    rng = np.random.default_rng(seed)
    base = [_drawn(t, rng) for t in types]
    yield _rounded("random", base, types)
    if not base or base[0].ndim == 0:
        return
    zeros = base[0].copy()
    rows = zeros if zeros.ndim > 1 else zeros[:, np.newaxis]  # a view
    rows[..., ::2, :] = 0
    yield _rounded("zeros", [zeros, *base[1:]], types)
    hot = np.zeros_like(base[0])
    hot[..., base[0].shape[-1] // 3] = 100.0
    yield _rounded("one hot", [hot, *base[1:]], types)
    signs = 32.0 * (1 - 2 * (np.arange(base[0].size).reshape(base[0].shape) % 2))
    yield _rounded("large", [np.abs(base[0]) * signs, *base[1:]], types)
    yield _rounded("tiny", [base[0] * 2.0**-20, *base[1:]], types)
    if any(n.shift is not None for n in program.nodes):
        yield _rounded("steep", [base[0] * 1024.0, *base[1:]], types)
    masks = added_to_scores(program)
    if masks:
        drawn = [_with_minus_infinity(a, rng) if k in masks else a for k, a in enumerate(base)]
        yield _rounded("masked", drawn, types)


def input_set_names(program: Program, types: tuple[ArgumentType, ...] | None = None) -> tuple[str, ...]:
    """Names of the input sets, in order. Nothing is drawn."""
    types = argument_types(program) if types is None else types
    if not types or not types[0].shape:
        return ("random",)
    steep = ("steep",) if any(n.shift is not None for n in program.nodes) else ()
    masked = ("masked",) if added_to_scores(program) else ()
    return ("random", "zeros", "one hot", "large", "tiny", *steep, *masked)


def added_to_scores(program: Program) -> set[int]:
    """Arguments that are added to the argument of an exponential with a shift."""
    count, found = len(program.inputs), set[int]()
    pending = [n.operands[0] for n in program.nodes if n.shift is not None]
    while pending:
        value = pending.pop()
        if value < count:
            continue
        node = program.nodes[value - count]
        if node.op.kind in (Kind.UNARY, Kind.TRANSPOSE, Kind.RESHAPE) or node.op == ADD:
            pending += node.operands
        if node.op == ADD:
            found |= {a for v in node.operands if v < count and (a := program.inputs[v].arg) is not None}
    return found


def _with_minus_infinity(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    masked = np.where(rng.random(values.shape) < 0.5, -np.inf, values)
    masked.reshape(-1, masked.shape[-1] if masked.ndim else 1)[0] = -np.inf
    return masked


def _drawn(argument: ArgumentType, rng: np.random.Generator) -> NDArray[np.float64]:
    """Normal numbers; zeros and ones for a mask."""
    if argument.dtype is DType.I1:
        return rng.integers(0, 2, argument.shape).astype(np.float64)
    return np.asarray(rng.normal(size=argument.shape) * scale_of(argument.shape))


def scale_of(shape: Shape) -> float:
    """Standard deviation of random numbers for an argument: small where many of its rows are added up."""
    rows = shape[-2] if len(shape) >= 2 else 1
    return float(1 / np.sqrt(rows)) if rows >= 256 else 1.0


def _rounded(name: str, values: list[NDArray[np.float64]], types: tuple[ArgumentType, ...]) -> InputSet:
    return InputSet(name, tuple(from_float64(v, t.dtype) for v, t in zip(values, types, strict=True)))
