"""The only place where IR and graph objects meet: both directions, nothing lost.

``ir_to_program(program_to_ir(p)) == p`` and ``ir_to_graph(graph_to_ir(g)) == g``; the other way round, SSA names, tensors'
names in mapping variables, thread graphs (they are inlined) and element types of tiles take their default form.
"""

from __future__ import annotations

from prism_mlir.dialects.sgraph.bridge.graphs import graph_to_ir, ir_to_graph, ir_to_schedule
from prism_mlir.dialects.sgraph.bridge.programs import ir_to_program, program_to_ir

__all__ = ["graph_to_ir", "ir_to_graph", "ir_to_program", "ir_to_schedule", "program_to_ir"]
