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


def columns(text: str) -> list[tuple[str, str]]:
    """Lines of two columns, the first of them code, as (first, second); empty where there are none.

    Columns are apart by two blanks or more, but for the longest entry.
    """
    found = re.findall(r"^(``[^`]+``)( +)(\S.*)$", text, flags=re.MULTILINE)
    return [(first, second) for first, _, second in found] if any(len(gap) > 1 for _, gap, _ in found) else []


def doc_of(thing: object) -> str:
    """The docstring of a class or function, as Markdown."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    for first, second in columns(text):
        text = re.sub(rf"^{re.escape(first)} +{re.escape(second)}$", rf"- {first}: {second}", text, flags=re.MULTILINE)
    return plain(text)


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
