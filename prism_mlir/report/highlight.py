"""PTX as HTML, a line at a time, from Pygments' lexer."""

from __future__ import annotations

from functools import cache
from typing import Any

from markupsafe import Markup, escape

_CLASSES = (
    ("Token.Comment", "tc"),
    ("Token.Keyword", "tk"),
    ("Token.Literal.Number", "tn"),
    ("Token.Literal.String", "ts"),
    ("Token.Name.Label", "tl"),
    ("Token.Name.Function", "tl"),
)


def ptx_lines(text: str) -> list[Markup]:
    """One piece of HTML a line, everything escaped."""
    from pygments.lexers.ptx import PtxLexer

    lines: list[list[Markup]] = [[]]
    for kind, value in PtxLexer(stripnl=False, ensurenl=False).get_tokens(text):
        name = _class(kind)
        for n, piece in enumerate(value.split("\n")):
            if n:
                lines.append([])
            if piece:
                lines[-1].append(Markup('<span class="{}">{}</span>').format(name, piece) if name else escape(piece))
    found = [Markup("").join(line) for line in lines]
    return found[:-1] if text.endswith("\n") else found


@cache
def _class(kind: Any) -> str:
    name = str(kind)
    return next((short for prefix, short in _CLASSES if name.startswith(prefix)), "")
