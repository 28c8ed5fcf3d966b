"""Abstract expressions: what is a subexpression of the program, and what is not."""

from __future__ import annotations

import pytest

from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.examples import attention, build_program, rms_norm, rms_norm_mlp
from prism_mlir.graph.ops import ADD, DIV, MATMUL, MUL, sum_, unary
from prism_mlir.search.abstract import abstract_target

ROWS, INNER, COLS = 0, 1, 2  # dim classes of a product X[rows, inner] . W[inner, cols], in order of first use


def test_normalisation_may_move_behind_the_product() -> None:
    """(X*r).W = (X.W)*r: both the product of X with W and its scaling are subexpressions."""
    target = abstract_target(rms_norm())
    x, w = target.inputs
    product = target.apply(MATMUL, (x, w), INNER)
    squares = target.apply(unary("x**2"), (x,))
    assert product is not None and squares is not None
    total = target.apply(sum_(1), (squares,), INNER)
    assert total is not None
    scale = target.apply(unary("rsqrt(x/1024 + 1e-06)"), (total,))
    assert scale is not None
    assert target.apply(MUL, (product, scale)) == target.roots[0]
    assert target.distance[product] == 1


def test_a_divisor_that_depends_on_the_contracted_dim_stays_inside() -> None:
    """(X/Y).W is not (X.W)/Y when Y has X's shape; the product X.W is no subexpression at all."""
    program = build_program("ratio", {"X": (8, 12), "Y": (8, 12), "W": (12, 12)}, [(DIV, (0, 1)), (MATMUL, (3, 2))])
    target = abstract_target(program)
    x, _, w = target.inputs
    assert target.apply(MATMUL, (x, w), dim_classes(program).of[0][1]) is None


def test_a_sum_over_another_dim_is_no_subexpression() -> None:
    target = abstract_target(attention())
    q, k, _ = target.inputs
    batch, head, length, _ = range(4)
    scores = target.apply(MATMUL, (q, k), head)
    assert scores is not None
    weights = target.apply(unary("exp(x)"), (scores,))
    assert weights is not None
    assert target.apply(sum_(2), (weights,), length) is not None
    assert target.apply(sum_(0), (weights,), batch) is None


def test_distributivity_over_add() -> None:
    """x.W + x.V = x.(W + V), both ways round."""
    program = build_program("two", {"X": (8, 12), "W": (12, 6), "V": (12, 6)}, [(ADD, (1, 2)), (MATMUL, (0, 3))])
    target = abstract_target(program)
    x, w, v = target.inputs
    left, right = target.apply(MATMUL, (x, w), INNER), target.apply(MATMUL, (x, v), INNER)
    assert left is not None and right is not None
    assert target.apply(ADD, (left, right)) == target.roots[0]


@pytest.mark.parametrize("factory", [rms_norm, rms_norm_mlp, attention])
def test_saturation_finishes(factory) -> None:  # type: ignore[no-untyped-def]
    assert abstract_target(factory()).saturated


def test_saturation_that_is_cut_short_says_so() -> None:
    assert not abstract_target(rms_norm_mlp(), max_nodes=50).saturated
