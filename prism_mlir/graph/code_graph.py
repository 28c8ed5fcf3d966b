"""A proved graph as code computes it: the same values, in an order that is fast and safe in floating point.

Loads that every iteration would repeat leave the loop (``hoist``), exponentials get references that keep them from overflowing
(``scaled_tiles``), and operands that must not be rounded are marked (``roundings``). Doing it twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.hoist import hoist_loads
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.graph.roundings import mark_wide
from prism_mlir.graph.scaled_tiles import scale_tiles


def code_graph(program: Program, graph: KernelGraph) -> KernelGraph:
    """The graph for code. Raises what :func:`~prism_mlir.graph.scaled_tiles.scale_tiles` raises."""
    return mark_wide(program, scale_tiles(program, hoist_loads(graph)))


def code_graphs(
    program: Program, graphs: Iterable[KernelGraph]
) -> tuple[dict[KernelGraph, KernelGraph], list[tuple[KernelGraph, str]]]:
    """Graphs for code, each with the proved graph it was made from; and graphs for which there is none, with the reason."""
    made: dict[KernelGraph, KernelGraph] = {}
    refused: list[tuple[KernelGraph, str]] = []
    for graph in graphs:
        try:
            made.setdefault(code_graph(program, graph), graph)
        except UnsupportedError as error:
            refused.append((graph, error.message))
    return made, refused
