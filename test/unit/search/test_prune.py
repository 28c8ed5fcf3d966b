"""Expression-guided pruning of finished graphs: keeps every generated graph, drops what computes something else."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from prism_mlir.graph.block import BlockNode
from prism_mlir.graph.examples import rms_norm, softmax_matmul, softmax_matmul_block, swiglu
from prism_mlir.graph.kernel import KernelGraph, LibraryNode, program_types
from prism_mlir.graph.ops import DIV, MATMUL, MUL, sum_, unary
from prism_mlir.graph.program import Program
from prism_mlir.search.generate import generate
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.prune import dead_end


@pytest.mark.parametrize("program", [softmax_matmul(64, 32, 16), rms_norm(), swiglu()], ids=lambda p: p.name)
def test_nothing_the_generator_finds_is_a_dead_end(program: Program) -> None:
    graphs = list(islice(generate(program, SearchLimits(operators=10, grid_dims=1), Funnel()), 20))
    assert graphs
    assert [dead_end(program, g) for g in graphs] == [None] * len(graphs)


@pytest.mark.parametrize(
    ("position", "node"),
    [
        (2, BlockNode(unary("x**2"), (0,))),
        (7, BlockNode(MUL, (6, 4))),
        (7, BlockNode(DIV, (4, 6))),
        (5, BlockNode(MATMUL, (0, 1))),
    ],
)
def test_one_wrong_operator_is_a_dead_end(position: int, node: BlockNode) -> None:
    program, graph = softmax_matmul(), softmax_matmul_block(mapping=False)
    assert dead_end(program, graph) is None
    (custom,) = graph.custom
    nodes = (*custom.block.nodes[:position], node, *custom.block.nodes[position + 1 :])
    changed = replace(graph, nodes=(replace(custom, block=replace(custom.block, nodes=nodes)),))
    assert dead_end(program, changed) is not None


def test_library_operators_are_followed() -> None:
    program = softmax_matmul(64, 32, 16)
    ops = [(unary("exp(x)"), (0,)), (MATMUL, (2, 1)), (sum_(1), (2,)), (DIV, (3, 4))]
    nodes = tuple(LibraryNode(op, operands) for op, operands in ops)
    graph = KernelGraph(program_types(program), nodes, (5,))
    assert dead_end(program, graph) is None
    reason = dead_end(program, replace(graph, outputs=(3,)))
    assert reason == "output 0 has another expression than the program's"
