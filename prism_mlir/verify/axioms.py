"""The axiom sets, and the hash that names one in a verdict.

The checker of certificates keeps a copy of its own. Who changes a rule reads the difference and brings the copy up to date::

    python -m prism_mlir.verify.axioms > prism_mlir/certify/axioms.jsonl
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from functools import lru_cache

from prism_mlir.graph.errors import InputError
from prism_mlir.verify.axioms_algebra import ALGEBRA_RULES
from prism_mlir.verify.axioms_parallel import ELEMENTWISE, PARALLEL_RULES
from prism_mlir.verify.axioms_reduction import CONTRACTIONS, REDUCTION_RULES
from prism_mlir.verify.parallelized import Parallelized
from prism_mlir.verify.rule import Rule

ALL_RULES: tuple[Rule, ...] = (*ALGEBRA_RULES, *PARALLEL_RULES, *REDUCTION_RULES)

SPLITS: tuple[Parallelized, ...] = (*ELEMENTWISE, *CONTRACTIONS)
"""The axioms about how operators split over a parallel dim, from which most of the rules are derived."""

DEFAULT_GROUPS = (
    "core",
    "commute",
    "commutativity",
    "mul-associativity",
    "add-associativity",
    "fractions",
    "factoring",
)
"""On by default: what the paper lists, and the arithmetic that search itself assumes when it prunes (abstract expressions):
add and mul commute and associate, quotients are rearranged, and common factors taken out of sums (which only ever makes terms
smaller). Off: max and min associativity, the other direction of distributivity, and laws of known functions (``exp``,
``square``, ``twice``), which exact evaluation cannot see."""


def select(groups: Iterable[str] = DEFAULT_GROUPS) -> tuple[Rule, ...]:
    """The axioms of the named groups, in their order. Raises :class:`InputError` for an unknown group."""
    wanted, known = set(groups), {r.group for r in ALL_RULES}
    if wanted - known:
        raise InputError(f"no axioms called '{min(wanted - known)}', known are {', '.join(sorted(known))}")
    return tuple(r for r in ALL_RULES if r.group in wanted)


def known_functions(rules: Iterable[Rule]) -> frozenset[str]:
    """Texts of the unary functions that axioms name, such as ``exp(x)``; all others are unknown functions to them."""
    named = re.compile(r'\(Unary [^"]*"([^"]*)"')
    sides = (side for r in rules for side in (r.left, r.right, *(e for e, _, _ in r.given)))
    return frozenset(text for side in sides for text in named.findall(side))


def axiom_lines(rules: Iterable[Rule]) -> list[str]:
    """One JSON object for each rule, in the order given."""
    return [json.dumps(r.to_dict()) for r in rules]


def axiom_hash(rules: Iterable[Rule]) -> str:
    """16 hexadecimal digits that name a set of axioms, whatever their order."""
    return _hash(tuple(rules))


@lru_cache(maxsize=16)  # asked for with every verdict
def _hash(rules: tuple[Rule, ...]) -> str:
    return hashlib.sha256("\n".join(sorted(axiom_lines(rules))).encode()).hexdigest()[:16]


DEFAULT = select()


def main() -> None:
    """Print every axiom as a line of JSON: the copy that the checker of certificates keeps."""
    print("\n".join(axiom_lines(ALL_RULES)))


if __name__ == "__main__":
    main()
