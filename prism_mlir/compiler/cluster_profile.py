"""Measure kernels on a cluster's GPU: one task measures them all, so that all times are of one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from prism_mlir.codegen.compile import CompiledKernel
from prism_mlir.compiler.building import Refused
from prism_mlir.compiler.task_pool import TaskPool
from prism_mlir.compiler.tasks import Context
from prism_mlir.graph.errors import ExecutionError
from prism_mlir.graph.program import Program
from prism_mlir.tune.profile import Samples


def measured_on_cluster(
    pool: TaskPool, program: Program, kernels: Sequence[CompiledKernel], tf32: bool
) -> Callable[[CompiledKernel, float | None], Samples]:
    """Measures kernels, and returns what tells the times of each, or raises :class:`ExecutionError` where it has none.

    Raises :class:`ExecutionError` where no worker declares a GPU, :class:`MissingToolError` where one does and has none.
    """
    times = pool.result(pool.submit(Context(program), _measure, tuple(kernels), tf32, gpu=True))
    known: dict[CompiledKernel, Samples | Refused] = dict(zip(kernels, times, strict=True))

    def tell(kernel: CompiledKernel, _: float | None) -> Samples:
        found = known[kernel]
        if isinstance(found, Refused):
            raise ExecutionError(found.reason)
        return found

    return tell


def _measure(program: Program, kernels: Sequence[CompiledKernel], tf32: bool) -> list[Samples | Refused]:
    from prism_mlir.compiler.gpu_profile import gpu_profiler

    found: list[Samples | Refused] = []
    with gpu_profiler() as profiler:
        measure = profiler(program, tf32=tf32)
        for kernel in kernels:
            best = min((median(s.cold) for s in found if isinstance(s, Samples)), default=None)
            try:
                found.append(measure(kernel, best))
            except ExecutionError as error:
                found.append(Refused(error.message))
    return found
