"""What choosing came to: the schedule that was built, the space it was chosen from, and what else was considered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.codegen.compile import CompiledKernel
from prism_mlir.codegen.external import PtxasReport
from prism_mlir.compiler.ranking import Ranking
from prism_mlir.graph.data import schedule_from_data, schedule_to_data
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.choose import Choice, Ranked
from prism_mlir.tune.profile import Profile

LISTED = 32  # candidates that are kept, best first


@dataclass(frozen=True, slots=True)
class Space:
    """The schedule space of all proved graphs, and how much of it was looked at.

    graphs:     proved graphs for which there is code
    raw:        points before any rule
    examined:   points looked at; all of them where ``exhaustive``
    valid:      points found that the target can run
    rejected:   how many points each rule refused
    turned:     other orientations of the best that were looked at as well
    """

    graphs: int
    raw: int
    examined: int
    exhaustive: bool
    valid: int
    rejected: tuple[tuple[str, int], ...]
    turned: int = 0

    @staticmethod
    def of(choice: Choice, graphs: int) -> Space:
        s = choice.sample
        return Space(graphs, s.raw, s.examined, s.exhaustive, len(s.points), s.rejected, choice.turned)

    def __str__(self) -> str:
        looked = "all looked at" if self.exhaustive else f"{self.examined:,} looked at"
        turned = f", the best turned in {self.turned} ways" if self.turned else ""
        return f"{self.raw:,} schedules of {self.graphs} graphs, {looked}, {self.valid:,} valid ones ranked{turned}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "graphs": self.graphs,
            "raw": self.raw,
            "examined": self.examined,
            "exhaustive": self.exhaustive,
            "valid": self.valid,
            "rejected": dict(self.rejected),
            "turned": self.turned,
        }

    @staticmethod
    def from_dict(data: Any) -> Space:
        """The inverse of :meth:`to_dict`. Raises :class:`InputError` where ``data`` is none."""
        try:
            numbers = [int(data[name]) for name in ("graphs", "raw", "examined", "valid")]
            rejected = tuple((str(rule), int(n)) for rule, n in data["rejected"].items())
            turned = int(data.get("turned", 0))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not a schedule space: {type(error).__name__} {error}") from None
        graphs, raw, examined, valid = numbers
        return Space(graphs, raw, examined, data["exhaustive"] is True, valid, rejected, turned)


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate: which graph (by fingerprint), which schedule, and its modelled time in microseconds."""

    graph: str
    schedule: Schedule
    model_us: float

    @staticmethod
    def of(ranked: Sequence[Ranked]) -> tuple[Considered, ...]:
        """The best few of a ranking."""
        best = ranked[:LISTED]
        return tuple(Considered(r.scheduled.graph.fingerprint, r.scheduled.schedule, r.cost.total_us) for r in best)

    @staticmethod
    def name_of(scheduled: ScheduledGraph) -> str:
        """What a candidate is called in the records."""
        return _name(scheduled.graph.fingerprint, scheduled.schedule)

    @property
    def name(self) -> str:
        return _name(self.graph, self.schedule)

    def to_dict(self) -> dict[str, Any]:
        return {"graph": self.graph, "schedule": schedule_to_data(self.schedule), "model_us": self.model_us}

    @staticmethod
    def from_dict(data: Any) -> Considered:
        """The inverse of :meth:`to_dict`. Raises :class:`InputError` where ``data`` is none."""
        try:
            return Considered(str(data["graph"]), schedule_from_data(data["schedule"]), float(data["model_us"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a candidate: {type(error).__name__} {error}") from None


def _name(fingerprint: str, schedule: Schedule) -> str:
    return f"{fingerprint} {schedule.text}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The schedule that was built.

    graph:      the proved graph; the scheduled one is what code computes (see ``graph.scaled_tiles``)
    space:      what it was chosen from
    considered: the best few of the ranking
    refused:    schedules that ranked better and could not be built, with the reason
    ptxas:      what ptxas says of it, where there is one
    profile:    measured times, where a GPU decided
    recorded:   whether it was read from tuning records
    ranking:    more of the ranking, for people; none where the record has none
    """

    graph: KernelGraph
    ranked: Ranked
    kernel: CompiledKernel
    space: Space
    considered: tuple[Considered, ...]
    refused: tuple[tuple[str, str], ...]
    ptxas: PtxasReport | None
    profile: Profile | None = None
    recorded: bool = False
    ranking: Ranking | None = None
