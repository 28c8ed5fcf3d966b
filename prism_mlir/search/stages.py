"""What a search consists of: walks over structures, saved sets, and what is made of each. Whoever searches a part calls these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prism_mlir.graph.block import BlockGraph
from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.kernel import KernelGraph, LibraryNode
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import AbstractTarget
from prism_mlir.search.branches import Use, Walk
from prism_mlir.search.generate import Generator
from prism_mlir.search.instantiate import Accept, instantiate
from prism_mlir.search.kernel_generate import FirstKernel, FirstStructure, Saved, second_kernels
from prism_mlir.search.kernel_instantiate import PairInstantiator
from prism_mlir.search.limits import Funnel, SearchLimits


@dataclass(frozen=True, slots=True)
class Task:
    """What is the same in all parts of a search."""

    program: Program
    accept: Accept
    target: AbstractTarget


@dataclass(frozen=True, slots=True)
class Stage:
    """A walk over structures. outside: see :class:`Generator`; first: structures are first kernels, of two."""

    limits: SearchLimits
    outside: int | None = None
    first: bool = False


class FirstWalk(Walk, FirstKernel):
    """First kernels, in branches."""


def make_walk(task: Task, stage: Stage, funnel: Funnel) -> Walk:
    """The walk of a stage, searching everything itself."""
    kind = FirstWalk if stage.first else Walk
    return kind(task.program, stage.limits, funnel, target=task.target, outside=stage.outside)


def use_of(task: Task, stage: Stage) -> Use:
    """What is made of a stage's structures."""
    return _first_structure if stage.first else lambda generator, graph: _mapped(task, generator, graph)


def _first_structure(generator: Generator, graph: KernelGraph) -> Iterator[FirstStructure]:
    assert isinstance(generator, FirstKernel)
    yield generator.structure_of(graph)


def _mapped(task: Task, generator: Generator, structure: KernelGraph) -> Iterator[KernelGraph]:
    funnel = generator.funnel
    before = funnel.counts["mappings"]
    input_dims = dim_classes(task.program).of[: len(task.program.inputs)]
    yield from instantiate(structure, task.accept, funnel, input_dims, generator.limits.candidates)
    found = funnel.counts["mappings"] - before
    if any(node.block.loop is not None for node in structure.custom):
        funnel.count("mappings with a loop", found)
    if not found:
        funnel.count("structures without a mapping")


def search_set(
    task: Task, limits: SearchLimits, funnel: Funnel, saved: tuple[Saved, ...], first: Sequence[BlockGraph]
) -> Iterator[KernelGraph]:
    """Graphs of two kernels that meet in one saved set."""
    pairs = second_kernels(task.program, limits, funnel, task.target, saved, first)
    if pairs is None or not funnel.complete:
        return
    for graph in PairInstantiator(task.program, pairs, task.accept, limits, funnel).run():
        if funnel.counts["mappings"] >= limits.candidates:
            funnel.stop(f"candidates limit of {limits.candidates}")
        if not funnel.complete:
            return
        funnel.count("mappings")
        library = any(isinstance(node, LibraryNode) for node in graph.nodes)
        funnel.count("mappings with library operators" if library else "mappings with two kernels")
        yield graph
