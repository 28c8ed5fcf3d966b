"""Code for several of the best schedules at once. Which is taken is decided by their order, not by which is ready first."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass

from prism_mlir.codegen.compile import CompiledKernel, compile_graph
from prism_mlir.codegen.external import PtxasReport, ptxas_check
from prism_mlir.compiler.dynamic_shapes import dynamic_shapes
from prism_mlir.compiler.task_pool import TaskPool
from prism_mlir.compiler.tasks import Context
from prism_mlir.graph.dynamic import DynamicProgram
from prism_mlir.graph.errors import CodegenError, UnsupportedError
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import ScheduledGraph


@dataclass(frozen=True, slots=True)
class Built:
    """Code, and what ptxas says of it, where there is one."""

    kernel: CompiledKernel
    ptxas: PtxasReport | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A schedule that could not be built, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Builder:
    """What schedules are built for. dynamic: see :func:`~prism_mlir.compiler.select.select`"""

    program: Program
    arch: str
    dynamic: DynamicProgram | None = None


def build_each(pool: TaskPool, builder: Builder, schedules: Iterable[ScheduledGraph]) -> Generator[Built | Refused]:
    """What becomes of each schedule, in order; as many are compiled ahead as the pool has processes.

    Kernels whose registers spill to memory are refused. It is ptxas of this machine that decides: others may have none.
    """
    for compiled in pool.ordered(Context(builder), _compile, ((s,) for s in schedules), at_once=pool.jobs):
        yield compiled if isinstance(compiled, Refused) else _assembled(compiled, builder.arch)


def _compile(builder: Builder, scheduled: ScheduledGraph) -> CompiledKernel | Refused:
    program, graph, dynamic = builder.program, scheduled.graph, builder.dynamic
    try:
        shapes = None if dynamic is None else dynamic_shapes(program, graph, dynamic)
        return compile_graph(program, graph, scheduled.schedule, builder.arch, dynamic=shapes)
    except (ScheduleError, CodegenError, UnsupportedError) as error:
        return Refused(error.message)


def _assembled(kernel: CompiledKernel, arch: str) -> Built | Refused:
    try:
        report = ptxas_check(kernel.ptx, arch)
    except CodegenError as error:
        return Refused(error.message)
    if report is not None and report.spills:
        return Refused(f"{report.spills} bytes of registers spill to memory")
    return Built(kernel, report)
