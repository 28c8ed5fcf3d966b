"""Fusion rules on graphs whose groups are read off by eye."""

from __future__ import annotations

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import softmax_matmul_block
from prism_mlir.graph.ops import ADD, DIV, MUL, sum_, unary
from prism_mlir.graph.threads import thread_groups


def block(nodes: list[tuple[object, tuple[int, ...]]], outputs: tuple[int, ...], loop: str | None = None) -> BlockGraph:
    types = (TensorType((8, 8), DType.F16), TensorType((8, 8), DType.F16))
    return BlockGraph(("x",), loop, types, tuple(BlockNode(op, v) for op, v in nodes), outputs)  # type: ignore[arg-type]


A, B = Load(0, True), Load(1, True)
EXP, SILU = unary("exp(x)"), unary("x/(1 + exp(-x))")


def test_a_chain_fuses() -> None:
    """exp, mul, add in a row: one group, whatever lies between."""
    nodes = [(A, ()), (B, ()), (EXP, (0,)), (MUL, (2, 1)), (ADD, (3, 0))]
    assert thread_groups(block(nodes, (4,))) == ((2, 3, 4),)


def test_a_tree_fuses_into_its_root() -> None:
    nodes = [(A, ()), (B, ()), (EXP, (0,)), (SILU, (1,)), (MUL, (2, 3))]
    assert thread_groups(block(nodes, (4,))) == ((2, 3, 4),)


def test_a_tile_with_two_users_stays_apart() -> None:
    """exp feeds the sum as well as the division, as a softmax does."""
    nodes = [(A, ()), (EXP, (0,)), (sum_(1), (1,)), (DIV, (1, 2))]
    assert thread_groups(block(nodes, (3,))) == ()


def test_a_saved_tile_stays_apart() -> None:
    nodes = [(A, ()), (EXP, (0,)), (SILU, (1,))]
    assert thread_groups(block(nodes, (1, 2))) == ()


def test_stages_do_not_mix() -> None:
    """exp inside the loop, then an accumulator, then two operators after it."""
    nodes = [(Load(0), ()), (EXP, (0,)), (Accum(), (1,)), (SILU, (2,)), (MUL, (3, 2))]
    assert thread_groups(block(nodes, (4,), "i")) == ((3, 4),)


def test_a_value_used_twice_by_one_operator_fuses() -> None:
    nodes = [(A, ()), (EXP, (0,)), (MUL, (1, 1))]
    assert thread_groups(block(nodes, (2,))) == ((1, 2),)


def test_figure_1_has_no_chain() -> None:
    (node,) = softmax_matmul_block().custom
    assert thread_groups(node.block) == ()
