"""Docstrings of this project as Sphinx shows them."""

from __future__ import annotations

import re
from typing import Any

ENTRY = re.compile(r"^(\w+): +(\S.*)$")


def as_fields(_app: Any, _what: str, _name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Turn blocks of ``name: what it is`` lines into a list of parameters, in place.

    A block begins after an empty line; lines that are indented go on with the entry before.
    """
    shown: list[str] = []
    inside = False
    for k, line in enumerate(lines):
        entry = ENTRY.match(line)
        starts = entry is not None and (inside or k == 0 or not lines[k - 1].strip())
        if starts and entry is not None:
            shown.append(f":param {entry[1]}: {entry[2]}")
            inside = True
        elif inside and line.startswith(" "):
            shown.append("    " + line.strip())
        else:
            inside = False
            shown.append(line)
    lines[:] = shown
