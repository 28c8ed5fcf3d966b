"""The search as one lazy stream: program in, graphs with concrete mappings out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import abstract_target
from prism_mlir.search.generate import Generator
from prism_mlir.search.instantiate import Accept, instantiate
from prism_mlir.search.kernel_generate import generate_pairs
from prism_mlir.search.kernel_instantiate import PairInstantiator
from prism_mlir.search.limits import Funnel, SearchLimits


def search(
    program: Program,
    limits: SearchLimits,
    funnel: Funnel,
    accept: Accept,
    clock: Callable[[], float] | None = None,
) -> Iterator[KernelGraph]:
    """Graphs that may compute the program, with concrete mappings, in an order that depends on nothing but the input.

    accept: could a graph be correct when only the named parallel dim has a size above 1? (see ``instantiate``)
    clock:  a monotonic clock in seconds, for ``limits.seconds``

    Where no graph with a loop is found that loads everything inside it, structures with loads outside are searched as well.
    """
    deadline = None if limits.seconds is None or clock is None else clock() + limits.seconds
    target = abstract_target(program)
    if not target.saturated:
        funnel.stop("abstract expressions did not saturate")
        return

    def out_of_time() -> bool:
        if deadline is not None and clock is not None and clock() > deadline:
            funnel.stop(f"time limit of {limits.seconds} s")
        return not funnel.complete

    for invariant_loads in (False, True):
        stage = replace(limits, invariant_loads=invariant_loads or limits.invariant_loads)
        uniform = not invariant_loads or limits.invariant_loads  # the second stage does not repeat the first
        for structure in Generator(program, stage, funnel, target=target, uniform=uniform).run():
            if out_of_time():
                return
            yield from _mapped(program, structure, accept, funnel, limits)
        if funnel.counts["mappings with a loop"] or limits.invariant_loads or not funnel.complete:
            break
    if limits.kernels > 1 and funnel.complete:
        for pairs in generate_pairs(program, limits, funnel, target):
            for graph in PairInstantiator(program, pairs, accept, limits.grid_dims, funnel).run():
                if funnel.counts["mappings"] >= limits.candidates:
                    funnel.stop(f"candidates limit of {limits.candidates}")
                if out_of_time():
                    return
                funnel.count("mappings")
                funnel.count("mappings with two kernels")
                yield graph


def _mapped(
    program: Program, structure: KernelGraph, accept: Accept, funnel: Funnel, limits: SearchLimits
) -> Iterator[KernelGraph]:
    before = funnel.counts["mappings"]
    input_dims = dim_classes(program).of[: len(program.inputs)]
    yield from instantiate(structure, accept, funnel, input_dims, limits.candidates)
    found = funnel.counts["mappings"] - before
    if any(node.block.loop is not None for node in structure.custom):
        funnel.count("mappings with a loop", found)
    if not found:
        funnel.count("structures without a mapping")
