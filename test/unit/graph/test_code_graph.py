"""Graphs as code computes them: what is loaded once, and which operands of products stay f32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_mlir.compiler.discover import discover
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.code_graph import code_graph
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.examples import attention, build_program, qk_attention, rms_norm_mlp
from prism_mlir.graph.fields import Reals
from prism_mlir.graph.footprint import place
from prism_mlir.graph.hoist import hoist_loads
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping, tile_partitions
from prism_mlir.graph.ops import ADD, MATMUL, MUL, Kind, Op, unary
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits

SIZES = {"A": (8, 16), "B": (16, 32), "C": (32, 8)}


def chain(inner: DType = DType.F16) -> Program:
    """A (B C), with B C kept in a type of its own."""
    program = build_program("chain", dict(SIZES), [(MATMUL, (1, 2)), (MATMUL, (0, 3))])
    first, second = program.nodes
    return replace(program, nodes=(replace(first, dtype=inner), second))


def graphs(program: Program) -> list[KernelGraph]:
    return list(discover(program, SearchLimits(invariant_loads=True)).proved)


def products(block: BlockGraph) -> list[int]:
    return [k for k, n in enumerate(block.nodes) if isinstance(n.op, Op) and n.op.kind is Kind.MATMUL]


def sources(block: BlockGraph, node: int) -> set[int]:
    op = block.nodes[node].op
    return (
        {op.source} if isinstance(op, Load) else set().union(*(sources(block, v) for v in block.nodes[node].operands))
    )


def test_another_order_of_products_is_not_rounded() -> None:
    """Of A (B C) the source rounds B C. A graph that multiplies A B first must not round that, nor parts of B C or A B."""
    program, seen = chain(), set()
    for graph in graphs(program):
        made = code_graph(program, graph)
        (node,) = made.custom
        block, mapping = node.block, node.mapping
        assert mapping is not None
        first, second = products(block)
        parts = tile_partitions(block, mapping)
        order = sources(block, first)
        whole = not parts[block.nodes[first].operands[0]][-1] or isinstance(block.nodes[second - 1].op, Accum)
        computed = [v for v in block.nodes[second].operands if not isinstance(block.nodes[v].op, Load)]
        expected = set(computed) if order == {0, 1} or not whole else set()
        assert block.wide == expected, str(graph)
        seen.add((frozenset(order), whole))
        found = place(block, mapping, dict.fromkeys(block.parallel_dims, 1), 1)
        assert found.products[second].dtype is (DType.F32 if expected else DType.F16)
        assert found.products[first].dtype is DType.F16
    assert {frozenset({0, 1}), frozenset({1, 2})} == {order for order, _ in seen}
    assert {whole for _, whole in seen} == {True, False}


def test_what_the_source_keeps_in_f32_is_not_rounded() -> None:
    program = chain(DType.F32)
    for graph in graphs(program):
        (node,) = code_graph(program, graph).custom
        assert len(node.block.wide) == 1


def products_by_width(program: Program) -> set[tuple[bool, bool]]:
    """Of all products of all graphs: whether an operand is computed, and whether one of them stays wide."""
    found = set()
    for graph in graphs(program):
        for node in code_graph(program, graph).custom:
            for k in products(node.block):
                operands = set(node.block.nodes[k].operands)
                computed = {v for v in operands if not isinstance(node.block.nodes[v].op, Load)}
                assert operands & node.block.wide in (set(), computed)
                found.add((bool(computed), bool(operands & node.block.wide)))
    return found


def test_a_term_of_a_sum_is_not_rounded() -> None:
    """Of (D + A B) C the source rounds the sum. Where a graph multiplies terms by C, A B is not rounded: D may be nearly -A B."""
    sizes = {**SIZES, "D": (8, 32)}
    program = build_program("shifted", sizes, [(MATMUL, (0, 1)), (ADD, (4, 3)), (MATMUL, (5, 2))])
    seen = set()
    for graph in graphs(program):
        (node,) = code_graph(program, graph).custom
        operands = {v for k in products(node.block) for v in node.block.nodes[k].operands}
        computed = [v for v in operands if not isinstance(node.block.nodes[v].op, Load)]
        seen |= {(node.block.nodes[v].op == ADD, v in node.block.wide) for v in computed}
    assert (False, False) not in seen
    assert {(True, False), (False, True)} <= seen


@pytest.mark.parametrize(
    ("sizes", "nodes"),
    [
        ({"A": (8, 16), "B": (16, 32), "s": (8, 1)}, [(MATMUL, (0, 1)), (MUL, (3, 2))]),
        ({"A": (8, 16), "B": (16, 32), "s": (1, 32)}, [(MATMUL, (0, 1)), (MUL, (3, 2))]),
        ({"A": (8, 16), "B": (16, 32), "D": (8, 16)}, [(MATMUL, (0, 1)), (MATMUL, (2, 1)), (ADD, (3, 4))]),
    ],
)
def test_where_the_source_rounds_nothing_nothing_is(
    sizes: dict[str, tuple[int, ...]], nodes: list[tuple[Op, tuple[int, ...]]]
) -> None:
    """(A B) s = (A s) B = A (B s), and A B + D B = (A + D) B: rounded before the sum over k, these lose what cancels in it."""
    program = build_program("late", sizes, nodes)
    assert products_by_width(program) == {(False, False), (True, True)}


def test_factors_of_what_the_source_rounds_may_be_rounded() -> None:
    """The source rounds A s in (A s) B t, a sum of terms A s B t; graphs round A s, B t, A s t and so on."""
    sizes = {"A": (8, 16), "B": (16, 32), "s": (8, 1), "t": (1, 32)}
    program = build_program("scaled", sizes, [(MUL, (0, 2)), (MATMUL, (4, 1)), (MUL, (5, 3))])
    assert products_by_width(program) == {(False, False), (True, False)}


def test_another_order_of_products_is_not_rounded_to_tf32() -> None:
    """Where tf32 is allowed it stands for the roundings of the source: B C may be rounded, A B not."""
    program = chain(DType.F32)
    program = replace(program, inputs=tuple(replace(i, dtype=DType.F32) for i in program.inputs))
    seen = set()
    for graph in graphs(program):
        made = code_graph(program, graph, tf32=True)
        (node,) = made.custom
        first, second = products(node.block)
        assert first in node.block.tf32
        if sources(node.block, first) == {0, 1}:
            assert second not in node.block.tf32
        seen.add(second in node.block.tf32)
        assert code_graph(program, made) == made  # what was said once is kept
        assert not any(n.block.tf32 for n in code_graph(program, graph).custom)
    assert seen == {True, False}


@pytest.mark.parametrize("program", [attention(2, 8, 4, 4), qk_attention(2, 8, 4, 4), rms_norm_mlp(8, 64, 32)])
def test_what_goes_through_an_exponential_is_rounded(program: Program) -> None:
    for graph in discover(program).proved:
        assert not any(n.block.wide for n in code_graph(program, graph).custom)


def test_a_tile_that_every_iteration_needs_is_loaded_once() -> None:
    """Queries of attention: the loop runs over keys."""
    program, hoisted = attention(2, 8, 4, 4), 0
    rng = np.random.default_rng(2)
    inputs = [rng.standard_normal(i.shape) for i in program.inputs]
    (exact,) = program.evaluate(inputs, Reals())
    for graph in discover(program).proved:
        made = hoist_loads(graph)
        made.check()
        for before, after in zip(graph.custom, made.custom, strict=True):
            assert before.mapping is not None
            for k, fmap in zip(before.block.loads, before.mapping.fmap, strict=True):
                op, now = before.block.nodes[k].op, after.block.nodes[k].op
                assert isinstance(op, Load) and isinstance(now, Load)
                assert now.invariant == (op.invariant or fmap < 0)
                hoisted += now != op
        (got,) = evaluate_graph(made, dict.fromkeys(made.parallel_dims, 1), inputs, Reals())
        np.testing.assert_allclose(got, exact, rtol=1e-12)
        assert hoist_loads(made) is made
    assert hoisted


def test_what_is_accumulated_stays_in_the_loop() -> None:
    """The sum over iterations of a tile that none of them changes would be a tile times their number."""
    x = TensorType((4, 8), DType.F16)
    nodes = (BlockNode(Load(0)), BlockNode(Load(1)), BlockNode(unary("x**2"), (0,)), BlockNode(Accum(), (2,)))
    nodes = (*nodes, BlockNode(Accum(), (1,)), BlockNode(ADD, (3, 4)))
    mapping = Mapping(((0,), (0,)), (-1, 1), ((0,),))
    graph = KernelGraph((x, x), (CustomNode(BlockGraph(("g",), "i", (x, x), nodes, (5,)), (0, 1), mapping),), (2,))
    assert hoist_loads(graph) is graph
