"""A scheduled graph: every size concrete, and the choices that code generation still has."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from enum import StrEnum

from prism_mlir.graph.kernel import KernelGraph


class Orientation(StrEnum):
    """Which side of a product takes the 16-row side of the tensor core.

    AUTO:     of each product the side that needs less padding; on a tie m
    UPRIGHT:  m, the rows of the result
    SIDEWAYS: n, its columns
    """

    AUTO = "auto"
    UPRIGHT = "upright"
    SIDEWAYS = "sideways"


@dataclass(frozen=True, slots=True, order=True)
class Schedule:
    """How one kernel graph runs.

    sizes:       number of parts along each parallel dim, as (name, size) pairs sorted by name
    warps:       warps a block
    stages:      buffers of the asynchronous copy pipeline (1: no overlap)
    orientation: of all products on tensor cores
    residency:   least blocks an SM must be able to hold, for which code is compiled with fewer registers; 0: not asked
    """

    sizes: tuple[tuple[str, int], ...]
    warps: int = 4
    stages: int = 2
    orientation: Orientation = Orientation.AUTO
    residency: int = 0

    @property
    def size_of(self) -> MappingABC[str, int]:
        return dict(self.sizes)

    @staticmethod
    def of(sizes: MappingABC[str, int], warps: int = 4, stages: int = 2) -> Schedule:
        return Schedule(tuple(sorted(sizes.items())), warps, stages)

    @property
    def text(self) -> str:
        """One line, as candidates are named; what is not asked is not said.

        >>> Schedule.of({"x": 4, "i": 2}).text, Schedule((), 1, 1, Orientation.SIDEWAYS, 3).text
        ('i=2 x=4 warps=4 stages=2', 'warps=1 stages=1 orientation=sideways residency=3')
        """
        words = [f"{name}={size}" for name, size in self.sizes]
        return " ".join(
            [*words, f"warps={self.warps}", f"stages={self.stages}", *self._asked("orientation={}", "residency={}")]
        )

    @property
    def phrase(self) -> str:
        """All but the sizes, for people.

        >>> Schedule(()).phrase, Schedule((), 1, 3, Orientation.UPRIGHT, 2).phrase
        ('4 warps, 2 stages', '1 warps, 3 stages, upright, for 2 blocks an SM')
        """
        return ", ".join([f"{self.warps} warps", f"{self.stages} stages", *self._asked("{}", "for {} blocks an SM")])

    def _asked(self, orientation: str, residency: str) -> list[str]:
        turned = [] if self.orientation is Orientation.AUTO else [orientation.format(self.orientation.value)]
        return turned + ([residency.format(self.residency)] if self.residency else [])


@dataclass(frozen=True, slots=True)
class ScheduledGraph:
    """A kernel graph with its schedule: what code generation takes."""

    graph: KernelGraph
    schedule: Schedule
