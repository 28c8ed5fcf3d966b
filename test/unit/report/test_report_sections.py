"""What sections show, from small inputs whose counts were done on paper."""

from __future__ import annotations

import doctest

import pytest

from prism_mlir.graph.errors import InputError
from prism_mlir.report import words
from prism_mlir.report.data import Data
from prism_mlir.report.sections.funnel import Step, steps


def test_words_say_what_their_examples_say() -> None:
    assert doctest.testmod(words).failed == 0


@pytest.mark.parametrize(
    "value, read, message",
    [
        ({"a": {}}, lambda d: d["a"]["b"], "r.json: a has no 'b'"),
        ({"a": None}, lambda d: d["a"], "r.json:  has no 'a'"),
        ([1], lambda d: d["a"], "r.json:  is no object"),
        ({"a": [1, "x"]}, lambda d: d["a"].counts(), "r.json: a[1] is no count"),
        ({"a": True}, lambda d: d["a"].count(), "r.json: a is no count"),
        ({"a": -1}, lambda d: d["a"].count(), "r.json: a is no count"),
        ({"a": 3}, lambda d: d["a"].index(3), "r.json: a is 3, and there are 3"),
        ({"a": float("nan")}, lambda d: d["a"].number(), "r.json: a is not finite"),
        ({"a": 10**400}, lambda d: d["a"].number(), "r.json: a is too large"),
        ({"a": 1}, lambda d: d["a"].text(), "r.json: a is no text"),
        ({"a": 1}, lambda d: d["a"].list(), "r.json: a is no list"),
    ],
)
def test_what_is_not_there_is_named_with_its_place(value: object, read: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(Data(value, "r.json: "))  # type: ignore[operator]
    assert error.value.message == message.replace("  ", " ")


def test_bars_of_the_funnel_are_logarithmic() -> None:
    """1 is one unit, 10 are two, 1,000 are four: of 1,000 wide, a quarter a unit."""
    rows = [("all", "", 1000), ("some", "", 10), ("one", "", 1), ("none", "", 0)]
    assert steps(rows) == (
        Step("all", "", 1000, 1000, None),
        Step("some", "", 10, 500, 0.01),
        Step("one", "", 1, 250, 0.1),
        Step("none", "", 0, 0, 0.0),
    )


def test_a_step_that_grows_is_no_share_of_the_one_before() -> None:
    assert [s.share for s in steps([("few", "", 10), ("many", "", 1000)])] == [None, None]
