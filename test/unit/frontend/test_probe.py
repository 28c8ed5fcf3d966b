"""Texts that end the process upstream are errors with a place."""

from __future__ import annotations

import os
import signal

import pytest

from prism_mlir.frontend import probe
from prism_mlir.frontend.probe import check_survives
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.errors import InputError, LimitError, Location

TRANSPOSE = """func.func @f(%a: tensor<4x8xf16>) -> tensor<8x4xf16> {
  %e = tensor.empty() : tensor<8x4xf16>
  %t = linalg.transpose ins(%a : tensor<4x8xf16>) outs(%e : tensor<8x4xf16>) permutation = PERMUTATION
  return %t : tensor<8x4xf16>
}
"""


def test_a_failed_assertion_of_upstream_is_an_error_where_it_fails() -> None:
    read_module(TRANSPOSE.replace("PERMUTATION", "[1, 0]"), "a.mlir")
    with pytest.raises(InputError, match=r"cannot survive this text.*malformed here") as caught:
        read_module(TRANSPOSE.replace("PERMUTATION", "[0, -1e999]"), "a.mlir")
    column = TRANSPOSE.splitlines()[2].index("PERMUTATION") + 1
    place = caught.value.location
    assert place is not None and (place.file, place.line) == ("a.mlir", 3)
    assert column - 2 <= place.column <= column + len("[0, -1e999]")


def dies_at(word: str, number: int = signal.SIGABRT) -> probe.Reader:
    def read(text: str) -> None:
        if word in text:
            os.kill(os.getpid(), number)

    return read


def test_the_place_is_the_end_of_the_shortest_text_that_dies() -> None:
    parse = dies_at("bad")
    with pytest.raises(InputError) as caught:
        check_survives("first\nsecond bad third", "a", parse, parse)
    assert caught.value.location == Location("a", 2, len("second bad"))


def test_a_death_after_parsing_is_placed_at_the_top() -> None:
    with pytest.raises(InputError) as caught:
        check_survives("\n\ntext", "a", dies_at("text", signal.SIGSEGV), lambda _: None)
    assert caught.value.location == Location("a", 1, 1)
    assert "SIGSEGV" in caught.value.message


@pytest.mark.parametrize("number", [signal.SIGXCPU, signal.SIGKILL])
def test_ends_that_are_no_fault_of_the_text(number: int) -> None:
    with pytest.raises(LimitError):
        check_survives(f"text {number}", "a", dies_at("text", number), lambda _: None)


def test_exceptions_and_output_of_the_child_do_not_come_back(capfd: pytest.CaptureFixture[str]) -> None:
    def read(_: str) -> None:
        os.write(2, b"noise")
        raise InputError("left to the parent")

    check_survives("some text", "a", read, read)
    assert capfd.readouterr() == ("", "")


def test_what_survived_is_not_tried_again(tmp_path: object) -> None:
    calls = f"{tmp_path}/calls"

    def read(_: str) -> None:
        with open(calls, "a") as stream:  # noqa: PTH123
            stream.write("x")

    for kind in ("whole", "whole", "part", "other"):
        check_survives("a text of its own", "a", read, read, kind=kind, includes=("part",))
    with open(calls) as stream:  # noqa: PTH123
        assert stream.read() == "xx"  # whole, which includes part; and other
