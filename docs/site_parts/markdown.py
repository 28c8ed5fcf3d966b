"""Pieces of Markdown that made pages are built of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

ROLE = re.compile(r":(?:\w+:)?\w+:`~?([^`]+)`")


def plain(text: str) -> str:
    """Docstring text as Markdown: roles and double backticks become code."""

    def code(match: re.Match[str]) -> str:
        return f"`{match[1].rsplit('.', 1)[-1] if '~' in match[0] else match[1]}`"

    return re.sub(r"(?<!`)``([^`]+)``(?!`)", r"`\1`", ROLE.sub(code, text))


def doc_of(thing: object) -> str:
    """The docstring of a class or function, as Markdown."""
    return plain(inspect.cleandoc(getattr(thing, "__doc__", None) or ""))


def first_sentence(text: str) -> str:
    """The first paragraph of a docstring on one line."""
    return plain(" ".join(text.strip().split("\n\n")[0].split()))


def cell(text: object) -> str:
    """Text that can stand in a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; an empty text where there are no rows."""
    lines = ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines]) + "\n" if lines else ""


def code(text: object) -> str:
    """Inline code; nothing for nothing."""
    return f"`{text}`" if str(text) else ""
