"""The page on inputs lists what the readers' tables hold."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import pytest

from prism_mlir.frontend.raise_function import RULES as RAISED
from prism_mlir.frontend.regions import REDUCTIONS, TRUTHS
from prism_mlir.frontend.scalar_body import BINARY, NO_OPERATOR, UNARY
from prism_mlir.frontend.stablehlo.convert import RULES
from prism_mlir.frontend.stablehlo.scalars import ELEMENTWISE

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "inputs.md"
LISTS: dict[str, Collection[str]] = {
    "tensors": RAISED,
    "reductions": {*REDUCTIONS, *TRUTHS},
    "no operator": NO_OPERATOR,
    "functions": UNARY,
    "arithmetic": BINARY,
    "stablehlo elementwise": ELEMENTWISE,
    "stablehlo tensors": RULES,
}


@pytest.fixture(scope="module")
def lists() -> dict[str, list[str]]:
    """Names in each paragraph that follows a mark, by mark."""
    found = re.findall(r"<!-- list: (.*) -->\n((?:.+\n)+)", PAGE.read_text())
    return {name: re.findall(r"`([^`]+)`", paragraph) for name, paragraph in found}


def test_every_list_is_known(lists: dict[str, list[str]]) -> None:
    assert set(lists) == set(LISTS)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_what_the_table_holds(name: str, lists: dict[str, list[str]]) -> None:
    assert sorted(lists[name]) == sorted(LISTS[name])
