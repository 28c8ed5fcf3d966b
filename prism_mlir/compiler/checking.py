"""The check of emitted code: run it on the PTX machine, and compare it with the source program and with f64.

Each input set is a task. The first one tells which kernels are long, and others then run on the machine's compiled engine; as
many as there are processes begin together with it, since nobody would do anything else meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial

from prism_mlir.compiler.accuracy import Accuracy, compare, reduction_length, references
from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.input_sets import ArgumentType, InputSet, input_set_names
from prism_mlir.compiler.source_errors import input_set, more_errors
from prism_mlir.compiler.task_pool import TaskPool
from prism_mlir.compiler.tasks import Context, SentBare
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InaccurateError
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.graph.program import Program
from prism_mlir.runtime.cpu_jit import CpuProgram, compile_module

Kernel = tuple[str, str]  # PTX file and entry


@dataclass(frozen=True)
class Checker(SentBare):
    """What is checked against what; loaded when it is first needed, in each process once.

    source:  text of the source module, and ``function`` of it
    ptx:     file name -> PTX text, as the launches name them
    stored:  values that parts of the program leave for others, in the type the source has them in
    """

    source: str
    function: str | None
    program: Program
    launch: LaunchInfo
    ptx: Mapping[str, str]
    seed: int = 0
    tf32: bool = False
    stored: tuple[int, ...] = ()

    @cached_property
    def emulator(self) -> Emulator:
        return Emulator(self.launch, self.ptx)

    @cached_property
    def original(self) -> CpuProgram:
        """The source program on upstream's JIT."""
        return compile_module(self.source, self.function)

    @property
    def types(self) -> tuple[ArgumentType, ...]:
        return tuple(ArgumentType(a.shape, DType(a.element)) for a in self.original.arguments)

    def inputs(self, number: int, again: int = 0) -> InputSet | None:
        """``None`` where there are fewer sets. again: other inputs of the same kind"""
        return input_set(self.program, number, self.seed, self.types, again)


@dataclass(frozen=True, slots=True)
class CheckedSet:
    """Accuracy of each output on one input set. names: of all sets; long: kernels that passed all checks, and are long."""

    results: tuple[Accuracy, ...]
    names: tuple[str, ...]
    long: frozenset[Kernel]


def check(checker: Checker, pool: TaskPool, progress: Callable[[str], None] = lambda _: None) -> tuple[Accuracy, ...]:
    """Accuracy on all input sets, in their order, whatever the pool.

    Raises :class:`ExecutionError` where a check fails, :class:`InaccurateError` where a result is not accurate enough.
    """
    names, long = input_set_names(checker.program), frozenset[Kernel]()  # as far as can be told before the first set

    def calls() -> Iterator[tuple[int, frozenset[Kernel]]]:
        number = 0
        while number < len(names):
            yield number, long
            number += 1

    at_once = 1 if pool.here else min(pool.jobs, len(names))
    results: list[Accuracy] = []
    with closing(pool.ordered(Context(checker), _check_set, calls(), at_once=at_once)) as checked:
        progress("checking on random inputs")
        first: CheckedSet = next(checked)
        results += _accurate(first)
        names, long = first.names, first.long
        for name in names[1:]:
            progress(f"checking on {name} inputs")
            results += _accurate(next(checked))
    return tuple(results)


def _accurate(found: CheckedSet) -> tuple[Accuracy, ...]:
    """Results that are accurate enough. Raises :class:`InaccurateError` where one is not: no other set makes that good."""
    for result in found.results:
        if not result.ok:
            raise InaccurateError(f"emitted code is not accurate on {result.input_set} inputs: {result.reason}")
    return found.results


def _check_set(checker: Checker, number: int, long: frozenset[Kernel]) -> CheckedSet:
    checker.emulator.long = set(long)
    inputs = checker.inputs(number)
    if inputs is None:
        return CheckedSet((), (), frozenset())
    got = checker.emulator(inputs.arguments)
    theirs = checker.original(*inputs.arguments)
    wanted = references(checker.program, inputs.arguments, checker.stored, tf32=checker.tf32)
    length = reduction_length(checker.program)
    again = partial(checker.inputs, number)
    more = more_errors(checker.program, checker.original, again, checker.stored, tf32=checker.tf32)
    results = tuple(
        compare(inputs.name, out.name, out.dtype, g, t, w, length, as_source=not checker.tf32, more=m)
        for out, g, t, w, m in zip(checker.program.results, got, theirs, wanted, more, strict=True)
    )
    return CheckedSet(results, input_set_names(checker.program, checker.types), frozenset(checker.emulator.long))
