"""Axioms as data: what a rule is, and the small pattern language it is written in.

A pattern is an s-expression over the constructors of ``expr`` with variables: ``(Matmul (Part a row p) (Repl b p) row col)``.
What a variable stands for (tensor, data dim, parallel dim, text) follows from where it stands. Preconditions are

==================  ==================================================================================
``one v d``         dim ``d`` of ``v`` has size 1
``same a b d``      dim ``d`` of ``a`` and of ``b`` have the same size
``flat v d t``      ``v`` has the shape of ``t``, but size 1 along dim ``d``
``alike X Y``       patterns ``X`` and ``Y`` have the same shape
``differ d k``      two data dims, or two parallel dims, are not the same
``below d k``       data dim ``d`` comes before ``k``
``moves m d k``     the transpose or reshape ``m`` carries dim ``d`` of its operand, unchanged, to dim ``k``
==================  ==================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import lru_cache

from prism_mlir.graph.ops import OPS, Kind

Pattern = str | tuple["Pattern", ...]


class Sort(StrEnum):
    """What a variable of a pattern stands for."""

    TENSOR = "tensor"
    DIM = "dim"
    PARALLEL = "parallel"
    TEXT = "text"


_T, _D, _P, _S = Sort.TENSOR, Sort.DIM, Sort.PARALLEL, Sort.TEXT

BINARY_SYMBOLS = tuple(spec.symbol for spec in OPS.values() if spec.kind is Kind.BINARY)

SIGNATURES: dict[str, tuple[Sort, ...]] = {
    "Var": (_D,),
    "Part": (_T, _D, _P),
    "Comb": (_T, _D, _P),
    "Red": (_T, _P),
    "RedMax": (_T, _P),
    "RedMin": (_T, _P),
    "Repl": (_T, _P),
    "Unrepl": (_T, _P),
    "Matmul": (_T, _T, _D, _D),
    "Unary": (_T, _S),
    **dict.fromkeys(BINARY_SYMBOLS, (_T, _T)),
    "Sum": (_T, _D),
    "Keep": (_T, _T, _S),
    "ReduceMax": (_T, _D),
    "ReduceMin": (_T, _D),
    "Transpose": (_T, _S),
    "Reshape": (_T, _S),
    "Constant": (_S, _S),
}
MOVE_SYMBOLS = ("Transpose", "Reshape")


class Monoid(StrEnum):
    """How a partial result becomes a whole one: the relation a rule concludes instead of an equality."""

    SUM = "Red"
    MAX = "RedMax"
    MIN = "RedMin"


def applied(op: str, a: str, b: str) -> str:
    """The pattern of an elementwise operator on two operands; its attributes are variables ``n``."""
    return f"({' '.join([op, a, b, *('n' for sort in SIGNATURES[op] if sort is not Sort.TENSOR)])})"


@dataclass(frozen=True, slots=True)
class Rule:
    """An axiom, directed.

    left, right: where ``left`` is found and ``when`` holds, ``left = right``; ``right`` has no variables but those of ``left``
                 and ``given``
    given:       partial results ``(e, p, t)``, each saying that the reduction of ``e`` over ``p`` is ``t``
    concludes:   if set, the rule says that the reduction of ``left`` over the parallel dim ``over`` is ``right``, not that they
                 are equal. Different tensors may have one total, so this is a relation and never an equality between tiles
    source:      row of the paper's Table 1, or why the rule is our own
    group:       ``core``; ``commute`` (needed across kernels only); or the name by which an arithmetic law is switched on
    exact:       whether it holds for uninterpreted unary functions; otherwise for real numbers only
    """

    name: str
    left: str
    right: str
    source: str
    when: tuple[str, ...] = ()
    given: tuple[tuple[str, str, str], ...] = ()
    given_monoid: Monoid = Monoid.SUM
    concludes: Monoid | None = None
    over: str = ""
    group: str = "core"
    exact: bool = True

    @property
    def reverse(self) -> Rule:
        """The same equality from right to left."""
        return replace(self, name=f"{self.name}-reverse", left=self.right, right=self.left)

    def to_dict(self) -> dict[str, object]:
        """The rule as JSON-able data, keys in a fixed order."""
        return {**asdict(self), "when": list(self.when), "given": [list(g) for g in self.given]}

    @property
    def symbols(self) -> frozenset[str]:
        """Constructors that must exist before the rule can match."""
        return frozenset(constructors(parse_pattern(self.left)))


@lru_cache(maxsize=4096)
def parse_pattern(text: str) -> Pattern:
    """Read an s-expression into nested tuples; atoms stay text."""
    tokens = re.findall(r'"[^"]*"|[()]|[^\s()]+', text)
    stack: list[list[Pattern]] = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    if len(stack) != 1 or len(stack[0]) != 1:
        raise ValueError(f"not one pattern: {text}")
    return stack[0][0]


def constructors(pattern: Pattern) -> Iterator[str]:
    """The constructors a pattern uses."""
    if isinstance(pattern, tuple):
        assert isinstance(pattern[0], str)
        yield pattern[0]
        for inner in pattern[1:]:
            yield from constructors(inner)


def variables(pattern: Pattern, sort: Sort = Sort.TENSOR) -> dict[str, Sort]:
    """Variables of a pattern and what they stand for, in order of appearance."""
    if isinstance(pattern, str):
        return {} if pattern.startswith('"') or pattern.isdigit() else {pattern: sort}
    found: dict[str, Sort] = {}
    assert isinstance(pattern[0], str)
    for inner, inner_sort in zip(pattern[1:], SIGNATURES[pattern[0]], strict=True):
        found |= variables(inner, inner_sort)
    return found


def split_condition(text: str) -> tuple[str, tuple[Pattern, ...]]:
    """``"alike (Mul a v) a"`` as its name and its arguments."""
    parsed = parse_pattern(f"({text})")
    assert isinstance(parsed, tuple) and isinstance(parsed[0], str)
    return parsed[0], parsed[1:]
