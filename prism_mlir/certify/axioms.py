"""The axioms the checker believes: its own copy, one JSON object a line, and how they read as equations."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from prism_mlir.certify.terms import SYMBOLS

Pattern = str | tuple["Pattern", ...]


@dataclass(frozen=True, slots=True)
class Axiom:
    """``left = right`` where the conditions hold. exact: true of any functions, not of known ones only."""

    name: str
    left: Pattern
    right: Pattern
    when: tuple[tuple[Pattern, ...], ...]
    group: str
    exact: bool


@lru_cache(maxsize=1)
def lines() -> tuple[dict[str, Any], ...]:
    """The axioms as plain data."""
    text = files("prism_mlir.certify").joinpath("axioms.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


@lru_cache(maxsize=1)
def axioms() -> Mapping[str, Axiom]:
    """Every axiom, by name."""
    return {str(row["name"]): _axiom(row) for row in lines()}


def digest(groups: Iterable[str]) -> str:
    """16 hexadecimal digits that name the axioms of some groups."""
    wanted = set(groups)
    chosen = sorted(json.dumps(row) for row in lines() if row["group"] in wanted)
    return hashlib.sha256("\n".join(chosen).encode()).hexdigest()[:16]


def _axiom(row: Mapping[str, Any]) -> Axiom:
    """Partial results are read as what they mean: ``(e, p, t)`` says that ``t`` is the reduction of ``e`` over ``p``."""
    left, right = read_pattern(row["left"]), read_pattern(row["right"])
    for summand, p, total in row["given"]:
        right = _with(right, total, (row["given_monoid"], summand, p))
    if row["concludes"] is not None:
        left = (row["concludes"], left, row["over"])
    conditions = tuple(read_pattern(f"({c})") for c in row["when"])
    when = tuple(c for c in conditions if isinstance(c, tuple))
    return Axiom(row["name"], left, right, when, row["group"], row["exact"])


def _with(pattern: Pattern, variable: str, value: Pattern) -> Pattern:
    if isinstance(pattern, str):
        return value if pattern == variable else pattern
    return tuple(_with(p, variable, value) for p in pattern)


def read_pattern(text: str) -> Pattern:
    """``"(Part t d p)"`` as nested tuples."""
    stack: list[list[Pattern]] = [[]]
    for token in re.findall(r'"[^"]*"|[()]|[^\s()]+', text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    (pattern,) = stack[0]
    return pattern


def split(pattern: tuple[Pattern, ...]) -> tuple[str, tuple[Pattern, ...], tuple[str, ...]]:
    """A constructor's name, its tensor operands and its attributes."""
    symbol = str(pattern[0])
    count = SYMBOLS[symbol][0]
    return symbol, pattern[1 : 1 + count], tuple(str(a) for a in pattern[1 + count :])
