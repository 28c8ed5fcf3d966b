"""Reading and writing of JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prism_mlir.graph.errors import InputError
from prism_mlir.tools.files import json_text, read_json

INFINITY = float("inf")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "1.5"),
        (INFINITY, '"inf"'),
        ({"a": [1, -INFINITY, None], "b": (2.0, True)}, '{"a": [1, "-inf", null], "b": [2.0, true]}'),
        ([float("nan"), "NaN"], '["nan", "NaN"]'),
    ],
)
def test_numbers_that_are_not_finite_are_strings(value: Any, text: str) -> None:
    assert json_text(value, indent=None) == text
    assert json.loads(json_text(value)) == json.loads(text)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_a_file_with_numbers_that_json_has_not_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"x": {name}}}')
    with pytest.raises(InputError, match=rf"a.json:1:1: error: .* the number {name}, write it as a string"):
        read_json(path)
