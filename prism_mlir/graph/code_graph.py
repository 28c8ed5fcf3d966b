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
from prism_mlir.graph.roundings import mark_tf32, mark_wide
from prism_mlir.graph.scaled_tiles import scale_tiles
from prism_mlir.graph.shifts import shifted_values


def code_graph(program: Program, graph: KernelGraph, *, tf32: bool = False) -> KernelGraph:
    """The graph for code. ``tf32``: products of f32 tensors may round their operands to tf32; a graph of which this was said
    once keeps it. Raises what :func:`~prism_mlir.graph.scaled_tiles.scale_tiles` raises, and :class:`UnsupportedError` for a
    part of a program that leaves an exponential to others whose shift cancels only there: alone it overflows.
    """
    if any(out.value in shifted_values(program) for out in program.outputs):
        raise UnsupportedError(f"'{program.name}' is cut inside a softmax")
    made = mark_wide(program, scale_tiles(program, hoist_loads(graph)))
    return mark_tf32(program, made) if tf32 else made


def code_graphs(
    program: Program, graphs: Iterable[KernelGraph], *, tf32: bool = False
) -> tuple[dict[KernelGraph, KernelGraph], list[tuple[KernelGraph, str]]]:
    """Graphs for code, each with the proved graph it was made from; and graphs for which there is none, with the reason."""
    made: dict[KernelGraph, KernelGraph] = {}
    refused: list[tuple[KernelGraph, str]] = []
    for graph in graphs:
        try:
            made.setdefault(code_graph(program, graph, tf32=tf32), graph)
        except UnsupportedError as error:
            refused.append((graph, error.message))
    return made, refused
