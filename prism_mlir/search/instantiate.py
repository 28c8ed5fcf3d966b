"""Mapping instantiation: from a symbolic graph to the graphs with concrete mappings worth proving (paper, section 3.4).

A mapping must be correct for all parallel sizes, hence also when all sizes but one are 1. So each parallel dim's choice is
tested alone first, and only choices that survive are combined. The test itself is handed in: search knows nothing of how
correctness is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from prism_mlir.graph.block import BlockGraph, Load
from prism_mlir.graph.dims import DimClass
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.symbols import GRID_NAMES
from prism_mlir.search.dim_match import match_dims
from prism_mlir.search.generate import idle_loads
from prism_mlir.search.limits import Funnel
from prism_mlir.search.mappings import Cut, Fixed, MappingSpace, combine, mapping_space, to_mapping

Accept = Callable[[KernelGraph, str], bool]
"""Could a graph be correct when only the named parallel dim has a size above 1?"""


def instantiate(
    graph: KernelGraph,
    accept: Accept,
    funnel: Funnel,
    input_dims: Sequence[Sequence[DimClass]] | None = None,
    max_candidates: int = 100_000,
    fixed: Fixed | None = None,
) -> Iterator[KernelGraph]:
    """Graphs with concrete mappings, in lexicographic order of their cuts.

    fixed: maps that were chosen during generation

    The graph has one graph-defined operator with symbolic mappings. Grid dims that cut nothing are left out of the result;
    a loop must cut something (a loop that repeats the same work is never worth having).
    """
    (node,) = graph.custom
    space = mapping_space(node.block, match_dims(node.block, input_dims))
    loop_cuts: list[Cut] = [()]
    if node.block.loop is not None:
        cuts = [c for c in space.cuts(loop=True) if c]
        if fixed is not None and fixed.fmap is not None:
            cuts = [c for c in cuts if to_mapping(space, [], c).fmap == fixed.fmap]
        loop_cuts = [c for c in cuts if _survives(graph, node, space, node.block.loop, c, accept, funnel)]
    elif not _survives(graph, node, space, "x", (), accept, funnel):  # wrong even where nothing is cut
        return
    grid_cuts = space.cuts(loop=False) if loop_cuts else []
    if fixed is not None:
        grid_cuts = [c for c in grid_cuts if fixed.fits_column(to_mapping(space, [c], ()))]
    grid_cuts = [c for c in grid_cuts if not c or _survives(graph, node, space, "x", c, accept, funnel)]
    twice = loaded_twice(node.block)
    for grid, loop in combine(grid_cuts, loop_cuts, len(node.block.grid)):
        if fixed is not None and not fixed.fits(to_mapping(space, grid, loop)):
            continue
        if twice and is_loaded_alike(twice, to_mapping(space, grid, loop)):
            funnel.count("rejected: a tensor loaded twice alike")
            continue
        if funnel.counts["mappings"] >= max_candidates:
            funnel.stop(f"candidates limit of {max_candidates}")
            return
        funnel.count("mappings")
        yield with_cuts(graph, node, space, [c for c in grid if c], loop)


def loaded_twice(block: BlockGraph) -> list[tuple[int, int]]:
    """Pairs of loads of one tensor, by their place in mappings: inside the loop, and outside it for use inside."""
    row = {k: n for n, k in enumerate(block.loads)}
    inside = {op.source: k for k in block.loads if isinstance(op := block.nodes[k].op, Load) and not op.invariant}
    idle = [
        (k, op)
        for k in idle_loads(block.nodes, block.stages, block.outputs)
        if isinstance(op := block.nodes[k].op, Load)
    ]
    return [(row[inside[op.source]], row[k]) for k, op in idle if op.source in inside]


def is_loaded_alike(pairs: Sequence[tuple[int, int]], mapping: Mapping) -> bool:
    """Whether both loads of a pair bring the same tile, so that one of them says it all."""
    return any(mapping.fmap[a] < 0 and mapping.imap[a] == mapping.imap[b] for a, b in pairs)


def _survives(
    graph: KernelGraph, node: CustomNode, space: MappingSpace, dim: str, cut: Cut, accept: Accept, funnel: Funnel
) -> bool:
    funnel.count("cuts tested alone")
    is_loop = dim == node.block.loop
    alone = with_cuts(graph, node, space, [] if is_loop else [cut], cut if is_loop else ())
    if accept(alone, dim):
        return True
    funnel.count("cuts refuted alone")
    return False


def with_cuts(graph: KernelGraph, node: CustomNode, space: MappingSpace, grid: Sequence[Cut], loop: Cut) -> KernelGraph:
    block: BlockGraph = replace(node.block, grid=GRID_NAMES[: len(grid)])
    custom = replace(node, block=block, mapping=to_mapping(space, grid, loop))
    return replace(graph, nodes=tuple(custom if n is node else n for n in graph.nodes))
