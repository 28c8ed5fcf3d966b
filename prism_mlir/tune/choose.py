"""Choose a schedule: enumerate or sample, cost, rank, turn the best. Same input, same choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prism_mlir.graph.errors import CodegenError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import ScheduledGraph
from prism_mlir.tune.cost import Cost, cost
from prism_mlir.tune.parameters import parameter_space, variants
from prism_mlir.tune.sampling import Sample, sample
from prism_mlir.tune.targets import Target

DEFAULT_SAMPLES = 1000
TURNED = 8  # best schedules of which other orientations are looked at


@dataclass(frozen=True, slots=True)
class Ranked:
    """A scheduled graph and what the model says of it."""

    scheduled: ScheduledGraph
    cost: Cost


@dataclass(frozen=True, slots=True)
class Choice:
    """Candidates from best to worst, and where they came from: a sample, and ``turned`` other orientations of its best."""

    ranked: tuple[Ranked, ...]
    sample: Sample
    turned: int = 0

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
    """The ranking of up to ``samples`` plain schedules of all graphs, and of other orientations of the best that take less time.

    Where some graphs have fewer kernels than others, as many schedules of those alone are ranked as well: a search that is
    allowed more kernels finds many more graphs, and must not hide what it would have found with one.
    Resident blocks are never asked for: code that is not limited has, to the model, the registers that it needs.
    Raises :class:`CodegenError` where no schedule fits the target, with the rules that stood in the way.
    """
    if not graphs:
        raise CodegenError("no proved graph to choose from", None, "raise the search limits")
    found = sample(graphs, target, samples, seed, program, plain=True)
    fewest = min(len(g.nodes) for g in graphs)
    small = [g for g in graphs if len(g.nodes) == fewest]
    if len(small) < len(graphs) and not found.exhaustive:
        more = sample(small, target, samples, seed, program, plain=True)
        found = replace(found, points=tuple(dict.fromkeys((*more.points, *found.points))))
    if not found.points:
        why = ", ".join(f"{rule} ({count})" for rule, count in found.rejected)
        raise CodegenError(f"none of {found.examined} schedules of {len(graphs)} graphs fits {target.name}: {why}")
    ranked, looked, better = rank(found.points, target, program), 0, []
    for item in ranked[:TURNED]:
        turned = list(_turned(item, target, program))
        looked += len(turned)
        better += [other for other in turned if _times(other) < _times(item)]
    return Choice(tuple(sorted((*ranked, *better), key=_order)) if better else ranked, found, looked)


def _turned(item: Ranked, target: Target, program: Program | None) -> Iterator[Ranked]:
    """The same schedule in other orientations."""
    graph, schedule = item.scheduled.graph, item.scheduled.schedule
    space = replace(parameter_space(graph, program), residencies=(0,))
    for point in variants(space, schedule, target):
        scheduled = ScheduledGraph(graph, point)
        yield Ranked(scheduled, cost(scheduled, target, program))


def _times(item: Ranked) -> tuple[float, int, float]:
    return item.cost.total_us, item.cost.dram_bytes, item.cost.work_us


def _order(item: Ranked) -> tuple[float, int, float, int, str, object]:
    graph, schedule = item.scheduled.graph, item.scheduled.schedule
    nodes = sum(len(n.block.nodes) for n in graph.custom) + len(graph.nodes)
    return (*_times(item), nodes, graph.fingerprint, schedule)
