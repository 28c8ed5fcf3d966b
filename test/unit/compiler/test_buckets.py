"""Which sizes get code of their own, and how sizes are read."""

from __future__ import annotations

from itertools import product

import pytest

from prism_mlir.compiler.buckets import Bucket, buckets, exact_sizes, one_size
from prism_mlir.graph.errors import InputError


def test_one_size_has_powers_of_two_up_to_the_largest() -> None:
    found = buckets(["n"], 100)
    assert [b.high for b in found] == [(1,), (2,), (4,), (8,), (16,), (32,), (64,), (100,)]
    assert [b.low for b in found] == [(1,), (2,), (3,), (5,), (9,), (17,), (33,), (65,)]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("largest", [1, 2, 16, 17, 40])
def test_every_size_is_in_exactly_one_range(count: int, largest: int) -> None:
    found = buckets([f"n{k}" for k in range(count)], largest)
    sizes = list(product(range(1, largest + 1), repeat=count)) if count < 3 else [(1, 1, 1), (largest,) * 3]
    assert all(sum(s in b for b in found) == 1 for s in sizes)
    assert not any(tuple(n + largest for n in s) in b for b in found for s in sizes)


def test_several_sizes_have_few_buckets_each() -> None:
    assert len(buckets(["m", "n"], 8192)) == 16  # 16, 256, 4096 and 8192 of each
    assert buckets(["l", "m", "n"], 64) == (Bucket((1, 1, 1), (64, 64, 64)),)


def test_exact_sizes_come_first_and_are_not_repeated() -> None:
    found = buckets(["n"], 4, [(3,), (1,), (3,)])
    assert [(b.low, b.high) for b in found] == [((3,), (3,)), ((1,), (1,)), ((2,), (2,)), ((3,), (4,))]
    assert [b.exact for b in found] == [True, True, True, False]


def test_neighbours_join() -> None:
    assert Bucket((1,), (4,)).joined(Bucket((5,), (8,))) == Bucket((1,), (8,))
    assert Bucket((1,), (4,)).joined(Bucket((6,), (8,))) is None
    assert Bucket((1, 1), (4, 4)).joined(Bucket((1, 5), (4, 8))) == Bucket((1, 1), (4, 8))
    assert Bucket((1, 1), (4, 4)).joined(Bucket((5, 5), (8, 8))) is None


def test_sizes_as_the_command_line_gives_them() -> None:
    assert exact_sizes([], ["x[0]"], 64) == ()
    assert exact_sizes(["1, 8,64"], ["x[0]"], 64) == ((1,), (8,), (64,))
    assert exact_sizes(["x[0]=3", "y[1]=5,6"], ["x[0]", "y[1]"], 64) == ((3, 5), (3, 6))
    assert one_size(["y[1]=5", "x[0]=3"], ["x[0]", "y[1]"]) == (3, 5)


@pytest.mark.parametrize(
    ("texts", "names", "message"),
    [
        (["0"], ["x[0]"], "size 0 is outside of 1 to 64, sizes are positive"),
        (["65"], ["x[0]"], r"size 65 is outside of 1 to 64, raise the largest \(--max-size\)"),
        (["many"], ["x[0]"], "'many' are no sizes"),
        (["-1"], ["x[0]"], "'-1' are no sizes"),
        (["x=1"], ["x[0]"], r"there is no dynamic size 'x', there is: x\[0\]"),
        (["1"], ["x[0]", "y[0]"], r"which size\? there is: x\[0\], y\[0\]"),
        (["x[0]=1"], ["x[0]", "y[0]"], r"--sizes says nothing of y\[0\]"),
    ],
)
def test_sizes_that_make_no_sense(texts: list[str], names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        exact_sizes(texts, names, 64)


@pytest.mark.parametrize("texts", [[], ["1,2"]])
def test_one_number_is_needed_for_a_run(texts: list[str]) -> None:
    with pytest.raises(InputError, match=r"the dynamic size .*: x\[0\], give --size 'x\[0\]=13'"):
        one_size(texts, ["x[0]"])
