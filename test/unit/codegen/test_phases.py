"""Buffers that share room are never in use together: tiles that are read before the loop, and maxima that start there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_mlir.codegen.compile import compile_graph
from prism_mlir.compiler.accuracy import compare, reduction_length, references
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.execute import Emulator
from prism_mlir.frontend import import_file
from prism_mlir.graph.block import Load
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.ops import RUNNING_MAX
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule

SOURCE = Path(__file__).parents[2] / "inputs" / "paper" / "qk_attention_b2_g8_h1024_d128.linalg.mlir"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Attention of one query over normalised keys, with 2 heads and 64 keys: rows of maxima are a single element, and padded."""
    path = tmp_path_factory.mktemp("in") / "qk.mlir"
    path.write_text(SOURCE.read_text().replace("1024", "64").replace("16x", "2x"))
    return import_file(path)


@pytest.fixture(scope="module")
def graphs(program: Program) -> list[KernelGraph]:
    """Graphs of one kernel that load something before a loop which has a running maximum."""
    made, _ = code_graphs(program, list(discover(program).proved))
    found = []
    for graph in made:
        (node,) = graph.custom
        ops = [n.op for n in node.block.nodes]
        if RUNNING_MAX in ops and any(isinstance(op, Load) and op.invariant for op in ops):
            found.append(graph)
    assert len(found) > 4
    return found


@pytest.mark.parametrize("warps, stages, turns", [(1, 1, 1), (2, 1, 2), (1, 2, 4), (2, 2, 2)])
def test_nothing_races_where_buffers_share_room(
    program: Program, graphs: list[KernelGraph], warps: int, stages: int, turns: int
) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, i.arg_shape).astype(np.float16) for i in program.inputs]
    (wanted,) = references(program, inputs, ())
    for graph in graphs:
        (node,) = graph.custom
        schedule = Schedule.of({**dict.fromkeys(node.block.grid, 1), str(node.block.loop): turns}, warps, stages)
        kernel = compile_graph(program, graph, schedule)
        (got,) = Emulator(kernel.launch, {kernel.launch.kernels[0].ptx: kernel.ptx})(inputs)  # with all checks
        out = program.results[0]
        close = compare("random", out.name, out.dtype, got, got, wanted, reduction_length(program), as_source=False)
        assert close.ok, close.reason
