"""``// expected-error {{...}}`` comments, with mlir-opt's meaning: what is expected must come, and nothing else may.

A comment speaks of its own line, or of ``@+1``, ``@-2``, ``@above``, ``@below``. The text must occur in the message; with
``expected-error-re``, what stands inside further ``{{...}}`` is a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from prism_mlir.graph.errors import Location, PrismError

_EXPECTED = re.compile(
    r"expected-(?P<kind>error|warning|note|remark)(?P<re>-re)? *"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))? *\{\{(?P<text>(?:\{\{.*?\}\}|.)*?)\}\}(?!\})"
)


@dataclass(frozen=True, slots=True)
class Expected:
    """An expected diagnostic. ``line`` is 0 where its place does not matter."""

    kind: str
    line: int
    pattern: re.Pattern[str]
    text: str
    written: Location


def find_expected(text: str, filename: str) -> list[Expected]:
    """The expectations that a text's comments state."""
    found: list[Expected] = []
    for number, line in enumerate(text.split("\n"), 1):
        _, comment, rest = line.partition("//")
        for match in _EXPECTED.finditer(rest) if comment else ():
            column = line.index("//") + 3 + match.start()
            pattern = _regex(match["text"]) if match["re"] else re.escape(match["text"])
            found.append(
                Expected(
                    match["kind"],
                    _target(number, match["where"]),
                    re.compile(pattern),
                    match["text"],
                    Location(filename, number, column),
                )
            )
    return found


def _target(line: int, where: str | None) -> int:
    match where:
        case None:
            return line
        case "above":
            return line - 1
        case "below":
            return line + 1
        case "unknown":
            return 0
        case _:
            return line + int(where)


def _regex(text: str) -> str:
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(f"(?:{part})" if k % 2 else re.escape(part) for k, part in enumerate(parts))


def mismatches(expected: Sequence[Expected], produced: Sequence[PrismError], filename: str) -> list[str]:
    """One line for every diagnostic that came and was not expected, or was expected and did not come."""
    open_ = list(expected)
    complaints: list[str] = []
    for error in produced:
        place = error.location or Location(filename)
        message = error.message if error.hint is None else f"{error.message}, {error.hint}"
        hit = next(
            (e for e in open_ if e.kind == "error" and e.line in (0, place.line) and e.pattern.search(message)), None
        )
        if hit is None:
            complaints.append(f"{place}: error: unexpected error: {message}")
        else:
            open_.remove(hit)
    complaints += [f'{e.written}: error: expected {e.kind} "{e.text}" was not produced' for e in open_]
    return complaints
