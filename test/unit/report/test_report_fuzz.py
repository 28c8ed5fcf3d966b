"""Whatever stands in a field, there is a page or an error with a place, and never anything else."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from report_inputs import DETAILS, LAUNCH, PTX, REPORT, changed, contents

from prism_mlir.graph.errors import InputError
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.page import render

VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "<b>",
    "x" * 3000,
    [],
    [[]],
    [0],
    {},
    {"x": 0},
]
SAMPLE = 150


def paths(value: Any, at: tuple[str, ...] = ()) -> Iterator[str]:
    """Every place of JSON data."""
    if at:
        yield ".".join(at)
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*at, str(name)))


def cases() -> list[tuple[str, str, Any]]:
    files = {"report": REPORT, "details": DETAILS, "launch": LAUNCH}
    every = [(name, path) for name, data in files.items() for path in paths(data) if ": " not in path]
    random = Random(0)
    return [(name, path, VALUES[random.randrange(len(VALUES))]) for name, path in random.sample(every, SAMPLE)]


def with_change(file: str, path: str, value: Any) -> Contents:
    if file == "launch":
        return contents(launch=Data(changed(LAUNCH, path, value), "launch.json: "), ptx={"softmax_matmul.ptx": PTX})
    report = changed(REPORT, path, value) if file == "report" else None
    return contents(report, changed(DETAILS, path, value) if file == "details" else None)


def test_the_unchanged_compilation_has_a_whole_page() -> None:
    assert "This section is missing" not in render(contents())


@pytest.mark.parametrize("half", [0, 1])
def test_any_value_in_any_field(half: int) -> None:
    for file, path, value in cases()[half::2]:
        try:
            assert render(with_change(file, path, value)).endswith("</html>")
        except InputError as error:
            assert file == "report" and error.message.startswith("report.json: "), (path, value)
