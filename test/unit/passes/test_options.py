"""Options of passes that make no sense are refused by name, before anything runs."""

from __future__ import annotations

import pytest

from prism_mlir.graph.errors import InputError
from prism_mlir.passes import PASSES


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("sgraph-verify", "seed", -1),
        ("sgraph-verify", "iterations", 0),
        ("sgraph-verify", "nodes", -5),
        ("sgraph-instantiate-maps", "seed", -1),
        ("sgraph-instantiate-maps", "candidates", 0),
        ("sgraph-instantiate-parameters", "seed", -1),
        ("sgraph-instantiate-parameters", "samples", 0),
        ("sgraph-generate", "operators", 0),
        ("sgraph-generate", "grid_dims", 4),
        ("prism-superoptimize", "seed", -1),
    ],
)
def test_a_value_out_of_range_is_an_input_error(name: str, option: str, value: int) -> None:
    with pytest.raises(InputError, match=f"{option.replace('_', '-')} is {value}, it must be"):
        PASSES[name]()(**{option: value})
