"""Docstrings of this project as Sphinx shows them."""

from __future__ import annotations

import re
from typing import Any

SECTIONS = {"Args:": "param", "Attributes:": "param", "Raises:": "raises"}
ENTRY = re.compile(r"^(\w+(?:, \w+)*): +(\S.*)$")


def as_fields(_app: Any, _what: str, _name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Turn blocks of ``name: what it is`` lines into a list of parameters, in place.

    A block begins after an empty line; lines that are indented go on with the entry before. ``Args:`` and ``Raises:`` on a line
    of their own head blocks that are indented.
    """
    shown: list[str] = []
    field, inside, shift = "param", False, 0
    for k, line in enumerate(lines):
        if line in SECTIONS:
            field, inside, shift = SECTIONS[line], True, 4
            shown.append("")
            continue
        if shift and line.strip() and not line.startswith(" " * shift):
            field, inside, shift = "param", False, 0
        text = line[shift:]
        entry = ENTRY.match(text)
        if entry is not None and (inside or k == 0 or not lines[k - 1].strip()):
            shown.append(f":{field} {entry[1].replace(', ', ',')}: {entry[2]}")
            inside = True
        elif inside and text.strip() and (shift or text.startswith(" ")):
            shown.append("    " + text.strip())
        else:
            inside = False
            shown.append(text)
    lines[:] = shown
