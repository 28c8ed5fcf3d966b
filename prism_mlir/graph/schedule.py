"""A scheduled graph: every size concrete, and the choices that code generation still has."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass

from prism_mlir.graph.kernel import KernelGraph


@dataclass(frozen=True, slots=True, order=True)
class Schedule:
    """How one kernel graph runs.

    sizes:  number of parts along each parallel dim, as (name, size) pairs sorted by name
    warps:  warps a block
    stages: buffers of the asynchronous copy pipeline (1: no overlap)
    """

    sizes: tuple[tuple[str, int], ...]
    warps: int = 4
    stages: int = 2

    @property
    def size_of(self) -> MappingABC[str, int]:
        return dict(self.sizes)

    @staticmethod
    def of(sizes: MappingABC[str, int], warps: int = 4, stages: int = 2) -> Schedule:
        return Schedule(tuple(sorted(sizes.items())), warps, stages)


@dataclass(frozen=True, slots=True)
class ScheduledGraph:
    """A kernel graph with its schedule: what code generation takes."""

    graph: KernelGraph
    schedule: Schedule
