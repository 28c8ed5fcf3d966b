"""Rules as plain equations between terms, the form in which a proof can be written down.

A rule that concludes something about a partial result, "the reduction of ``left`` over ``over`` is ``right``, given that the
reduction of ``e`` over ``p`` is ``t``", is the equation ``Red(left, over) = right`` with ``Red(e, p)`` in the place of ``t``.
Nothing is lost: the relation only keeps the e-graph from writing such terms down before they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_mlir.verify.rule import Pattern, Rule, constructors, parse_pattern


@dataclass(frozen=True, slots=True)
class Equation:
    """``left = right`` wherever ``rule.when`` holds."""

    rule: Rule
    left: Pattern
    right: Pattern


def equation(rule: Rule) -> Equation | None:
    """The equation of a rule; ``None`` where it says nothing (that a total is a total)."""
    left, right = parse_pattern(rule.left), parse_pattern(rule.right)
    for summand, p, total in rule.given:
        right = substitute(right, total, (rule.given_monoid.value, summand, p))
    if rule.concludes is not None:
        left = (rule.concludes.value, left, rule.over)
    return None if left == right else Equation(rule, left, right)


def substitute(pattern: Pattern, variable: str, value: Pattern) -> Pattern:
    """``pattern`` with every ``variable`` replaced."""
    if isinstance(pattern, str):
        return value if pattern == variable else pattern
    return (pattern[0], *(substitute(inner, variable, value) for inner in pattern[1:]))


def depth(pattern: Pattern) -> int:
    """Constructors on the longest way from the root to a variable."""
    return 0 if isinstance(pattern, str) else 1 + max((depth(p) for p in pattern[1:]), default=0)


__all__ = ["Equation", "constructors", "depth", "equation", "substitute"]
