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
    """Does nothing, for an example.

    Options:

    - ``limit``, ``least``: how many times,
      at most and at least
    - ``target``: which chip

    Before:

    ```mlir
    - ``no``: option
    ```
    """

    name = "sgraph-example"

    limit: int = 3
    least: int = 0
    target: str | None = None

    def apply(self, ctx: object, op: object) -> None:
        """Nothing."""


def test_a_page_holds_docstring_options_and_defaults(generator: ModuleType) -> None:
    text = generator.page(ExamplePass)
    assert "# `sgraph-example`\n\nDoes nothing, for an example.\n\nBefore:\n\n```mlir\n- ``no``: option\n```\n" in text
    assert "| `limit` | int | `3` | how many times, at most and at least |" in text
    assert "| `least` | int | `0` | how many times, at most and at least |" in text
    assert "| `target` | str \\| None | none | which chip |" in text


def test_a_pass_without_options_says_so(generator: ModuleType) -> None:
    assert generator.split_docstring("Text.") == ("Text.", {})


def test_every_option_of_every_pass_is_described(generator: ModuleType) -> None:
    missing = [
        f"{name}: {line.split('|')[1].strip()}"
        for name, text in generator.pages().items()
        for line in text.splitlines()
        if line.startswith("| `") and line.rstrip().endswith("|  |")
    ]
    assert missing == []


def test_committed_pages_match_the_passes(generator: ModuleType) -> None:
    wanted = generator.pages()
    committed = {path.name: path.read_text() for path in generator.PAGES.glob("*.md")}
    assert committed == wanted, "run `make docs` and commit docs/reference"
