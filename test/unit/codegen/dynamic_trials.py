"""Trials of code for dynamic sizes: a random program, some of its dims dynamic, run at sizes up to those it was built for.

As ``kernel_trials``, with the same judge: f64 values of the program at the size of the run, and the running error analysis.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, field
from random import Random

from kernel_trials import (
    DRAWS,
    INPUT_SETS,
    Tally,
    _limits,
    _report,
    check,
    draw_arguments,
    draw_schedule,
)
from random_programs import KINDS, draw_program

from prism_mlir.codegen.compile import CompiledKernel, compile_graph, feasible
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.dynamic_shapes import dynamic_shapes
from prism_mlir.compiler.execute import Emulator
from prism_mlir.graph.code_graph import code_graph
from prism_mlir.graph.dims import dim_classes, shrink
from prism_mlir.graph.dynamic import PRIMES, DynamicProgram
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule


@dataclass
class Sized:
    """A program with dynamic dim classes. sizes: of all free classes; ``dynamic``: those that are known at launch."""

    program: Program
    sizes: dict[int, int]
    dynamic: tuple[int, ...]
    twin: DynamicProgram = field(init=False)

    def __post_init__(self) -> None:
        primes = PRIMES[: len(self.dynamic)]
        names = tuple(f"n{c}" for c in self.dynamic)
        self.twin = DynamicProgram(names, primes, self.at(primes))

    def at(self, sizes: tuple[int, ...]) -> Program:
        return shrink(self.program, self.sizes | dict(zip(self.dynamic, sizes, strict=True)))

    @property
    def largest(self) -> tuple[int, ...]:
        return tuple(self.sizes[c] for c in self.dynamic)

    def draw(self, rng: Random) -> tuple[int, ...]:
        return tuple(rng.choice([n, n - 1, 1, rng.randint(1, n), rng.randint(1, n)]) for n in self.largest)


def sized(program: Program, rng: Random) -> Sized:
    """The program with one or two of its dims dynamic; its inputs are whole arguments.

    Raises :class:`InputError` where there is none that could be.
    """
    classes = dim_classes(program)
    sizes = {c: classes.sizes[c] for c in classes.free}
    if not sizes:
        raise InputError("all dims have size 1")
    dynamic = tuple(sorted(rng.sample(sorted(sizes), min(len(sizes), rng.choice([1, 1, 2])))))
    return Sized(shrink(program, sizes), sizes, dynamic)


def build(made: Sized, graph: KernelGraph, schedule: Schedule) -> CompiledKernel:
    program, code = made.program, code_graph(made.program, graph)
    return compile_graph(program, code, schedule, dynamic=dynamic_shapes(program, code, made.twin))


def trial(seed: int, kernels: int = 4, kind: str | None = None) -> Tally:
    """Draw a program and dims of it, and run some of its kernels at several sizes. The same seed does the same."""
    rng = Random(seed)
    kind = list(KINDS)[seed % len(KINDS)] if kind is None else kind
    tally = Tally(kind, programs=1)
    try:
        made = sized(draw_program(rng, kind), rng)
    except InputError:
        return tally
    graphs = discover(made.program, _limits(made.program, rng), seed=seed).proved
    tally.unproved += not graphs
    for _ in range(kernels if graphs else 0):
        several = [g for g in graphs if len(g.nodes) > 1]
        graph = rng.choice(several if several and rng.random() < 0.5 else graphs)
        for schedule in (draw_schedule(made.program, graph, rng) for _ in range(DRAWS)):
            try:
                refusal = feasible(made.program, graph, schedule)
                if refusal is not None:
                    raise refusal
                compiled = build(made, graph, schedule)
            except (ScheduleError, UnsupportedError) as error:
                tally.refused[re.sub(r"\d+", "N", error.message)] += 1
                continue
            except Exception:
                tally.failures.append(_report(seed, made.program, graph, schedule, traceback.format_exc(limit=-4)))
                break
            tally.kernels += 1
            tally.two_kernels += len(graph.nodes) > 1
            _run(seed, made, (graph, schedule, compiled), rng, tally)
            break
    return tally


def _run(
    seed: int, made: Sized, built: tuple[KernelGraph, Schedule, CompiledKernel], rng: Random, tally: Tally
) -> None:
    graph, schedule, compiled = built
    for name in ("random", "random", rng.choice(INPUT_SETS)):
        sizes = made.draw(rng)
        run = Emulator(compiled.launch.at(sizes), {compiled.launch.kernels[0].ptx: compiled.ptx})
        program = made.at(sizes)
        tally.runs += 1
        try:
            reason, overflowed = check(program, run, draw_arguments(program, name, rng.randrange(2**32)))
        except Exception as error:
            reason, overflowed = f"{type(error).__name__}: {error}", False
        tally.overflowed += overflowed
        if reason:
            what = f"at {dict(zip(made.twin.names, sizes, strict=True))} on {name} inputs: {reason}"
            tally.failures.append(_report(seed, made.program, graph, schedule, what))
            return
