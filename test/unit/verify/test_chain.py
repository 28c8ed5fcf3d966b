"""Chains of rule applications: found for every proved candidate, and each step is what it says."""

from __future__ import annotations

import pytest
from candidates import PROGRAMS, all_candidates

from prism_mlir.graph import examples
from prism_mlir.graph.kernel import KernelGraph, LibraryNode, program_types
from prism_mlir.graph.ops import MUL, unary
from prism_mlir.verify.axioms import ALL_RULES, DEFAULT, DEFAULT_GROUPS, select
from prism_mlir.verify.chain import ChainLimits, find_chain
from prism_mlir.verify.equation import equation
from prism_mlir.verify.explain import explain
from prism_mlir.verify.expr import TileType, term
from prism_mlir.verify.proof_graph import rewrite
from prism_mlir.verify.prove import prove
from prism_mlir.verify.refute import Refuter
from prism_mlir.verify.rule import Rule, parse_pattern

BY_NAME = {r.name: r for r in ALL_RULES}
X, Y = term("Var", (), (0,)), term("Var", (), (1,))
SQUARE = (TileType((6, 6)), TileType((6, 6)))


def follow(start, steps):
    """The whole terms along a chain, rewritten one subterm at a time; each step must find the side it replaces."""
    whole = [start]
    for step in steps:
        old = step.instance.left if step.forward else step.instance.right
        found = whole[-1]
        for k in step.position:
            found = found.operands[k]
        assert found is old
        whole.append(rewrite(whole[-1], step.position, step.result))
    return whole


@pytest.mark.parametrize("workload", PROGRAMS)
def test_every_proved_candidate_of_a_workload_has_a_chain(workload):
    program, refuter = PROGRAMS[workload], Refuter(PROGRAMS[workload])
    graphs = [g for _, g in all_candidates(workload, refuter) if refuter.refute(g) is None]
    for graph in graphs[:: max(1, len(graphs) // 4)]:
        (verdict,) = prove(program, [graph])
        why = explain(program, graph)
        assert why.data is not None, f"{graph}: {why.reason}"
        assert set(why.rules) <= {r.name for r in DEFAULT}
        assert (why.steps == 0) == (verdict.iterations == 0)


def test_a_chain_by_hand():
    """(x + y) + y = x + (y + y), then the inner sum turned around does nothing: one step, and its way back."""
    left = term("Add", (term("Add", (X, Y)), Y))
    right = term("Add", (X, term("Add", (Y, Y))))
    chain = find_chain([left], [right], SQUARE, {}, DEFAULT)
    assert chain.steps is not None and len(chain.steps[0]) == 1
    (step,) = chain.steps[0]
    assert (step.instance.rule, step.position) in {("add-associates", ()), ("add-associates-reverse", ())}
    assert dict(step.instance.filled) == {"a": X, "b": Y, "c": Y}
    assert follow(left, chain.steps[0]) == [left, right]


def test_congruence_unfolds_into_steps_on_operands():
    left = term("Mul", (term("Add", (X, Y)), term("Unary", (term("Add", (X, Y)),), ("exp(x)",))))
    right = term("Mul", (term("Add", (Y, X)), term("Unary", (term("Add", (Y, X)),), ("exp(x)",))))
    chain = find_chain([left], [right], SQUARE, {}, [BY_NAME["add-commutes"]])
    assert chain.steps is not None
    whole = follow(left, chain.steps[0])
    assert whole[-1] is right and sorted(s.position for s in chain.steps[0]) == [(0,), (1, 0)]
    assert len(set(whole)) == len(whole)  # no detours


def test_partial_sums_become_equations_about_red():
    mul = equation(BY_NAME["partial-mul-left"])
    assert mul is not None
    assert mul.left == parse_pattern("(Red (Mul e (Repl v p)) p)")
    assert mul.right == parse_pattern("(Mul (Red e p) v)")
    both = equation(BY_NAME["partial-add"])
    assert both is not None and both.right == parse_pattern("(Add (Red e p) (Red u p))")
    assert equation(BY_NAME["partial-red"]) is None  # that a total is a total needs no step


def test_what_is_false_has_no_chain():
    chain = find_chain([term("Sub", (X, Y))], [term("Sub", (Y, X))], SQUARE, {}, DEFAULT)
    assert chain.steps is None and "do not connect" in chain.reason


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (ChainLimits(iterations=1), "stopped after 1 iterations"),
        (ChainLimits(terms=5), "terms"),
        (ChainLimits(seconds=0), "stopped after 0 s"),
        (ChainLimits(steps=2), "more than 2 steps"),
    ],
)
def test_limits_are_named(limits, reason):
    why = explain(examples.softmax_matmul(), examples.softmax_matmul_block(), limits=limits)
    assert why.data is None and reason in why.reason and why.rules == ()


def test_rules_used_are_those_of_this_candidate_alone():
    """The shared e-graph reports what all candidates needed; the chain says what one of them needs."""
    program, refuter = PROGRAMS["rms_norm"], Refuter(PROGRAMS["rms_norm"])
    graphs = [g for _, g in all_candidates("rms_norm", refuter) if refuter.refute(g) is None]
    verdicts = prove(program, graphs)
    assert {v.together for v in verdicts} == {len(graphs)}
    used = [set(explain(program, g).rules) for g in graphs]
    assert all(u <= set(verdicts[0].rules_fired) | {"unrepl-repl"} for u in used[:4])
    assert len({frozenset(u) for u in used}) > 3


def test_a_chain_needs_the_rules_it_uses():
    program, graph = examples.softmax_matmul(), examples.softmax_matmul_block()
    why = explain(program, graph)
    assert "matmul-div-left" in why.rules
    for name in ("matmul-div-left", "partial-matmul"):
        assert explain(program, graph, axioms=tuple(r for r in DEFAULT if r.name != name)).data is None


def test_a_wrong_rule_would_show_in_the_chain():
    """Soundness rests on the rules: with a false one, a false chain is found, and it names the rule."""
    wrong = Rule("wrong", "(Sub a b)", "(Sub b a)", "a deliberate mistake")
    chain = find_chain([term("Sub", (X, Y))], [term("Sub", (Y, X))], SQUARE, {}, [*DEFAULT, wrong])
    assert chain.rules == ("wrong",)


def test_opt_in_rules_show_in_the_chain():
    program = examples.build_program("square", {"X": (8, 8)}, [(unary("x**2"), (0,))])
    graph = KernelGraph(program_types(program), (LibraryNode(MUL, (0, 0)),), (1,))
    assert explain(program, graph).data is None
    why = explain(program, graph, axioms=select((*DEFAULT_GROUPS, "square")))
    assert why.rules in (("square",), ("square-reverse",))
