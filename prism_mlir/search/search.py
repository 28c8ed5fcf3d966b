"""The search as one lazy stream: program in, graphs with concrete mappings out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prism_mlir.graph.block import BlockGraph
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import abstract_target
from prism_mlir.search.branches import Walk, count_branches, take_branches
from prism_mlir.search.generate import load_stages
from prism_mlir.search.instantiate import Accept
from prism_mlir.search.kernel_generate import Saved
from prism_mlir.search.limits import OUT_OF_TIME, Funnel, SearchLimits, TimedFunnel
from prism_mlir.search.parallel import Pool, parts_of_branches, parts_of_sets
from prism_mlir.search.stages import Stage, Task, make_walk, search_set, use_of


def search(
    program: Program,
    limits: SearchLimits,
    funnel: Funnel,
    accept: Accept,
    clock: Callable[[], float] | None = None,
    pool: Pool | None = None,
) -> Iterator[KernelGraph]:
    """Graphs that may compute the program, with concrete mappings, in an order that depends on nothing but the input.

    accept: could a graph be correct when only the named parallel dim has a size above 1? (see ``instantiate``)
    clock:  a monotonic clock in seconds, for ``limits.seconds``
    pool:   processes that search parts; graphs, order and counts are the same with any number of them, or none

    Where no graph with a loop is found that loads everything inside it, or few graphs are, structures with loads outside are
    searched as well, few of them first (``generate.load_stages``).
    """
    if limits.seconds is not None and clock is not None:
        funnel = TimedFunnel(funnel, clock, clock() + limits.seconds, f"{OUT_OF_TIME} of {limits.seconds:g} s")
    target = abstract_target(program)
    if not target.saturated:
        funnel.stop("abstract expressions did not saturate")
        funnel.leave("everything")
        return
    task = Task(program, accept, target)
    yield from _single_kernels(task, limits, funnel, pool)
    if limits.kernels > 1 or limits.library > 0:
        if funnel.complete:
            yield from _two_kernels(task, limits, funnel, pool)
        else:
            funnel.leave("all graphs of two kernels or with library operators")


def _single_kernels(task: Task, limits: SearchLimits, funnel: Funnel, pool: Pool | None) -> Iterator[KernelGraph]:
    for own, outside in load_stages(limits, len(task.program.inputs)):
        stage = Stage(own, outside)
        yield from walk_of(task, stage, funnel, pool).results(use_of(task, stage))
        enough = limits.suffice(funnel.counts["mappings with a loop"] > 0, funnel.counts["mappings"])
        if enough or not funnel.complete:
            return


def _two_kernels(task: Task, limits: SearchLimits, funnel: Funnel, pool: Pool | None) -> Iterator[KernelGraph]:
    stage, own = Stage(limits, first=True), funnel.part()
    own.counts["states"] = funnel.counts["states"]  # the limit is one for all
    groups: dict[tuple[Saved, ...], list[BlockGraph]] = {}
    for found in walk_of(task, stage, own, pool).results(use_of(task, stage)):
        groups.setdefault(found.saved, []).append(found.block)
    funnel.count("first kernels", own.counts["structures"])
    funnel.counts["states"] = own.counts["states"]
    funnel.count("saved sets", len(groups))
    for reason in own.stopped_by:
        funnel.stop(f"first kernels: {reason}")
    for what in own.left:
        funnel.leave(f"first kernels: {what}")
    if not funnel.complete:
        return
    sets = [(saved, tuple(first)) for saved, first in groups.items()]
    parts = None if pool is None else parts_of_sets(pool, limits, funnel, sets)
    for number, (saved, first) in enumerate(sets):
        part = None if parts is None else next(parts, None)
        if part is not None and funnel.takes(part.funnel, limits):
            funnel.add(part.funnel)
            yield from part.found
        elif funnel.complete:
            yield from search_set(task, limits, funnel, saved, first)
        if not funnel.complete:
            funnel.leave(f"{len(sets) - number} of {len(sets)} saved sets, the first of them perhaps in part")
            return


def walk_of(task: Task, stage: Stage, funnel: Funnel, pool: Pool | None) -> Walk:
    """The walk of a stage, taking its branches from the pool if there is one."""
    walk = make_walk(task, stage, funnel)
    if pool is not None:
        branches = count_branches(make_walk(task, stage, Funnel()))
        take_branches(walk, parts_of_branches(pool, stage, funnel, branches))
    return walk
