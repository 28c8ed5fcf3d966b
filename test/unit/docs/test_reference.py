"""The reference pages in docs/ say what the passes say."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from xdsl.passes import ModulePass

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_reference", DOCS / "generate_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class ExamplePass(ModulePass):
    """Does nothing, for an example."""

    name = "sgraph-example"

    # How many times,
    # at most.
    limit: int = 3

    target: str | None = None
    """Which chip."""

    def apply(self, ctx: object, op: object) -> None:
        """Nothing."""


def test_a_page_holds_docstring_options_and_defaults(generator: ModuleType) -> None:
    notes = generator.option_notes(ExamplePass)
    assert notes["limit"] == "How many times, at most."
    assert notes["target"] == "Which chip."
    text = generator.page(ExamplePass)
    assert "# `sgraph-example`" in text
    assert "Does nothing, for an example." in text
    assert "| `limit` | int | `3` |" in text
    assert "| `target` | str \\| None | none |" in text


def test_committed_pages_match_the_passes(generator: ModuleType) -> None:
    wanted = generator.pages()
    committed = {path.name: path.read_text() for path in generator.PAGES.glob("*.md")}
    assert committed == wanted, "run `make docs` and commit docs/reference"
