"""Choose a schedule: enumerate or sample, cost, rank. Same input, same choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prism_mlir.graph.errors import CodegenError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import ScheduledGraph
from prism_mlir.tune.cost import Cost, cost
from prism_mlir.tune.parameters import Sample, sample
from prism_mlir.tune.targets import Target

DEFAULT_SAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Ranked:
    """A scheduled graph and what the model says of it."""

    scheduled: ScheduledGraph
    cost: Cost


@dataclass(frozen=True, slots=True)
class Choice:
    """Candidates from best to worst, and where they came from."""

    ranked: tuple[Ranked, ...]
    sample: Sample

    @property
    def best(self) -> Ranked:
        return self.ranked[0]


def rank(candidates: Sequence[ScheduledGraph], target: Target, program: Program | None = None) -> tuple[Ranked, ...]:
    """Candidates by modelled time.

    Ties, such as all that wait for memory alike, go to fewer bytes, then to less work of SMs and L2, of which the model sees only
    a part; then to the simpler graph, then by the graph's own order.
    """
    return tuple(sorted((Ranked(c, cost(c, target, program)) for c in candidates), key=_order))


def choose(
    graphs: Sequence[KernelGraph],
    target: Target,
    program: Program | None = None,
    *,
    samples: int = DEFAULT_SAMPLES,
    seed: int = 0,
) -> Choice:
    """The ranking of up to ``samples`` schedules of all graphs.

    Raises :class:`CodegenError` where no schedule fits the target, with the rules that stood in the way.
    """
    if not graphs:
        raise CodegenError("no proved graph to choose from", None, "raise the search limits")
    found = sample(graphs, target, samples, seed, program)
    if not found.points:
        why = ", ".join(f"{rule} ({count})" for rule, count in found.rejected)
        raise CodegenError(f"none of {found.examined} schedules of {len(graphs)} graphs fits {target.name}: {why}")
    return Choice(rank(found.points, target, program), found)


def _order(item: Ranked) -> tuple[float, int, float, int, str, object]:
    graph, schedule = item.scheduled.graph, item.scheduled.schedule
    nodes = sum(len(n.block.nodes) for n in graph.custom) + len(graph.nodes)
    return (item.cost.total_us, item.cost.dram_bytes, item.cost.work_us, nodes, graph.fingerprint, schedule)
