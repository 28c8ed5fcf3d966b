"""Graphs evaluated with parallel dims as array axes, against the program evaluated whole."""

from __future__ import annotations

import numpy as np
import pytest

from prism_mlir.graph.block import TensorType
from prism_mlir.graph.dims import dim_classes, shrink
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.evaluate import BlocksDisagree, comb, evaluate_graph, part
from prism_mlir.graph.examples import (
    attention,
    build_program,
    qk_attention,
    rms_norm,
    rms_norm_mlp,
    softmax_matmul,
    softmax_matmul_block,
    swiglu,
)
from prism_mlir.graph.fields import PrimeField, Reals
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping, tile_partitions
from prism_mlir.graph.ops import reshape, unary
from prism_mlir.graph.program import Program

FIELD = PrimeField()


def small_figure_1(mapping: Mapping | None = None) -> KernelGraph:
    big = softmax_matmul_block()
    (node,) = big.custom
    types = (TensorType((4, 6), DType.F16), TensorType((6, 5), DType.F16))
    block = type(node.block)(node.block.grid, node.block.loop, types, node.block.nodes, node.block.outputs)
    return KernelGraph(types, (CustomNode(block, (0, 1), mapping or node.mapping),), (2,))


def draw(shapes: list[tuple[int, ...]], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, FIELD.p, s, dtype=np.int64) for s in shapes]


@pytest.mark.parametrize("sizes", [{"x": 1, "i": 1}, {"x": 2, "i": 3}, {"x": 4, "i": 2}])
def test_figure_1_computes_softmax_matmul_at_every_size(sizes: dict[str, int]) -> None:
    program = softmax_matmul(4, 6, 5)
    inputs = draw([(4, 6), (6, 5)])
    (want,) = program.evaluate(inputs, FIELD)
    (got,) = evaluate_graph(small_figure_1(), sizes, inputs, FIELD)
    assert np.array_equal(want, got)


def test_reals_agree_with_numpy() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(4, 6)), rng.normal(size=(6, 5))
    e = np.exp(x)
    (got,) = evaluate_graph(small_figure_1(), {"x": 2, "i": 2}, [x, w], Reals())
    np.testing.assert_allclose(got, (e / e.sum(1, keepdims=True)) @ w, rtol=1e-13)


def test_missing_fmap_multiplies_by_the_loop_count() -> None:
    """With no fmap every iteration adds the whole product: both accumulators are d_i too large and only the ratio is right."""
    graph = small_figure_1(Mapping(imap=((0,), (-1,)), fmap=(-1, -1), omap=((0,),)))
    inputs = draw([(4, 6), (6, 5)])
    (want,) = softmax_matmul(4, 6, 5).evaluate(inputs, FIELD)
    (got,) = evaluate_graph(graph, {"x": 2, "i": 3}, inputs, FIELD)
    assert np.array_equal(want, got)  # a ratio of two sums, each three times too large


def test_blocks_that_store_different_values_to_one_place_are_refused() -> None:
    graph = small_figure_1(Mapping(imap=((0,), (-1,)), fmap=(1, 0), omap=((-1,),)))
    with pytest.raises(BlocksDisagree):
        evaluate_graph(graph, {"x": 2, "i": 3}, draw([(4, 6), (6, 5)]), FIELD)


def test_comb_undoes_part() -> None:
    tile = np.arange(2 * 1 * 1 * 12 * 5).reshape(2, 1, 1, 12, 5)
    cut = part(tile, 3, 1, 4)
    assert cut.shape == (2, 4, 1, 3, 5)
    assert np.array_equal(cut[:, 2, 0], tile[:, 0, 0, 6:9])
    assert np.array_equal(comb(cut, 3, 1), tile)


def test_partitions_follow_the_operators() -> None:
    (node,) = softmax_matmul_block().custom
    parts = tile_partitions(node.block, node.mapping)
    assert parts[2] == (frozenset("x"), frozenset("i"))  # exp inherits its operand's cut
    assert parts[3] == (frozenset("x"), frozenset())  # the summed dim is whole
    assert parts[7] == (frozenset("x"), frozenset())


@pytest.mark.parametrize(
    ("program", "count"),
    [(rms_norm(), 3), (rms_norm_mlp(), 3), (swiglu(), 3), (attention(), 4), (qk_attention(), 4), (softmax_matmul(), 3)],
)
def test_dim_classes_tell_equal_sizes_apart(program: Program, count: int) -> None:
    """rms_norm has rows, inner, cols although inner and cols are both 1024; attention has batch, head, length, V's cols.

    The two weights of rms_norm_mlp share inner, and their cols meet in the product.
    """
    assert len(dim_classes(program).sizes) == count


def test_shrunk_program_has_distinct_sizes() -> None:
    program = shrink(rms_norm(), {0: 2, 1: 3, 2: 5})
    assert [i.shape for i in program.inputs] == [(2, 3), (3, 5)]
    assert program.shapes[-1] == (2, 5)


def test_dims_that_are_merged_and_split_again_are_the_same() -> None:
    """Four classes: two dims, what they make together, and the rest."""
    nodes = [(reshape(12, 6), (0,)), (unary("exp(x)"), (1,)), (reshape(3, 4, 6), (2,))]
    program = build_program("split", {"X": (3, 4, 6)}, nodes)
    assert len(dim_classes(program).sizes) == 4
    assert shrink(program, {0: 2, 1: 5, 2: 7}).shapes == ((2, 5, 7), (10, 7), (10, 7), (2, 5, 7))
