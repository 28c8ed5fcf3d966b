"""Axioms of what contracts: parallel matmul and sums, and partial sums.

``red`` has no inverse: many different tiles have the same total, so a term for "a partial sum of t" would make them all equal.
A partial sum is therefore a relation, "red(e, p) is t" (``Rule.concludes``): it starts where an operator contracts a dim
that p cuts, is carried by operators that are linear in ``e``, and ends at ``red``.

The paper's "compound parallelized sums" follow at every depth from three of these rules (sum of comb, sum of red, partial sum).
Its forms 6 to 8 are printed without the sum around them; their two sides then have different shapes (D/(d0 d1) and D/d0), so
here, as under the paper's forms 1 to 5, they hold under a sum over that dim.
"""

from __future__ import annotations

from dataclasses import replace

from prism_mlir.verify.axioms_parallel import PAPER
from prism_mlir.verify.parallelized import Parallelized
from prism_mlir.verify.rule import MOVE_SYMBOLS, Monoid, Rule

_WHAT = {Monoid.SUM: "sum", Monoid.MAX: "max", Monoid.MIN: "min"}
_LINEAR = "ours: a sum over p commutes with what is linear in its terms"


def _matmul() -> list[Parallelized]:
    """The paper's four ways to split a product, and copies of one."""
    product, split = "(Matmul a b row col)", PAPER + "parallelized matmul"

    def axiom(name: str, joined: str, a: str, b: str, join: str, source: str, *when: str) -> Parallelized:
        return Parallelized(name, joined, product, (("a", a), ("b", b)), join, source, when)

    return [
        axiom("matmul-rows", "matmul-comb-rows", "Part row", "Repl", "Comb row", f"{split} (row partition)"),
        axiom("matmul-columns", "matmul-comb-columns", "Repl", "Part col", "Comb col", f"{split} (column partition)"),
        axiom(
            "matmul-leading",
            "matmul-comb-leading",
            "Part d",
            "Part d",
            "Comb d",
            f"{split} (leading dim)",
            "below d row",
        ),
        axiom("partial-matmul", "matmul-comb-contracted", "Part col", "Part row", "Red", f"{split} (reduction)"),
        axiom("matmul-repl", "", "Repl", "Repl", "Unrepl", "ours: copies of a product"),
    ]


def _split_sums(op: str, red: Monoid) -> list[Parallelized]:
    name, what = op.lower(), _WHAT[red]
    whole, paper = f"({op} t d)", PAPER if red is Monoid.SUM else "ours, as for sums: "
    partial = f"partial-{what}"
    compound = f"{paper}compound parallelized {what}, one level (forms 1 to 5 at every depth)"
    return [
        Parallelized(
            f"{name}-part", f"{name}-comb", whole, (("t", "Part k"),), "Comb k", f"{paper}{what}, part and comb commute",
            ("differ d k",),
        ),
        Parallelized(f"{name}-repl", "", whole, (("t", "Repl"),), "Unrepl", f"{paper}{what} and repl commute"),
        Parallelized(partial, f"{name}-of-comb", whole, (("t", "Part d"),), red.value, compound),
    ]  # fmt: skip


CONTRACTIONS: tuple[Parallelized, ...] = (
    *_matmul(),
    *_split_sums("Sum", Monoid.SUM),
    *_split_sums("ReduceMax", Monoid.MAX),
    *_split_sums("ReduceMin", Monoid.MIN),
)
"""How what contracts splits over a parallel dim."""


def _sums(op: str, red: Monoid) -> list[Rule]:
    name, what = op.lower(), _WHAT[red]
    paper = PAPER if red is Monoid.SUM else "ours, as for sums: "
    return [
        Rule(
            f"{name}-of-red",
            f"({op} ({red} t p) d)",
            f"({red} ({op} t d) p)",
            f"{paper}compound parallelized {what}, form 1, for any tile",
        ),
        Rule(f"{name}-of-one", f"({op} t d)", "t", f"ours: a {what} of one element", ("one t d",)),
        Rule(
            f"{name}-{name}",
            f"({op} ({op} t d) k)",
            f"({op} ({op} t k) d)",
            f"ours: {what} over two dims commute",
            ("differ d k",),
        ),
    ]


def _copies() -> list[Rule]:
    """A sum over equal copies multiplies by their number; only a quotient of two such sums does not depend on it."""
    return [
        Rule(
            "div-of-copies",
            "(Div (Red (Repl a p) p) (Red (Repl b p) p))",
            "(Div a b)",
            "ours: accumulators without loop mapping count the iterations, above and below the line alike",
        )
    ]


def _partial_sums() -> list[Rule]:
    def carry(
        name: str, left: str, right: str, source: str = _LINEAR, when: tuple[str, ...] = (), two: bool = False
    ) -> Rule:
        given = (("e", "p", "t"), ("u", "p", "w")) if two else (("e", "p", "t"),)
        return Rule(f"partial-{name}", left, right, source, when, given, concludes=Monoid.SUM, over="p")

    rules = [
        Rule("partial-red", "(Red e p)", "t", "definition of a partial sum", given=(("e", "p", "t"),)),
        carry("matmul-left", "(Matmul e (Repl b p) row col)", "(Matmul t b row col)"),
        carry("matmul-right", "(Matmul (Repl a p) e row col)", "(Matmul a t row col)"),
        carry("mul-left", "(Mul e (Repl v p))", "(Mul t v)"),
        carry("mul-right", "(Mul (Repl v p) e)", "(Mul v t)"),
        carry("div", "(Div e (Repl v p))", "(Div t v)"),
        carry("keep", '(Keep (Repl m p) e "0.0")', '(Keep m t "0.0")'),
        carry("sum-over", "(Sum e d)", "(Sum t d)"),
        carry("add", "(Add e u)", "(Add t w)", two=True),
        carry("sub", "(Sub e u)", "(Sub t w)", two=True),
    ]
    rules += [carry(m.lower(), f"({m} e m)", f"({m} t m)") for m in MOVE_SYMBOLS]
    return rules + [_commuting(carry(*row, when=("differ p q",))) for row in _OTHER_DIM]


_OTHER_DIM = (
    ("part-other", "(Part e d q)", "(Part t d q)"),
    ("comb-other", "(Comb e d q)", "(Comb t d q)"),
    ("repl-other", "(Repl e q)", "(Repl t q)"),
    ("red-other", "(Red e q)", "(Red t q)"),
)


def _commuting(rule: Rule) -> Rule:
    return replace(rule, group="commute")


def _partial_extrema(red: Monoid, op: str, binary: str) -> list[Rule]:
    """What keeps a maximum (or minimum) over parts one: reductions, and bounds that are the same for all parts."""
    what, other = _WHAT[red], "Min" if binary == "Max" else "Max"
    given, source = (("e", "p", "t"),), "ours: as for partial sums"

    def carry(name: str, left: str, right: str, given: tuple[tuple[str, str, str], ...] = given) -> Rule:
        return Rule(
            f"partial-{what}-{name}",
            left,
            right,
            source,
            given=given,
            given_monoid=red,
            concludes=red,
            over="p",
        )

    return [
        Rule(
            f"partial-{what}-{red.lower()}",
            f"({red} e p)",
            "t",
            f"definition of a partial {what}imum",
            given=given,
            given_monoid=red,
        ),
        carry("over", f"({op} e d)", f"({op} t d)"),
        carry(f"{what}-left", f"({binary} e (Repl v p))", f"({binary} t v)"),
        carry(f"{what}-right", f"({binary} (Repl v p) e)", f"({binary} v t)"),
        carry(what, f"({binary} e u)", f"({binary} t w)", (("e", "p", "t"), ("u", "p", "w"))),
        carry(f"{other.lower()}-left", f"({other} e (Repl v p))", f"({other} t v)"),
        carry(f"{other.lower()}-right", f"({other} (Repl v p) e)", f"({other} v t)"),
    ]


REDUCTION_RULES: tuple[Rule, ...] = (
    *(rule for axiom in CONTRACTIONS for rule in axiom.rules()),
    *_sums("Sum", Monoid.SUM),
    *_sums("ReduceMax", Monoid.MAX),
    *_sums("ReduceMin", Monoid.MIN),
    *_copies(),
    *_partial_sums(),
    *_partial_extrema(Monoid.MAX, "ReduceMax", "Max"),
    *_partial_extrema(Monoid.MIN, "ReduceMin", "Min"),
)
