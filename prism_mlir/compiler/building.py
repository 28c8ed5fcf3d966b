"""Code for several of the best schedules at once. Which is taken is decided by their order, not by which is ready first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prism_mlir.codegen.compile import CompiledKernel, compile_graph
from prism_mlir.compiler.task_pool import TaskPool
from prism_mlir.compiler.tasks import Context
from prism_mlir.graph.errors import CodegenError, UnsupportedError
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import ScheduledGraph


@dataclass(frozen=True, slots=True)
class Refused:
    """A schedule that could not be built, and why."""

    reason: str


def compile_each(
    pool: TaskPool, program: Program, schedules: Iterable[ScheduledGraph], arch: str
) -> Iterator[CompiledKernel | Refused]:
    """What becomes of each schedule, in order; as many are compiled ahead as the pool has processes.

    ``ptxas`` is left to whoever asks, since machines of a cluster may have it or not.
    """
    return pool.ordered(Context(program), _compile, ((s, arch) for s in schedules), at_once=pool.jobs)


def _compile(program: Program, scheduled: ScheduledGraph, arch: str) -> CompiledKernel | Refused:
    try:
        return compile_graph(program, scheduled.graph, scheduled.schedule, arch)
    except (ScheduleError, CodegenError, UnsupportedError) as error:
        return Refused(error.message)
