"""Union-find matching against sympy's general question: are two tile sizes the same function of d?"""

from __future__ import annotations

from itertools import combinations

import pytest
import sympy

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.examples import softmax_matmul, softmax_matmul_block
from prism_mlir.graph.kernel import DimEquality, TileDim
from prism_mlir.graph.ops import ADD, MATMUL, Op, sum_
from prism_mlir.graph.symbols import mapping_variable, tile_size
from prism_mlir.search.dim_match import equality_variables, match_dims, sizes_equal

PARALLEL = ("x", "y", "i")
N = 12


def square(op: Op, operands: tuple[int, ...], more: tuple[BlockNode, ...] = ()) -> BlockGraph:
    types = (TensorType((N, N), DType.F16), TensorType((N, N), DType.F16))
    nodes = (BlockNode(Load(0)), BlockNode(Load(1)), BlockNode(op, operands), *more)
    return BlockGraph(("x", "y"), "i", types, nodes, (len(nodes) - 1,))


def test_figure_1_records_the_contracted_dim() -> None:
    (node,) = softmax_matmul_block(mapping=False).custom
    assert match_dims(node.block).equalities == (DimEquality(TileDim(0, 1), TileDim(1, 0)),)


@pytest.mark.parametrize("op", [MATMUL, ADD], ids=str)
@pytest.mark.parametrize("operands", [(0, 1), (1, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("after", [sum_(1), None], ids=str)
def test_union_find_agrees_with_sympy(op: Op, operands: tuple[int, int], after: Op | None) -> None:
    """Load dims share a group exactly when the recorded equalities make their tile sizes identical in d."""
    block = square(op, operands, () if after is None else (BlockNode(after, (2,)),))
    matching = match_dims(block)
    equal = [pair for e in matching.equalities for pair in equality_variables(e, PARALLEL)]
    for a, b in combinations([(k, d) for k in block.loads for d in (0, 1)], 2):
        same_group = matching.group[a[0]][a[1]] == matching.group[b[0]][b[1]]
        left, right = (tile_size(N, f"t{k}", d, PARALLEL) for k, d in (a, b))
        assert sizes_equal(left, right, PARALLEL, equal) == same_group


def test_sympy_sees_through_a_different_spelling() -> None:
    m = mapping_variable("X", 0, "x")
    d = sympy.Symbol("d_x", integer=True, positive=True)
    assert sizes_equal(12 / (m * d + 1 - m), 12 * (m / d + 1 - m), ["x"])  # equal for m = 0 and for m = 1
    assert not sizes_equal(12 / (m * d + 1 - m), 12 / (m * d + 1), ["x"])


def test_square_dims_are_told_apart_by_class() -> None:
    """X . W^T type-checks for a square W by size alone; by class it does not."""
    program = softmax_matmul(8, N, N)
    classes = dim_classes(program).of[:2]
    types = (TensorType((8, N), DType.F16), TensorType((N, N), DType.F16))
    nodes = (
        BlockNode(Load(0)),
        BlockNode(Load(1)),
        BlockNode(Op("transpose", perm=(1, 0)), (1,)),
        BlockNode(MATMUL, (0, 2)),
    )
    block = BlockGraph(("x",), "i", types, (*nodes, BlockNode(Accum(), (3,))), (4,))
    match_dims(block)
    with pytest.raises(InputError, match="different one in the program"):
        match_dims(block, classes)
