"""Trials of code generation: a random program, its proved graphs, random schedules, run with every check on adverse inputs.

Expected values are the program's in f64, the bound is the running error analysis of the program (``compiler.accuracy``), which
knows nothing of graphs and schedules. Wrong values are excused where an operator of the program overflows in the program's own
types: a graph that orders operators differently may overflow elsewhere.
"""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from random_programs import KINDS, describe, draw_program

from prism_mlir.codegen.compile import compile_graph, feasible
from prism_mlir.compiler.accuracy import Reference, references
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.input_sets import added_to_scores, argument_types
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.fields import Reals
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.ops import evaluate_op
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Orientation, Schedule
from prism_mlir.graph.shifts import scores
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tune.parameters import parameter_space

Array = NDArray[Any]
MOST_BLOCKS = 64
DRAWS = 12  # of a schedule, until one is feasible
INPUT_SETS = ("zero rows", "one hot", "steep", "near overflow", "denormal", "masked")


@dataclass
class Tally:
    """What happened to the trials of one kind of program. overflowed: runs with other results than expected, and with
    an operator that overflows."""

    kind: str
    programs: int = 0
    unproved: int = 0
    kernels: int = 0
    two_kernels: int = 0
    runs: int = 0
    overflowed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in ("programs", "unproved", "kernels", "two_kernels", "runs", "overflowed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.refused += other.refused
        self.failures += other.failures


def trial(seed: int, kernels: int = 4, kind: str | None = None) -> Tally:
    """Draw a program, search it, and run some of its kernels. The same seed does the same."""
    rng = Random(seed)
    kind = list(KINDS)[seed % len(KINDS)] if kind is None else kind
    program, tally = draw_program(rng, kind), Tally(kind, programs=1)
    graphs = discover(program, _limits(program, rng), seed=seed).proved
    tally.unproved += not graphs
    for _ in range(kernels if graphs else 0):
        several = [g for g in graphs if len(g.nodes) > 1]
        graph = rng.choice(several if several and rng.random() < 0.5 else graphs)
        for schedule in (draw_schedule(program, graph, rng) for _ in range(DRAWS)):
            try:
                refusal = feasible(program, graph, schedule)
                if refusal is not None:
                    raise refusal
                run = build(program, graph, schedule)
            except (ScheduleError, UnsupportedError) as error:
                tally.refused[re.sub(r"\d+", "N", error.message)] += 1
                continue
            except Exception:
                tally.failures.append(_report(seed, program, graph, schedule, traceback.format_exc(limit=-4)))
                break
            tally.kernels += 1
            tally.two_kernels += len(graph.nodes) > 1
            for name in ("random", *rng.sample(INPUT_SETS, 2)):
                arguments = draw_arguments(program, name, rng.randrange(2**32))
                tally.runs += 1
                try:
                    reason, overflowed = check(program, run, arguments)
                except Exception as error:
                    reason, overflowed = f"{type(error).__name__}: {error}", False
                tally.overflowed += overflowed
                if reason:
                    tally.failures.append(_report(seed, program, graph, schedule, f"on {name} inputs: {reason}"))
                    break
            break
    return tally


def _limits(program: Program, rng: Random) -> SearchLimits:
    count = len(program.nodes)
    return SearchLimits(
        operators=count + rng.choice([0, 1, 1, 2]),
        grid_dims=rng.choice([1, 2, 2, 3]),
        kernels=rng.choice([1, 2]),
        second_operators=max(1, count - 1),
        states=4000,
        structures=200,
        candidates=48,
        invariant_loads=rng.random() < 0.3,
    )


def _report(seed: int, program: Program, graph: KernelGraph, schedule: Schedule, what: str) -> str:
    return f"seed {seed}: {what}\n{describe(program)}\n  {graph}\n  {schedule}"


def draw_schedule(program: Program, graph: KernelGraph, rng: Random) -> Schedule:
    """Any parts (of dims that may be cut), any warps and stages, often products turned or resident blocks asked for; not so many
    blocks that a run takes long."""
    sizes: dict[str, int] = {}
    for name, values in parameter_space(graph, program).sizes:
        anything = [rng.choice(values), rng.choice(values), rng.choice([2, 3, 4, 5]), rng.randint(1, 16)]
        sizes[name] = 1 if values == (1,) else rng.choice(anything)
    while prod(sizes.values()) > MOST_BLOCKS:
        largest = max(sizes, key=lambda p: (sizes[p], p))
        sizes[largest] //= 2
    schedule = Schedule.of(sizes, rng.choice([1, 2, 3, 4, 4, 5, 6, 7, 8]), rng.choice([1, 2, 3, 4]))
    own = Random(schedule.text)  # so that the other draws are what they were without
    return replace(schedule, orientation=own.choice(list(Orientation)), residency=own.choice([0, 0, 1, 2, 3]))


def build(program: Program, graph: KernelGraph, schedule: Schedule) -> Emulator:
    compiled = compile_graph(program, graph, schedule)
    return Emulator(compiled.launch, {compiled.launch.kernels[0].ptx: compiled.ptx})


def draw_arguments(program: Program, name: str, seed: int) -> list[Array]:
    """Whole arguments, held as their dtype's storage.

    ``random``:        normal numbers
    ``zero rows``:     of each argument some rows are zeros
    ``one hot``:       each row of the first argument holds one number, which is large
    ``steep``:         the first argument times 2000, and every third row of it flat: scores of 1e4 either way
    ``near overflow``: the first argument reaches the largest f16, the others are so small that sums of products do not
    ``denormal``:      all arguments hold denormals of f16
    ``masked``:        what is added to scores is -inf in half of its places, and in all of some rows
    """
    rng = np.random.default_rng(seed)
    types = argument_types(program)
    values = [rng.standard_normal(t.shape) for t in types]
    if not values:
        return []
    first = values[0]
    rows = [v.reshape(-1, v.shape[-1] if v.ndim else 1) for v in values]  # views
    match name:
        case "zero rows":
            for part in rows:
                part[rng.random(len(part)) < 0.5] = 0.0
        case "one hot":
            places = rng.integers(0, rows[0].shape[1], len(rows[0]))
            rows[0][...] = 0.0
            rows[0][np.arange(len(places)), places] = 100.0
        case "steep":
            first *= 2000.0
            rows[0][::3] = 1.0
        case "near overflow":
            first[...] = np.where(rng.random(first.shape) < 0.2, np.sign(first) * 60000.0, first)
            for v in values[1:]:
                v *= 2.0**-11
        case "denormal":
            for v in values:
                v *= 2.0**-20
        case "masked":
            for k in added_to_scores(program):
                values[k][rng.random(values[k].shape) < 0.5] = -np.inf
                rows[k][rng.random(len(rows[k])) < 0.2] = -np.inf
    return [from_float64(v, t.dtype) for v, t in zip(values, types, strict=True)]


def check(program: Program, run: Emulator, arguments: Sequence[Array]) -> tuple[str, bool]:
    """What is wrong with the results, or ""; and whether they are excused because an operator overflows.

    Raises :class:`~prism_mlir.graph.errors.ExecutionError` where a check of the machine fails.
    """
    results = run(arguments)
    wanted = references(program, arguments)
    for out, got, reference in zip(program.results, results, wanted, strict=True):
        if reason := misjudged(to_float64(got, out.dtype), reference, out.dtype):
            return ("", True) if overflows(program, arguments) else (f"{out.name}: {reason}", False)
    return "", False


def misjudged(value: NDArray[np.float64], reference: Reference, dtype: DType) -> str:
    """What is wrong with a result, or "". A result within its bound of infinity may be infinite."""
    exact, bound = reference.exact, reference.bound
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = to_float64(from_float64(exact, dtype), dtype)
        largest = to_float64(from_float64(np.abs(exact) + bound, dtype), dtype)
        near = (
            (np.isfinite(rounded) & (np.abs(value - exact) <= bound))
            | (value == rounded)
            | (np.isnan(value) & np.isnan(exact))
        )
        border = ~np.isfinite(largest) & np.isinf(value) & (np.sign(value) == np.sign(exact))
    unbounded = np.isfinite(rounded) & ~np.isfinite(bound)
    wrong = ~(near | border | unbounded)
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} wrong, {list(at)} is {value[at]:.6g}, not {exact[at]:.6g} +- {bound[at]:.3g}"


def overflows(program: Program, arguments: Sequence[Array]) -> bool:
    """Whether some operator's value is finite in f64, and is not in the type that the program stores it in (or in f32)."""
    exact = [np.asarray(v) for v in program.views(arguments)]
    stored = list(exact)
    with np.errstate(all="ignore"):
        for node in program.nodes:
            pair = []
            for values in (exact, stored):
                operands = [values[v] for v in node.operands]
                if node.shift is not None:
                    argument = scores(node, operands[0])
                    pair.append(np.exp(argument - argument.max(axis=node.shift, keepdims=True)))
                else:
                    pair.append(np.asarray(evaluate_op(node.op, operands, operands[0].ndim, Reals())))
            exact.append(pair[0])
            stored.append(to_float64(from_float64(pair[1], node.dtype), node.dtype))
            if (np.isfinite(exact[-1]) & ~np.isfinite(stored[-1])).any():
                return True
    return False
