"""Every axiom is executed; those of the paper's Table 1 are derived by the prover from the axioms it really uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rule_execution import SIZES, Reject, draw, failure

from prism_mlir.graph.errors import InputError
from prism_mlir.verify.axioms import ALL_RULES, DEFAULT, DEFAULT_GROUPS, SPLITS, axiom_hash, known_functions, select
from prism_mlir.verify.chain import find_chain
from prism_mlir.verify.rule import (
    BINARY_SYMBOLS,
    MOVE_SYMBOLS,
    Monoid,
    Rule,
    Sort,
    parse_pattern,
    split_condition,
    variables,
)

CASES = 100
BY_NAME = {r.name: r for r in ALL_RULES}


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda r: r.name)
def test_a_rule_holds_wherever_it_applies(rule):
    assert failure(rule, CASES) == ""


@pytest.mark.parametrize("split", SPLITS, ids=lambda a: a.outward)
def test_an_axiom_of_splitting_holds_and_follows_from_the_rules_derived_from_it(split):
    """``Comb(Matmul(Part(a), Repl(b))) = Matmul(a, b)``: true as it stands, and what the prover can show with the derived
    rule and cancellation alone, so deriving has lost nothing."""
    assert failure(split.axiom, CASES) == ""
    rules = (*split.rules(), *(BY_NAME[n] for n in ("comb-part", "unrepl-repl", "partial-red", "partial-max-redmax")))
    rng, proved = np.random.default_rng(3), 0
    while proved < 5:
        try:
            case, left, right = draw(split.axiom, rng)
        except Reject:
            continue
        chain = find_chain([right], [left], case.inputs, SIZES, rules)
        assert chain.steps is not None, f"{left} = {right}: {chain.reason}"
        proved += 1


def test_derived_rules_are_no_second_list():
    """Every rule that moves Part, Repl or Comb through an operator comes from an axiom of splitting."""
    derived = {r.name for split in SPLITS for r in split.rules()}
    operators = {"Matmul", "Unary", "Sum", "ReduceMax", "ReduceMin", *BINARY_SYMBOLS, *MOVE_SYMBOLS}
    for rule in ALL_RULES:
        left = parse_pattern(rule.left)
        cuts = any(isinstance(p, tuple) and p[0] in ("Part", "Repl", "Comb") for p in left[1:])
        if left[0] in operators and cuts and not rule.given:
            assert rule.name in derived, rule.name


def test_the_inverse_of_a_product_split_by_columns():
    """Written out by hand: Comb(Matmul(Repl a, Part b)) = Matmul(a, b), undone, and with b a Comb."""
    (split,) = [s for s in SPLITS if s.outward == "matmul-columns"]
    assert split.axiom.left == "(Comb (Matmul (Repl a p) (Part b col p) row col) col p)"
    assert [(r.left, r.right) for r in split.rules()] == [
        ("(Matmul (Repl a p) (Part b col p) row col)", "(Part (Matmul a b row col) col p)"),
        ("(Matmul a (Comb b col p) row col)", "(Comb (Matmul (Repl a p) b row col) col p)"),
    ]
    (reduction,) = [s for s in SPLITS if s.outward == "partial-matmul"]
    assert [(r.right, r.concludes, r.over) for r in reduction.rules()] == [
        ("(Matmul a b row col)", Monoid.SUM, "p"),
        ("(Red (Matmul a b row col) p)", None, ""),
    ]


UNSOUND = {
    "a divisor may be as wide as the operand": replace(BY_NAME["matmul-div-left"], when=()),
    "the divisor is taken from the wrong side": replace(
        BY_NAME["matmul-div-left"], when=("one v row", "alike (Div a v) a")
    ),
    "a sum over copies counts once": Rule("copies", "(Red (Repl t p) p)", "t", "wrong"),
    "operands are swapped": Rule("swap", "(Div a b)", "(Div b a)", "wrong"),
    "subtraction commutes": Rule("swap", "(Sub a b)", "(Sub b a)", "wrong"),
    "a replicated operand need not have size 1": replace(BY_NAME["mul-part-repl"], when=()),
    "tiles may differ in size": replace(BY_NAME["mul-part-part"], when=()),
    "a dim that is summed may be cut": replace(BY_NAME["sum-part"], when=()),
    "two parts of one dim commute": replace(BY_NAME["part-part"], when=("differ p q",)),
    "any dim is a leading dim": replace(BY_NAME["matmul-leading"], when=()),
    "columns of the left operand with all of the right": Rule(
        "wrong", "(Matmul (Part a col p) (Repl b p) row col)", "(Part (Matmul a b row col) col p)", "wrong"
    ),
    "a square of a sum": Rule(
        "wrong", "(Mul e e)", "(Mul t t)", "wrong", given=(("e", "p", "t"),), concludes=Monoid.SUM, over="p"
    ),
    "a function of a partial sum": Rule(
        "wrong", "(Unary e f)", "(Unary t f)", "wrong", given=(("e", "p", "t"),), concludes=Monoid.SUM, over="p"
    ),
    "a divisor that is a partial sum": Rule(
        "wrong", "(Div (Repl v p) e)", "(Div v t)", "wrong", given=(("e", "p", "t"),), concludes=Monoid.SUM, over="p"
    ),
    "functions commute with sums": Rule("wrong", "(Sum (Unary t f) d)", "(Unary (Sum t d) f)", "wrong"),
    "the paper's form 6, printed without a sum": Rule(
        "wrong", "(Red (Part (Red (Part t d p) p) d q) q)", "(Red (Part t d p) p)", "wrong", ("differ p q",)
    ),
    "the paper's form 7, printed without a sum": Rule(
        "wrong", "(Red (Red (Part (Part t d p) d q) p) q)", "(Red (Part t d p) p)", "wrong", ("differ p q",)
    ),
    "a transpose leaves dims in place": replace(
        BY_NAME["transpose-part"], right="(Part (Transpose t m) d p)", when=("moves m d k",)
    ),
}


@pytest.mark.parametrize("what", UNSOUND)
def test_the_harness_catches_an_unsound_rule(what):
    found = failure(UNSOUND[what], 400)
    assert found and "filled only" not in found


def test_the_harness_reports_a_rule_that_cannot_be_filled():
    rule = Rule("empty", "(Comb (Repl t p) d p)", "t", "wrong", ("differ p p",))
    assert "filled only 0 times" in failure(rule, 10, attempts=200)


def test_rules_are_well_formed():
    assert len(BY_NAME) == len(ALL_RULES)
    for rule in ALL_RULES:
        known = variables(parse_pattern(rule.left)) | {t: Sort.TENSOR for _, _, t in rule.given}
        conditions = [split_condition(c) for c in rule.when]
        known |= {str(args[2]): Sort.DIM for name, args in conditions if name == "moves"}
        assert set(variables(parse_pattern(rule.right))) <= set(known), rule.name
        assert {name for name, _ in conditions} <= {"one", "same", "flat", "alike", "differ", "below", "moves"}
        assert rule.source and (rule.concludes is None) == (rule.over == "")


def test_partial_sums_are_a_relation():
    """No rule may write ``red`` of something new as a way to name a summand: red has no inverse."""
    for rule in ALL_RULES:
        if rule.concludes is None and "(Red " in rule.right:
            assert "(Red " in rule.left or "Comb" in rule.left, rule.name


def test_an_axiom_set_is_named_by_its_content():
    assert axiom_hash(DEFAULT) == axiom_hash(tuple(reversed(DEFAULT)))
    assert axiom_hash(DEFAULT) != axiom_hash(DEFAULT[1:])
    assert axiom_hash(DEFAULT) != axiom_hash((replace(DEFAULT[0], when=("differ d k",)), *DEFAULT[1:]))
    assert len(axiom_hash(DEFAULT)) == 16


def test_groups_are_selected_by_name():
    assert select() == DEFAULT
    assert {r.group for r in select((*DEFAULT_GROUPS, "exp"))} == {*DEFAULT_GROUPS, "exp"}
    with pytest.raises(InputError, match="no axioms called 'nonsense', known are"):
        select(("nonsense",))


def test_rules_of_known_functions_fail_exact_arithmetic():
    """The reason why they are opt-in: exact evaluation knows nothing about exp."""
    assert "values differ" in failure(replace(BY_NAME["exp-of-sub"], exact=True), 20)


def test_random_draws_cover_dims_of_size_1():
    rng, ones, total = np.random.default_rng(1), 0, 0
    while total < 200:
        try:
            case, _, _ = draw(BY_NAME["mul-part-repl"], rng)
        except Reject:
            continue
        total += 1
        ones += any(1 in t.shape for t in case.inputs)
    assert ones == total  # "one b d" makes one operand thin in every case


def test_functions_that_rules_name_are_known_and_default_rules_name_none():
    """A family of programs leaves unknown functions open, so no rule may name one that is not told. What masks keep is told."""
    quoted = {part for r in ALL_RULES for text in (r.left, r.right) for part in text.split('"')[1::2]}
    assert {"exp(x)", "x**2", "2*x"} <= known_functions(ALL_RULES) <= quoted
    assert not known_functions(DEFAULT)
    named = [text for r in DEFAULT for text in (r.left, r.right, *(e for e, _, _ in r.given)) if '"' in text]
    assert all("Unary" not in text and "Keep" in text for text in named)
