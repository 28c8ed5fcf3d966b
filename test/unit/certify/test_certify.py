"""The checker of certificates: it accepts what is true, and nothing else."""

from __future__ import annotations

import copy
import json
from math import log10

import numpy as np
import pytest
from certify_graphs import CASES, custom

from prism_mlir.certify.axioms import axioms, digest, lines
from prism_mlir.certify.check import check_certificate, evidence_for
from prism_mlir.certify.exact import PRIME, draw, run_graph, run_program
from prism_mlir.certify.model import read_graph, read_program
from prism_mlir.certify.sizes import ONE, Refused, Size
from prism_mlir.certify.terms import Terms
from prism_mlir.certify.typing import Dims, groups
from prism_mlir.compiler.certificate import certificate, certify
from prism_mlir.compiler.discover import discover
from prism_mlir.graph import examples
from prism_mlir.graph.block import Accum, Load
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import MATMUL, MUL, sum_, transpose, unary
from prism_mlir.verify.axioms import ALL_RULES, DEFAULT, DEFAULT_GROUPS, axiom_hash, axiom_lines
from prism_mlir.verify.explain import explain, graph_data, program_data
from prism_mlir.verify.verdict import SoundnessError

FIGURE_1 = examples.softmax_matmul()


def written(program, graphs, groups=DEFAULT_GROUPS):
    """A certificate, and what it must be about, as they come back from files."""
    whole = certificate(program, certify(program, graphs, groups), groups)
    about = program_data(program), {name: graph_data(g) for name, g in graphs.items()}
    return json.loads(json.dumps([whole, *about]))


def checked(program, graphs, **options):
    return check_certificate(*written(program, graphs), **options)


@pytest.mark.parametrize("case", CASES)
def test_what_is_proved_is_certified(case):
    program, graph = CASES[case]()
    (found,) = checked(program, {"g": graph})
    assert found.chain is not None and found.note == ""
    assert found.evidence is not None and len(found.evidence.trials) >= 4
    assert set(found.rules) <= {r.name for r in DEFAULT}


@pytest.mark.parametrize(
    "program", [examples.rms_norm(), examples.swiglu(), examples.attention()], ids=lambda p: p.name
)
def test_every_graph_of_a_workload_has_a_full_chain(program):
    proved = discover(program).proved
    found = checked(program, {f"g{k}": g for k, g in enumerate(proved[::3])}, trials=2)
    assert [c.name for c in found if c.chain is None] == []


# --- What is not true ---------------------------------------------------------------------------------------------------------


def steps_of(whole):
    return whole["graphs"][0]["chain"]["outputs"][0]


def tampered(change):
    """The certificate of Figure 1 after ``change``, checked."""
    whole, program, graphs = written(FIGURE_1, {"g": examples.softmax_matmul_block()})
    change(whole)
    return check_certificate(whole, program, graphs, trials=1)


def set_in(key, value):
    def change(whole):
        steps_of(whole)[2][key] = value

    return change


TAMPERED = {
    "a step is missing": (lambda w: steps_of(w).pop(3), "step|after"),
    "the last step is missing": (lambda w: steps_of(w).pop(), "after .* steps the chain is at"),
    "two steps are exchanged": (lambda w: steps_of(w).insert(0, steps_of(w).pop(3)), "step"),
    "a rule that does not exist": (set_in("rule", "anything-goes"), "no axiom 'anything-goes'"),
    "another rule": (set_in("rule", "mul-commutes"), "step 2"),
    "the other direction": (lambda w: steps_of(w)[2].update(forward=not steps_of(w)[2]["forward"]), "step 2"),
    "another position": (set_in("at", [7, 7]), "no position"),
    "a position that is no number": (set_in("at", ["x"]), "no position"),
    "variables are missing": (set_in("with", {}), "has no value"),
    "a variable names no term": (set_in("with", {"a": 10_000}), "names no term"),
    "a step of another form": (lambda w: steps_of(w).insert(0, 5), "not of the form"),
    "no steps at all": (lambda w: w["graphs"][0]["chain"].update(outputs=[]), "does not reach every output"),
    "terms that use later terms": (lambda w: w["graphs"][0]["chain"]["terms"].insert(0, ["Repl", [3], ["x"]]), "come before"),
    "an unknown operator": (lambda w: w["graphs"][0]["chain"]["terms"].insert(0, ["Hope", [], []]), "no operator 'Hope'"),
    "terms that are nested too deeply": (
        lambda w: w["graphs"][0]["chain"].update(terms=[["Var", [], [0]], *(["Unary", [k], ["x"]] for k in range(10_000))]),
        "nested more than 200 deep",
    ),
    "terms that are exponentially large as text": (
        lambda w: (
            w["graphs"][0]["chain"].update(terms=[["Var", [], [0]], *(["Mul", [k, k], []] for k in range(150))]),
            steps_of(w).insert(0, {"rule": "add-commutes", "forward": True, "at": [], "with": {"a": 150, "b": 150}}),
        ),
        "step 0: add-commutes does not apply",
    ),
    "another program": (lambda w: w["program"]["nodes"].pop(), "another program"),
    "another graph": (lambda w: w["graphs"][0]["graph"]["nodes"][0].update(fmap=[0, 0]), "another graph"),
    "a graph nobody has": (lambda w: w["graphs"][0].update(name="h"), "@h: there is no such graph"),
    "other axioms": (lambda w: w["axioms"].update(hash="0" * 16), "other axioms"),
    "fewer axioms than it uses": (
        lambda w: w["axioms"].update(groups=["commute"], hash=digest(["commute"])), "not among the axioms",
    ),
    "another format": (lambda w: w.update(format="trust me"), "no certificate of the form"),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
def test_a_certificate_that_was_tampered_with_is_refused(what):
    change, reason = TAMPERED[what]
    with pytest.raises(Refused, match=reason):
        tampered(change)


def test_random_changes_to_a_chain_are_refused():
    """Any one number or name in the steps; what is left true (a repeated name, an unused term) is not counted."""
    whole, program, graphs = written(FIGURE_1, {"g": examples.softmax_matmul_block()})
    rng, refused, total = np.random.default_rng(1), 0, 60
    names = sorted(axioms())
    for _ in range(total):
        changed = copy.deepcopy(whole)
        step = steps_of(changed)[int(rng.integers(len(steps_of(changed))))]
        before = copy.deepcopy(step)
        match int(rng.integers(3)):
            case 0:
                step["rule"] = names[int(rng.integers(len(names)))]
            case 1:
                step["at"] = [int(rng.integers(2)) for _ in range(int(rng.integers(5)))]
            case 2:
                key = sorted(step["with"])[int(rng.integers(len(step["with"])))]
                step["with"][key] = int(rng.integers(len(changed["graphs"][0]["chain"]["terms"])))
        if step == before:
            total -= 1
            continue
        try:
            check_certificate(changed, program, graphs, trials=1)
        except Refused:
            refused += 1
    assert refused >= total - 1  # a rule and its mirror image may say the same of one instance


@pytest.mark.parametrize(
    "mapping",
    [
        Mapping(((0,), (-1,)), (-1, 0), ((0,),)),
        Mapping(((0,), (-1,)), (1, 0), ((-1,),)),
        Mapping(((-1,), (-1,)), (1, 0), ((0,),)),
        Mapping(((1,), (0,)), (-1, -1), ((-1,),)),
    ],
)
def test_arithmetic_refuses_wrong_graphs_without_a_chain(mapping):
    block = next(examples.softmax_matmul_block().custom).block
    graph = custom(FIGURE_1, [(n.op, n.operands) for n in block.nodes], mapping)
    assert explain(FIGURE_1, graph).data is None
    whole, program, graphs = written(FIGURE_1, {"g": examples.softmax_matmul_block()})
    graphs["g"] = json.loads(json.dumps(graph_data(graph)))
    whole["graphs"][0].update(chain=None, graph=graphs["g"])
    with pytest.raises(Refused, match="@g: "):
        check_certificate(whole, program, graphs)


def test_the_chain_of_a_right_graph_does_not_serve_a_wrong_one():
    right, program, graphs = written(FIGURE_1, {"g": examples.softmax_matmul_block()})
    for data in (right["graphs"][0]["graph"], graphs["g"]):
        data["nodes"][0]["nodes"][7]["operands"] = [4, 6]  # the quotient upside down
    with pytest.raises(Refused, match=r"@g: after .* the chain is at"):
        check_certificate(right, program, graphs)


def test_without_a_chain_the_certificate_says_so_and_carries_evidence():
    graph = examples.softmax_matmul_block()
    whole, program, graphs = written(FIGURE_1, {"g": graph})
    whole["graphs"][0].update(chain=None, no_chain="stopped after 20 s")
    (found,) = check_certificate(whole, program, graphs)
    assert found.chain is None and found.note == "stopped after 20 s"
    assert found.evidence is not None and found.evidence.log10_bound is not None and found.evidence.log10_bound < -100


def test_a_proof_that_arithmetic_contradicts_is_an_alarm():
    """Written for a graph that is wrong, as if the prover had proved it."""
    block = next(examples.softmax_matmul_block().custom).block
    graph = custom(FIGURE_1, [(n.op, n.operands) for n in block.nodes], Mapping(((1,), (0,)), (-1, -1), ((-1,),)))
    with pytest.raises(SoundnessError, match="@g was proved, but"):
        certify(FIGURE_1, {"g": graph}, DEFAULT_GROUPS)


def test_rules_about_known_functions_are_followed_but_not_computed():
    program = examples.build_program("square", {"X": (8, 8)}, [(unary("x**2"), (0,))])
    graph = custom(program, [(Load(0), ()), (MUL, (0, 0))], Mapping(((0,),), (-1,), ((0,),)))
    (found,) = check_certificate(*written(program, {"g": graph}, (*DEFAULT_GROUPS, "square")))
    assert found.chain is not None and found.evidence is None and "known function" in found.note


# --- Its own axioms -----------------------------------------------------------------------------------------------------------


def test_the_checker_and_the_prover_have_the_same_axioms():
    """If this fails, rules changed: look at the difference, then
    ``python -m prism_mlir.verify.axioms > prism_mlir/certify/axioms.jsonl``."""
    assert [json.dumps(row) for row in lines()] == axiom_lines(ALL_RULES)
    assert digest(DEFAULT_GROUPS) == axiom_hash(DEFAULT)


# --- Its own evaluator --------------------------------------------------------------------------------------------------------


def test_programs_and_graphs_are_what_integers_say():
    """X.W and its square by Python integers, program and graph alike."""
    program, graph = CASES["two outputs"]()
    whole = read_program(program_data(program))
    block = read_graph(graph_data(graph), whole)
    x, w = draw([(4, 6), (6, 9)], 3, 0)
    product = (x @ w) % PRIME
    shapes = [(4, 6), (6, 9), (4, 9), (4, 9)]
    for got in (
        run_program(whole, shapes, [x, w], 0),
        run_graph(block, {(0, n): (2, 3) for n in range(5)}, [x, w], {"x": 2, "y": 3, "i": 2}, 0),
    ):
        assert np.array_equal(got[0], product) and np.array_equal(got[1], product * product % PRIME)


def test_an_accumulator_that_cuts_nothing_counts_its_iterations():
    program = examples.build_program("product", {"X": (8, 8), "W": (8, 8)}, [(MATMUL, (0, 1))])
    nodes = [(Load(0), ()), (Load(1), ()), (MATMUL, (0, 1)), (Accum(), (2,))]
    graph = custom(program, nodes, Mapping(((0,), (-1,)), (-1, -1), ((0,),)))
    whole = read_program(program_data(program))
    x, w = draw([(4, 4), (4, 4)], 0, 0)
    (got,) = run_graph(
        read_graph(graph_data(graph), whole), {(0, n): (2, 4) for n in range(4)}, [x, w], {"x": 2, "i": 3}, 0
    )
    assert np.array_equal(got, 3 * (x @ w) % PRIME)
    with pytest.raises(Refused, match="output 0 differs"):
        evidence_for(program_data(program), graph_data(graph))


def test_the_error_bound_of_a_product_by_hand():
    """Degree 2 on both sides, no unknown function: 2 / p for each trial, and trials multiply."""
    program, graph = CASES["split-K"]()
    evidence = evidence_for(program_data(program), graph_data(graph), trials=5)
    (one,) = {t.log10_bound for t in evidence.trials}
    assert one == pytest.approx(log10(2) - log10(PRIME))
    assert evidence.log10_bound == pytest.approx(len(evidence.trials) * one)
    assert evidence.to_dict()["prime"] == 2**61 - 1


def test_maxima_have_no_bound():
    program, graph = CASES["maxima and minima"]()
    assert evidence_for(program_data(program), graph_data(graph)).log10_bound is None


def test_trials_use_many_sizes_and_different_dims_differ():
    program, graph = CASES["figure 1"]()
    trials = evidence_for(program_data(program), graph_data(graph), trials=12).trials
    sizes = [dict(t.sizes) for t in trials]
    assert {(s["x"], s["i"]) for s in sizes} >= {(1, 1), (2, 2), (3, 3), (2, 3), (3, 2), (5, 1), (1, 7)}
    for s in sizes:
        dims = [n for name, n in s.items() if name.startswith("s")]
        assert len(set(dims)) == len(dims) == 3 and 1 not in dims


# --- Its own sizes ------------------------------------------------------------------------------------------------------------


def test_dims_of_equal_number_are_not_one_dim():
    program = examples.build_program("product", {"X": (16, 64), "W": (64, 64)}, [(MATMUL, (0, 1))])
    dims = Dims(read_program(program_data(program)))
    (m, k), (k2, n), (m2, n2) = dims.of
    assert (k, m, n) == (k2, m2, n2) and len({m, k, n}) == 3
    turned = custom(
        program, [(Load(0), ()), (Load(1), ()), (transpose(1, 0), (1,)), (MATMUL, (0, 2))],
        Mapping(((0,), (-1,)), (-1, -1), ((0,),)),
    )  # fmt: skip
    with pytest.raises(Refused, match="two dims differ that must be equal"):
        evidence_for(program_data(program), graph_data(turned))


def test_static_ones_are_ones():
    dims = Dims(read_program(program_data(examples.attention())))
    assert dims.of[0][1] == ONE and all(s != ONE for s in dims.of[1])


def test_sizes_multiply_and_cancel():
    a = Size(("a",))
    assert a.scaled("x", -1).scaled("x", 1) == a
    assert a.scaled("x", -1).scaled("i", -1).value({"a": 12, "x": 2, "i": 3}) == 2
    assert a.merged(Size(("b",))) != Size(("b",)).merged(a)
    with pytest.raises(Refused, match="evenly"):
        a.scaled("x", -1).value({"a": 5, "x": 2})
    with pytest.raises(Refused, match="cut"):
        a.scaled("x", -1).merged(a)


def test_reshape_groups_by_hand():
    assert groups((4, 6, 5), (24, 5)) == [([0, 1], [0]), ([2], [1])]
    assert groups((1, 12), (3, 4, 1)) == [([1], [0, 1])]
    with pytest.raises(Refused):
        groups((2, 3), (5,))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (5, "'inputs' is missing"),
        ({"inputs": [{"shape": ["a"]}], "nodes": [], "outputs": []}, "no list of numbers"),
        ({"inputs": [{"shape": [4]}], "nodes": [], "outputs": [3]}, "not defined before it"),
        ({"inputs": [{"shape": [4]}], "nodes": [{"op": "fft", "operands": [0]}], "outputs": [1]}, "operator 'fft'"),
        ({"inputs": [{"shape": [4]}], "nodes": [{"op": "sum", "operands": [0]}], "outputs": [1]}, "needs a dim"),
    ],
)
def test_malformed_programs_are_refused(data, reason):
    with pytest.raises(Refused, match=reason):
        read_program(data)


def test_ill_typed_terms_are_refused():
    from prism_mlir.certify.typing import Typer

    terms, typer = Terms(), Typer(Dims(read_program(program_data(FIGURE_1))))
    x = terms.make("Var", (), (0,))
    for symbol, operands, attrs, reason in [
        ("Red", [x], ["p"], "does not have"),
        ("Repl", [terms.make("Repl", [x], ["p"])], ["p"], "already has"),
        ("Matmul", [x, x], [0, 1], "must be equal"),
        ("Matmul", [x, terms.make("Var", (), (1,))], [1, 0], "last two dims"),
        ("Part", [terms.make("Sum", [x], [1])], [1, "p"], "size 1"),
        ("Part", [x], [5, "p"], "no dim 5"),
        ("Add", [x, terms.make("Repl", [x], ["p"])], [], "different parallel dims"),
        ("Var", [], [9], "no input 9"),
    ]:
        with pytest.raises(Refused, match=reason):
            typer(terms.make(symbol, operands, attrs))
    with pytest.raises(Refused, match="takes 1 tensors"):
        terms.make("Red", [x, x], ["p"])
    assert terms.make("Sum", [x], [1]) is terms.make("Sum", [x], [1]) is not terms.make("Sum", [x], [0])
    assert sum_(1).dim == 1


def places(data, path=()):
    """Every place in JSON data, as the keys that lead there."""
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def test_no_malformed_certificate_ends_in_a_traceback():
    whole, program, graphs = written(FIGURE_1, {"g": examples.softmax_matmul_block()})
    rng, everywhere = np.random.default_rng(4), [p for p in places(whole) if p]
    junk = [None, True, -1, 10**30, 0.5, "x", "", [], {}, [[]], {"a": None}]
    refused = 0
    for _ in range(150):
        changed = copy.deepcopy(whole)
        *way, last = everywhere[int(rng.integers(len(everywhere)))]
        spot = changed
        for key in way:
            spot = spot[key]
        if rng.integers(4) == 0:
            del spot[last]
        else:
            spot[last] = junk[int(rng.integers(len(junk)))]
        try:
            check_certificate(changed, program, graphs, trials=1)
        except Refused:
            refused += 1
    assert refused > 100
