"""Dims that must be split alike, by hand and against NumPy's own reshape."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from prism_mlir.frontend.factor import Factors


def test_equal_sizes_become_one() -> None:
    f = Factors()
    a, b = f.new(6), f.new(6)
    assert f.unify([a], [b])
    assert f.leaves(a) == f.leaves(b)
    assert f.sizes([a]) == [6]


def test_size_one_has_no_factors() -> None:
    f = Factors()
    a, one, b = f.new(5), f.new(1), f.new(5)
    assert f.leaves(one) == []
    assert f.unify([a], [one, b, one])
    assert f.unify([one], [])


def test_a_split_reaches_everything_that_was_united_before_and_after() -> None:
    f = Factors()
    a, b, c = f.new(24), f.new(24), f.new(24)
    assert f.unify([a], [b])
    assert f.unify([b], [f.new(4), f.new(6)])
    assert f.unify([c], [a])
    assert f.unify([c], [f.new(2), f.new(12)])
    assert f.sizes([a]) == f.sizes([b]) == f.sizes([c]) == [2, 2, 6]


@pytest.mark.parametrize(("left", "right"), [([6, 4], [4, 6]), ([6], [7]), ([6], [6, 2]), ([3, 5], [5, 3])])
def test_products_without_common_factors(left: list[int], right: list[int]) -> None:
    f = Factors()
    assert not f.unify([f.new(s) for s in left], [f.new(s) for s in right])


def test_random_groupings_refine_to_the_product_of_all_boundaries() -> None:
    """Sizes are products of 2s, so every grouping is a set of boundaries and the refinement is their union."""
    rng = random.Random(5)
    for _ in range(200):
        bits = rng.randint(1, 8)
        cuts = [{0, bits, *(rng.randint(0, bits) for _ in range(rng.randint(0, 3)))} for _ in range(3)]
        f = Factors()
        shapes = [[f.new(2 ** (b - a)) for a, b in pairwise(sorted(c))] for c in cuts]
        assert f.unify(shapes[0], shapes[1])
        assert f.unify(shapes[2], shapes[0])
        union = sorted(set.union(*cuts))
        expected = [2 ** (b - a) for a, b in pairwise(union)]
        for shape in shapes:
            assert f.sizes(shape) == expected
            assert math.prod(f.sizes(shape)) == 2**bits
