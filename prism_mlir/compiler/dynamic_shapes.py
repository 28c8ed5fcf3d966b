"""Which dims of a kernel graph have a size that is known only at launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prism_mlir.graph.dynamic import DynamicProgram, DynamicShapes
from prism_mlir.graph.extent import Extent
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.verify.fit import fit


def dynamic_shapes(program: Program, graph: KernelGraph, dynamic: DynamicProgram) -> DynamicShapes:
    """What is dynamic of a graph for code. program: ``dynamic`` at the sizes for which code is made, all above 1.

    Raises what :func:`~prism_mlir.verify.fit.fit` raises.
    """
    extents = dynamic.classes(program)

    def length(factors: Sequence[int]) -> Extent:
        result = Extent(1)
        for c in factors:
            result = result * extents[c]
        return result

    found: Mapping[tuple[int, int], tuple[Extent, ...]] = {
        place: tuple(length(f) for f in row) for place, row in fit(graph, program).dims.items()
    }
    dims = {place: row for place, row in found.items() if place[0] >= 0}
    values = {place[1]: row for place, row in found.items() if place[0] < 0}
    return DynamicShapes(dynamic.names, dims, values, dynamic.inputs(), dynamic.outputs())
