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

from prism_mlir.verify.axioms_parallel import INVERSE, PAPER
from prism_mlir.verify.rule import MOVE_SYMBOLS, Monoid, Rule

_LINEAR = "ours: a sum over p commutes with what is linear in its terms"


def _matmul() -> list[Rule]:
    product = "(Matmul a b row col)"
    return [
        Rule(
            "matmul-rows",
            "(Matmul (Part a row p) (Repl b p) row col)",
            f"(Part {product} row p)",
            INVERSE + "row partition",
        ),
        Rule(
            "matmul-columns",
            "(Matmul (Repl a p) (Part b col p) row col)",
            f"(Part {product} col p)",
            INVERSE + "column partition",
        ),
        Rule(
            "matmul-leading",
            "(Matmul (Part a d p) (Part b d p) row col)",
            f"(Part {product} d p)",
            INVERSE + "leading dim",
            ("below d row",),
        ),
        Rule(
            "matmul-repl", "(Matmul (Repl a p) (Repl b p) row col)", f"(Repl {product} p)", "ours: copies of a product"
        ),
        Rule(
            "matmul-comb-rows",
            "(Matmul (Comb a row p) b row col)",
            "(Comb (Matmul a (Repl b p) row col) row p)",
            PAPER + "parallelized matmul (row partition), with a := part of a comb",
        ),
        Rule(
            "matmul-comb-columns",
            "(Matmul a (Comb b col p) row col)",
            "(Comb (Matmul (Repl a p) b row col) col p)",
            PAPER + "parallelized matmul (column partition), with b := part of a comb",
        ),
        Rule(
            "matmul-comb-leading",
            "(Matmul (Comb a d p) (Comb b d p) row col)",
            f"(Comb {product} d p)",
            PAPER + "parallelized matmul (leading dim), with part of combs",
            ("below d row",),
        ),
        Rule(
            "matmul-comb-contracted",
            "(Matmul (Comb a col p) (Comb b row p) row col)",
            f"(Red {product} p)",
            PAPER + "parallelized matmul (reduction), with part of combs",
        ),
    ]


def _sums(op: str, red: Monoid) -> list[Rule]:
    name, what = op.lower(), "sum" if red is Monoid.SUM else "max"
    paper = PAPER if red is Monoid.SUM else "ours, as for sums: "
    return [
        Rule(
            f"{name}-part",
            f"({op} (Part t k p) d)",
            f"(Part ({op} t d) k p)",
            f"{paper}{what} and part commute",
            ("differ d k",),
        ),
        Rule(
            f"{name}-comb",
            f"({op} (Comb t k p) d)",
            f"(Comb ({op} t d) k p)",
            f"{paper}{what} and comb commute",
            ("differ d k",),
        ),
        Rule(f"{name}-repl", f"({op} (Repl t p) d)", f"(Repl ({op} t d) p)", f"{paper}{what} and repl commute"),
        Rule(
            f"{name}-of-comb",
            f"({op} (Comb t d p) d)",
            f"({red} ({op} t d) p)",
            f"{paper}compound parallelized {what}, forms 2 to 5, one level at a time",
        ),
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
        Rule(
            "partial-matmul",
            "(Matmul (Part a col p) (Part b row p) row col)",
            "(Matmul a b row col)",
            PAPER + "parallelized matmul (reduction)",
            concludes=Monoid.SUM,
            over="p",
        ),
        Rule(
            "partial-sum",
            "(Sum (Part t d p) d)",
            "(Sum t d)",
            PAPER + "compound parallelized sum (form 1)",
            concludes=Monoid.SUM,
            over="p",
        ),
        Rule("partial-red", "(Red e p)", "t", "definition of a partial sum", given=(("e", "p", "t"),)),
        carry("matmul-left", "(Matmul e (Repl b p) row col)", "(Matmul t b row col)"),
        carry("matmul-right", "(Matmul (Repl a p) e row col)", "(Matmul a t row col)"),
        carry("mul-left", "(Mul e (Repl v p))", "(Mul t v)"),
        carry("mul-right", "(Mul (Repl v p) e)", "(Mul v t)"),
        carry("div", "(Div e (Repl v p))", "(Div t v)"),
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


def _partial_maxima() -> list[Rule]:
    given, source = (("e", "p", "t"),), "ours: as for partial sums"

    def carry(name: str, left: str, right: str, given: tuple[tuple[str, str, str], ...] = given) -> Rule:
        return Rule(
            f"partial-max-{name}",
            left,
            right,
            source,
            given=given,
            given_monoid=Monoid.MAX,
            concludes=Monoid.MAX,
            over="p",
        )

    return [
        Rule("partial-max", "(ReduceMax (Part t d p) d)", "(ReduceMax t d)", source, concludes=Monoid.MAX, over="p"),
        Rule(
            "partial-max-redmax",
            "(RedMax e p)",
            "t",
            "definition of a partial maximum",
            given=given,
            given_monoid=Monoid.MAX,
        ),
        carry("over", "(ReduceMax e d)", "(ReduceMax t d)"),
        carry("max-left", "(Max e (Repl v p))", "(Max t v)"),
        carry("max-right", "(Max (Repl v p) e)", "(Max v t)"),
        carry("max", "(Max e u)", "(Max t w)", (("e", "p", "t"), ("u", "p", "w"))),
    ]


REDUCTION_RULES: tuple[Rule, ...] = (
    *_matmul(),
    *_sums("Sum", Monoid.SUM),
    *_sums("ReduceMax", Monoid.MAX),
    *_copies(),
    *_partial_sums(),
    *_partial_maxima(),
)
