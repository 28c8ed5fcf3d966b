"""Axioms of algebra alone: matmul against elementwise operators, sums against elementwise operators, and arithmetic.

``v`` has size 1 along the dim that is contracted or summed, and does not widen the operand it scales.
"""

from __future__ import annotations

from dataclasses import replace

from prism_mlir.verify.axioms_parallel import PAPER
from prism_mlir.verify.rule import Rule


def _both(rule: Rule) -> list[Rule]:
    return [rule, rule.reverse]


def _matmul() -> list[Rule]:
    rules = _both(
        Rule(
            "matmul-associative",
            "(Matmul a (Matmul b c row col) row col)",
            "(Matmul (Matmul a b row col) c row col)",
            PAPER + "matmul is associative",
        )
    )
    for op in ("Add", "Sub"):
        name = op.lower()
        whole = "(Matmul a c row col)", "(Matmul b c row col)"
        right = "(Matmul a b row col)", "(Matmul a c row col)"
        rules += [
            Rule(
                f"matmul-{name}-left",
                f"(Matmul ({op} a b) c row col)",
                f"({op} {whole[0]} {whole[1]})",
                PAPER + "matmul left-distributes over add" + (" (and sub)" if op == "Sub" else ""),
                ("alike a b",),
            ),
            Rule(
                f"matmul-{name}-right",
                f"(Matmul a ({op} b c) row col)",
                f"({op} {right[0]} {right[1]})",
                PAPER + "matmul right-distributes over add" + (" (and sub)" if op == "Sub" else ""),
                ("alike b c",),
            ),
        ]
        for thin, thick in (("a", "b"), ("b", "a")):
            rules += [
                Rule(
                    f"matmul-{name}-row-{thin}",
                    f"(Matmul ({op} a b) c row col)",
                    f"({op} {whole[0]} {whole[1]})",
                    "ours: a row added to every row",
                    (f"flat {thin} row {thick}",),
                ),
            ]
        for thin, thick in (("b", "c"), ("c", "b")):
            rules += [
                Rule(
                    f"matmul-{name}-column-{thin}",
                    f"(Matmul a ({op} b c) row col)",
                    f"({op} {right[0]} {right[1]})",
                    "ours: a column added to every column",
                    (f"flat {thin} col {thick}",),
                ),
            ]
    for op, what in (("Mul", "mul"), ("Div", "div denominator")):
        name, moved = op.lower(), f"({op} (Matmul a b row col) v)"
        rules += [
            Rule(
                f"matmul-{name}-left",
                f"(Matmul ({op} a v) b row col)",
                moved,
                PAPER + f"matmul commutes with {what}",
                ("one v col", f"alike ({op} a v) a"),
            ),
            Rule(
                f"matmul-{name}-right",
                f"(Matmul a ({op} b v) row col)",
                moved,
                PAPER + f"matmul commutes with {what}" + ("" if op == "Mul" else ", on the right operand (ours)"),
                ("one v row", f"alike ({op} b v) b"),
            ),
        ]
    return rules


def _sums() -> list[Rule]:
    rules = [
        Rule("sum-mul", "(Sum (Mul a v) d)", "(Mul (Sum a d) v)", "ours: a sum of multiples", ("one v d",)),
        Rule("sum-div", "(Sum (Div a v) d)", "(Div (Sum a d) v)", "ours: a sum of quotients", ("one v d",)),
        Rule(
            "sum-keep",
            '(Sum (Keep m a "0.0") d)',
            '(Keep m (Sum a d) "0.0")',
            "ours: a mask that the sum does not run over keeps all terms or none",
            ("one m d",),
        ),
        Rule(
            "sum-matmul-columns",
            "(Sum (Matmul a b row col) col)",
            "(Matmul a (Sum b col) row col)",
            "ours: matmul is linear",
        ),
        Rule(
            "sum-matmul-rows",
            "(Sum (Matmul a b row col) row)",
            "(Matmul (Sum a row) b row col)",
            "ours: matmul is linear",
        ),
    ]
    for op in ("Add", "Sub"):
        rules.append(
            Rule(
                f"sum-{op.lower()}",
                f"(Sum ({op} a b) d)",
                f"({op} (Sum a d) (Sum b d))",
                "ours: a sum is additive",
                ("same a b d",),
            )
        )
    return rules


def _arithmetic() -> list[Rule]:
    """Laws the paper leaves out. Those that :data:`axioms.DEFAULT` switches on are listed there, by group."""
    ours = "ours: arithmetic, by name"
    rules: list[Rule] = []
    for op in ("Add", "Mul", "Max", "Min"):
        n = op.lower()
        rules.append(Rule(f"{n}-commutes", f"({op} a b)", f"({op} b a)", ours, group="commutativity"))
        regroup = Rule(
            f"{n}-associates", f"({op} ({op} a b) c)", f"({op} a ({op} b c))", ours, group=f"{n}-associativity"
        )
        rules += _both(regroup)
    fractions = [
        Rule("mul-of-div", "(Mul (Div a b) c)", "(Div (Mul a c) b)", ours, group="fractions"),
        Rule("div-of-div", "(Div (Div a b) c)", "(Div a (Mul b c))", ours, group="fractions"),
    ]
    rules += [r for rule in fractions for r in _both(rule)]
    for op in ("Add", "Sub"):
        n = op.lower()
        over_mul = Rule(
            f"mul-over-{n}", f"(Mul ({op} a b) c)", f"({op} (Mul a c) (Mul b c))", ours, group="distributivity"
        )
        over_div = Rule(
            f"div-over-{n}", f"(Div ({op} a b) c)", f"({op} (Div a c) (Div b c))", ours, group="distributivity"
        )
        rules += [over_mul, over_div, *(replace(r.reverse, group="factoring") for r in (over_mul, over_div))]
    rules += _real()
    return rules


def _real() -> list[Rule]:
    """Laws about what a unary function means: true for real numbers, beyond exact evaluation, where functions are unknown."""
    ours = "ours: arithmetic of a known function, by name"
    exp_a, exp_b = '(Unary a "exp(x)")', '(Unary b "exp(x)")'
    pairs = [
        Rule("exp-of-sub", '(Unary (Sub a b) "exp(x)")', f"(Div {exp_a} {exp_b})", ours, group="exp", exact=False),
        Rule("exp-of-add", '(Unary (Add a b) "exp(x)")', f"(Mul {exp_a} {exp_b})", ours, group="exp", exact=False),
        Rule("square", "(Mul a a)", '(Unary a "x**2")', ours, group="square", exact=False),
        Rule("twice", "(Add a a)", '(Unary a "2*x")', ours, group="twice", exact=False),
    ]
    return [r for rule in pairs for r in _both(rule)]


ALGEBRA_RULES: tuple[Rule, ...] = (*_matmul(), *_sums(), *_arithmetic())
