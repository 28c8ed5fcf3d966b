"""The prover: Figure 1, the paper's Table 1, workloads, and graphs that must not be proved."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from candidates import PROGRAMS, STRUCTURES, all_candidates, build, mapping_space

from prism_mlir.graph import examples
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.fields import PrimeField
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import (
    DIV,
    MATMUL,
    MAXIMUM,
    MINIMUM,
    MUL,
    SUB,
    keep,
    reduce_max,
    reduce_min,
    reshape,
    sum_,
    transpose,
    unary,
)
from prism_mlir.graph.program import Program
from prism_mlir.verify.axioms import DEFAULT, DEFAULT_GROUPS, select
from prism_mlir.verify.chain import find_chain
from prism_mlir.verify.egglog_backend import ProofGraph, Sizes
from prism_mlir.verify.expr import TileType, evaluate_exprs, term
from prism_mlir.verify.prove import NOT_CONNECTED, ProofLimits, prove
from prism_mlir.verify.refute import Refuter
from prism_mlir.verify.rule import Rule, parse_pattern
from prism_mlir.verify.verdict import SoundnessError, Status
from prism_mlir.verify.verify import verify

FIGURE_1 = examples.softmax_matmul()


def test_figure_1_is_proved_for_all_sizes():
    (verdict,) = prove(FIGURE_1, [examples.softmax_matmul_block()])
    assert verdict.status is Status.PROVED and verdict.reason == ""
    assert {"partial-matmul", "partial-sum", "partial-red", "matmul-div-left", "comb-part"} <= set(verdict.rules_fired)
    assert verdict.rules_fired == tuple(sorted(verdict.rules_fired))
    assert 0 < verdict.iterations <= 8 and verdict.nodes > 0 and len(verdict.axiom_hash) == 16


# --- Table 1 -------------------------------------------------------------------------------------------------------------

P0, P1 = '"p"', '"q"'
PART = "(Part (Part t 1 p) 1 q)"
TABLE_1 = {
    "matmul is associative": ("(Matmul a (Matmul b c 0 1) 0 1)", "(Matmul (Matmul a b 0 1) c 0 1)"),
    "matmul left-distributes": ("(Matmul (Add a b) c 0 1)", "(Add (Matmul a c 0 1) (Matmul b c 0 1))"),
    "matmul right-distributes": ("(Matmul a (Add b c) 0 1)", "(Add (Matmul a b 0 1) (Matmul a c 0 1))"),
    "matmul commutes with mul (left)": ("(Matmul (Mul a r) b 0 1)", "(Mul (Matmul a b 0 1) r)"),
    "matmul commutes with mul (right)": ("(Matmul a (Mul b k) 0 1)", "(Mul (Matmul a b 0 1) k)"),
    "matmul commutes with div": ("(Matmul (Div a r) b 0 1)", "(Div (Matmul a b 0 1) r)"),
    "part and repl": ("(Part (Repl t p) 0 q)", "(Repl (Part t 0 q) p)"),
    "comb and repl": ("(Comb (Repl (Part t 0 q) p) 0 q)", "(Repl t p)"),
    "red and part": ("(Red (Part (Part t 1 p) 0 q) p)", "(Part (Red (Part t 1 p) p) 0 q)"),
    "comb and red": ("(Comb (Red (Part (Part t 1 p) 0 q) p) 0 q)", "(Red (Comb (Part (Part t 1 p) 0 q) 0 q) p)"),
    "nested part": ("(Part (Part t 0 p) 1 q)", "(Part (Part t 1 q) 0 p)"),
    "nested comb": ("(Comb (Comb (Part (Part t 0 p) 1 q) 0 p) 1 q)", "(Comb (Comb (Part (Part t 0 p) 1 q) 1 q) 0 p)"),
    "comb cancels part": ("(Comb (Part t 0 p) 0 p)", "t"),
    "matmul, reduction": ("(Red (Matmul (Part a 1 p) (Part b 0 p) 0 1) p)", "(Matmul a b 0 1)"),
    "matmul, rows": ("(Comb (Matmul (Part a 0 p) (Repl b p) 0 1) 0 p)", "(Matmul a b 0 1)"),
    "matmul, columns": ("(Comb (Matmul (Repl a p) (Part b 1 p) 0 1) 1 p)", "(Matmul a b 0 1)"),
    "matmul, leading": ("(Comb (Matmul (Part x 0 p) (Part x 0 p) 1 2) 0 p)", "(Matmul x x 1 2)"),
    "sum and part": ("(Sum (Part t 0 p) 1)", "(Part (Sum t 1) 0 p)"),
    "sum and comb": ("(Sum (Comb (Part t 0 p) 0 p) 1)", "(Comb (Sum (Part t 0 p) 1) 0 p)"),
    "sum and repl": ("(Sum (Repl t p) 1)", "(Repl (Sum t 1) p)"),
    "sum, form 1": ("(Sum (Red (Part t 1 p) p) 1)", "(Sum t 1)"),
    "sum, form 2": ("(Sum (Comb (Sum (Part t 1 p) 1) 1 p) 1)", "(Sum t 1)"),
    "sum, form 3": (f"(Sum (Comb (Red {PART} q) 1 p) 1)", "(Sum t 1)"),
    "sum, form 4": (f"(Sum (Comb (Red {PART} p) 1 q) 1)", "(Sum t 1)"),
    "sum, form 5": (f"(Sum (Red (Comb {PART} 1 p) q) 1)", "(Sum t 1)"),
    "sum, form 6, under a sum": ("(Sum (Red (Part (Red (Part t 1 p) p) 1 q) q) 1)", "(Sum (Red (Part t 1 p) p) 1)"),
    "sum, form 7, under a sum": (f"(Sum (Red (Red {PART} p) q) 1)", "(Sum (Red (Part t 1 p) p) 1)"),
    "sum, form 8, under a sum": (f"(Sum (Red (Red {PART} q) p) 1)", "(Sum (Red (Part t 1 p) p) 1)"),
    "unary and part": ('(Part (Unary t "exp(x)") 0 p)', '(Unary (Part t 0 p) "exp(x)")'),
    "unary and comb": ('(Comb (Unary (Part t 0 p) "exp(x)") 0 p)', '(Unary (Comb (Part t 0 p) 0 p) "exp(x)")'),
    "unary and repl": ('(Repl (Unary t "exp(x)") p)', '(Unary (Repl t p) "exp(x)")'),
    "binary and part": ("(Part (Mul t a) 0 p)", "(Mul (Part t 0 p) (Part a 0 p))"),
    "binary and comb": (
        "(Comb (Mul (Part t 0 p) (Part a 0 p)) 0 p)",
        "(Mul (Comb (Part t 0 p) 0 p) (Comb (Part a 0 p) 0 p))",
    ),
    "binary and repl": ("(Repl (Mul t a) p)", "(Mul (Repl t p) (Repl a p))"),
    "compound sum, three deep": (
        "(Sum (Red (Comb (Sum (Part (Part (Part t 1 p) 1 q) 1 s) 1) 1 p) s) 1)",
        "(Sum (Part t 1 q) 1)",
    ),
}
SHAPES = {"t": (6 * 900, 7 * 900), "r": (6 * 900, 1), "k": (1, 7 * 900), "x": (11 * 900, 13 * 900, 13 * 900)}
TENSORS = "tabcrkx"


def ground(pattern, whole):
    if isinstance(pattern, str):
        return term("Var", (), (TENSORS.index(pattern),))
    operands = [ground(c, whole) for c in pattern[1:] if isinstance(c, tuple) or c in TENSORS]
    attrs = [int(a) if a.isdigit() else a.strip('"') for a in pattern[1 + len(operands) :]]
    return term(pattern[0], operands, attrs)


@pytest.mark.parametrize("row", [r for r in TABLE_1 if "three deep" not in r])
def test_every_row_of_table_1_follows_from_the_axioms(row):
    left, right = (ground(parse_pattern(side), None) for side in TABLE_1[row])
    square = (6 * 900, 6 * 900)
    shapes = [SHAPES.get(t, square) for t in TENSORS]
    if row.startswith(("matmul", "binary")):
        shapes[0] = square
        shapes[TENSORS.index("r")], shapes[TENSORS.index("k")] = (6 * 900, 1), (1, 6 * 900)
    graph = ProofGraph(DEFAULT, Sizes({"p": 2, "q": 3, "s": 5}, tuple(shapes)))
    graph.load([right], {0: [left]})
    for _ in range(8):
        graph.step()
    assert (0, 0) in graph.proved()


def test_compound_sums_hold_at_any_depth_only_over_the_right_parts():
    left = ground(parse_pattern("(Sum (Red (Comb (Red (Part (Part (Part t 1 p) 1 q) 1 s) s) 1 p) q) 1)"), None)
    right, wrong = (ground(parse_pattern(t), None) for t in ("(Sum t 1)", "(Sum t 0)"))
    graph = ProofGraph(DEFAULT, Sizes({"p": 2, "q": 3, "s": 5}, tuple(SHAPES.get(t, SHAPES["t"]) for t in TENSORS)))
    graph.load([right, wrong], {0: [left, left]})
    for _ in range(8):
        graph.step()
    assert graph.proved() == {(0, 0)}


@pytest.mark.parametrize("seed", range(12))
def test_compound_sums_with_up_to_four_parallel_dims(seed):
    """The paper's schemata for any number of parallel dims: cut a dim several times, sum and undo the cuts in any order, by
    concatenation or by adding up; summed in the end it is the sum. Truth is by evaluation, proof by one rule a level."""
    rng = np.random.default_rng(seed)
    dims = ["p", "q", "r", "s"][: 1 + seed % 4]
    count = dict(zip(dims, (2, 3, 5, 7), strict=False))
    x = term("Var", (), (0,))
    tile = x
    for p in dims:
        tile = term("Part", [tile], (1, p))
    for p in (dims[int(k)] for k in rng.permutation(len(dims))):
        if rng.integers(3) == 0:
            tile = term("Sum", [tile], (1,))
        tile = term("Comb", [tile], (1, p)) if rng.integers(2) else term("Red", [tile], (p,))
    left, right = term("Sum", [tile], (1,)), term("Sum", [x], (1,))
    domain, size = PrimeField(), 2 * prod(count.values())
    values = rng.integers(1, domain.p, (*(1,) * len(dims), 2, size))
    a, b = evaluate_exprs([left, right], [(TileType((2, size)), values)], count, domain)
    assert np.array_equal(a, b)
    chain = find_chain([right], [left], [TileType((2, size))], count, DEFAULT)
    assert chain.steps is not None, chain.reason
    graph = ProofGraph(DEFAULT, Sizes(count, ((11, 13 * prod(count.values())),)))
    graph.load([right], {0: [left]})
    while graph.step().changed:
        pass
    assert (0, 0) in graph.proved()


# --- Workloads ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", PROGRAMS)
def test_recall_every_candidate_that_arithmetic_cannot_refute_is_proved(workload):
    refuter = Refuter(PROGRAMS[workload])
    candidates = list(all_candidates(workload, refuter))
    open_ = [(name, g) for name, g in candidates if refuter.refute(g) is None]
    verdicts = prove(PROGRAMS[workload], [g for _, g in open_])
    gaps = [f"{name}: {g}" for (name, g), v in zip(open_, verdicts, strict=True) if not v.proved]
    assert gaps == []
    assert {name for name, _ in open_} == set(STRUCTURES[workload])


def test_a_mapping_space_is_split_exactly():
    """One grid dim of RMSNorm: X rows with W whole, or X whole with W columns; the loop over what is contracted. Nothing else."""
    program = PROGRAMS["rms_norm"]
    space = mapping_space(program, STRUCTURES["rms_norm"]["sum_then_accum"], ("x",), Refuter(program))
    mappings = {next(g.custom).mapping for g in space.graphs}
    assert mappings == {
        Mapping(((0,), (-1,)), (1, 0), ((0,),)),
        Mapping(((-1,), (1,)), (1, 0), ((1,),)),
    }
    assert all(v.proved for v in prove(program, space.graphs))


def test_two_grid_dims_and_a_loop_in_any_order():
    program = PROGRAMS["rms_norm"]
    nodes = STRUCTURES["rms_norm"]["accum_then_sum"]
    for rows, columns in ((0, 1), (1, 0)):
        imap_x, imap_w, omap = [-1, -1], [-1, -1], [-1, -1]
        imap_x[rows], imap_w[columns], omap[rows], omap[columns] = 0, 1, 0, 1
        mapping = Mapping((tuple(imap_x), tuple(imap_w)), (1, 0), (tuple(omap),))
        (verdict,) = prove(program, [build(program, nodes, mapping, ("x", "y"))])
        assert verdict.proved


def test_blocks_that_all_store_the_same_tile():
    """A grid dim that cuts nothing: every block computes and stores the whole result."""
    program = PROGRAMS["rms_norm"]
    mapping = Mapping(((0, -1), (-1, -1)), (1, 0), ((0, -1),))
    graph = build(program, STRUCTURES["rms_norm"]["sum_then_accum"], mapping, ("x", "y"))
    assert Refuter(program).refute(graph) is None
    (verdict,) = prove(program, [graph])
    assert verdict.proved and "unrepl-repl" in verdict.rules_fired


# --- Several kernels -----------------------------------------------------------------------------------------------------


def test_library_kernels_and_a_custom_kernel():
    program = FIGURE_1
    x, w = program_types(program)
    nodes = (BlockNode(Load(0, True)), BlockNode(Load(1, True)), BlockNode(DIV, (0, 1)))
    e, s = TensorType(x.shape, DType.F16), TensorType((4096, 1), DType.F16)
    block = BlockGraph(("x",), None, (e, s), nodes, (2,))
    divide = CustomNode(block, (2, 3), Mapping(((0,), (0,)), (-1, -1), ((0,),)))
    graph = KernelGraph(
        (x, w),
        (LibraryNode(unary("exp(x)"), (0,)), LibraryNode(sum_(1), (2,)), divide, LibraryNode(MATMUL, (4, 1))),
        (5,),
    )
    assert Refuter(program).refute(graph) is None
    assert prove(program, [graph])[0].proved


def split_k() -> tuple[Program, KernelGraph]:
    """X.W with the contracted dim split over grid dim y: partial products side by side, then summed by a second kernel."""
    program = examples.build_program("product", {"X": (64, 512), "W": (512, 128)}, [(MATMUL, (0, 1))])
    x, w = program_types(program)
    first = BlockGraph(
        ("x", "y"), None, (x, w), (BlockNode(Load(0, True)), BlockNode(Load(1, True)), BlockNode(MATMUL, (0, 1))), (2,)
    )
    partial = TensorType((64, 128), DType.F16)
    second = BlockGraph(("x",), "y", (partial,), (BlockNode(Load(0)), BlockNode(Accum(), (0,))), (1,))
    nodes = (
        CustomNode(first, (0, 1), Mapping(((0, 1), (-1, 0)), (-1, -1), ((0, 1),))),
        CustomNode(second, (2,), Mapping(((0,),), (1,), ((0,),))),
    )
    return program, KernelGraph((x, w), nodes, (3,))


def test_a_second_kernel_that_sums_partial_products_is_seen_through():
    """Part of comb cancels across kernels. (That the stored tensor grows with d_y is for the shape check to refuse.)"""
    program, graph = split_k()
    (verdict,) = prove(program, [graph])
    assert verdict.proved and {"part-comb", "partial-red"} <= set(verdict.rules_fired)
    missing = replace(next(iter(graph.nodes)), mapping=Mapping(((0, -1), (-1, 0)), (-1, -1), ((0, 1),)))
    assert not prove(program, [replace(graph, nodes=(missing, graph.nodes[1]))])[0].proved


# --- What must not be proved -----------------------------------------------------------------------------------------------


def figure_1(nodes=None, mapping=None) -> KernelGraph:
    graph = examples.softmax_matmul_block()
    body = nodes or [(n.op, n.operands) for n in next(graph.custom).block.nodes]
    return build(FIGURE_1, body, mapping or next(graph.custom).mapping)


L0, L1, ACC, EXP, SUM = Load(0), Load(1), Accum(), unary("exp(x)"), sum_(1)
GOOD = [(L0, ()), (L1, ()), (EXP, (0,)), (SUM, (2,)), (ACC, (3,)), (MATMUL, (2, 1)), (ACC, (5,)), (DIV, (6, 4))]
ROWS = Mapping(((0,), (-1,)), (1, 0), ((0,),))

WRONG = {
    "swapped operands of div": figure_1([*GOOD[:7], (DIV, (4, 6))]),
    "no loop over the left operand": figure_1(mapping=Mapping(((0,), (-1,)), (-1, 0), ((0,),))),
    "no loop over the right operand": figure_1(mapping=Mapping(((0,), (-1,)), (1, -1), ((0,),))),
    "loop over rows": figure_1(mapping=Mapping(((-1,), (-1,)), (0, -1), ((-1,),))),
    "left operand cut by columns, right one whole": figure_1(mapping=Mapping(((1,), (-1,)), (-1, -1), ((-1,),))),
    "omap along the wrong dim": figure_1(mapping=Mapping(((0,), (-1,)), (1, 0), ((1,),))),
    "omap of a tile that is not cut": figure_1(mapping=Mapping(((-1,), (-1,)), (1, 0), ((0,),))),
    "no omap for a tile that is cut": figure_1(mapping=Mapping(((0,), (-1,)), (1, 0), ((-1,),))),
    "grid over what is contracted": figure_1(mapping=Mapping(((1,), (0,)), (-1, -1), ((-1,),))),
    "sum of the wrong tensor": figure_1([*GOOD[:3], (SUM, (0,)), *GOOD[4:]]),
    "product of the wrong tensor": figure_1([*GOOD[:5], (MATMUL, (0, 1)), *GOOD[6:]]),
    "another function": figure_1([*GOOD[:2], (unary("exp(2*x)"), (0,)), *GOOD[3:]]),
    "mul for div": figure_1([*GOOD[:7], (MUL, (6, 4))]),
    "function of a partial sum": figure_1(
        [(L0, ()), (L1, ()), (ACC, (0,)), (EXP, (2,)), (SUM, (3,)), (MATMUL, (0, 1)), (ACC, (5,)), (DIV, (6, 4))]
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_graphs_are_refuted_and_not_proved_when_the_refuter_is_bypassed(what):
    assert Refuter(FIGURE_1).refute(WRONG[what]) is not None
    (verdict,) = prove(FIGURE_1, [WRONG[what]])
    assert verdict.status is Status.UNKNOWN


def test_wrong_graphs_are_not_proved_beside_right_ones():
    """All candidates share one e-graph; none may borrow from another."""
    right = [figure_1(), figure_1(mapping=Mapping(((-1,), (1,)), (1, 0), ((1,),)))]
    verdicts = prove(FIGURE_1, [*right, *WRONG.values()])
    assert [v.proved for v in verdicts] == [True, True, *[False] * len(WRONG)]


def scaled_product(cols: int):
    """O = (X/Y).W with Y of X's shape."""
    return examples.build_program(
        "scaled", {"X": (64, 64), "Y": (64, 64), "W": (64, cols)}, [(DIV, (0, 1)), (MATMUL, (3, 2))]
    )


@pytest.mark.parametrize(
    "grid", [Mapping(((0,), (0,), (-1,)), (-1,) * 3, ((0,),)), Mapping(((-1,),) * 3, (-1,) * 3, ((-1,),))]
)
def test_a_full_divisor_does_not_leave_a_product(grid):
    program = scaled_product(64)
    nodes = [(Load(0), ()), (Load(1), ()), (Load(2), ()), (MATMUL, (0, 2)), (DIV, (3, 1))]
    graph = build(program, nodes, grid)
    found = Refuter(program).refute(graph)
    assert found is not None and "different dims of size 64" in found.reason
    assert Refuter(program).refute_alone(graph, "x") is not None
    assert not prove(program, [graph])[0].proved
    with pytest.raises(PrismError, match="cannot broadcast"):
        prove(scaled_product(32), [])
        build(scaled_product(32), nodes, grid).check()


def test_accumulators_without_loop_mapping_multiply_and_are_caught():
    program = examples.build_program("product", {"X": (64, 512), "W": (512, 128)}, [(MATMUL, (0, 1))])
    nodes = [(Load(0), ()), (Load(1), ()), (MATMUL, (0, 1)), (ACC, (2,))]
    graph = build(program, nodes, Mapping(((0,), (-1,)), (-1, -1), ((0,),)))
    found = Refuter(program).refute_alone(graph, "i")
    assert found is not None and found.got == 2 * found.expected % 65521
    assert Refuter(program).refute(graph) is not None
    assert not prove(program, [graph])[0].proved


def test_same_operators_with_other_wiring_are_other_terms():
    program = PROGRAMS["swiglu"]
    nodes = STRUCTURES["swiglu"]["plain"]
    mapping = Mapping(((-1,), (1,), (1,)), (1, 0, 0), ((1,),))
    swapped = [*nodes[:3], (MATMUL, (0, 2)), *nodes[4:6], (MATMUL, (0, 1)), *nodes[7:]]
    graphs = [build(program, nodes, mapping), build(program, swapped, mapping)]
    assert [v.proved for v in prove(program, graphs)] == [True, False]
    assert [v.status for v in verify(program, graphs)] == [Status.PROVED, Status.REFUTED]


def test_partial_sums_of_one_total_are_different_terms():
    """sum(X) by columns, and sum(X) by rows: the same total, but the square of one part is not that of the other."""
    var = term("Var", (), (0,))
    by_columns = term("Sum", [term("Sum", [term("Part", [var], (1, "p"))], (1,))], (0,))
    by_rows = term("Sum", [term("Sum", [term("Part", [var], (0, "p"))], (1,))], (0,))
    total = term("Sum", [term("Sum", [var], (1,))], (0,))

    def squared(partial):
        return term("Red", [term("Mul", [partial, partial])], ("p",))

    pairs = [
        (term("Red", [by_columns], ("p",)), total),
        (term("Red", [by_rows], ("p",)), total),
        (by_columns, by_rows),
        (squared(by_columns), squared(by_rows)),
    ]
    graph = ProofGraph(DEFAULT, Sizes({"p": 2}, ((12, 20),)))
    graph.load([b for _, b in pairs], {0: [a for a, _ in pairs]})
    for _ in range(10):
        graph.step()
    assert graph.proved() == {(0, 0), (0, 1)}


# --- Limits, canaries, options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (ProofLimits(iterations=1), "stopped after 1 iterations"),
        (ProofLimits(nodes=10), "nodes, more than 10"),
        (ProofLimits(seconds=0), "stopped after 0 s"),
    ],
)
def test_a_limit_makes_a_verdict_unknown_and_says_which(limits, reason):
    (verdict,) = prove(FIGURE_1, [figure_1()], limits=limits)
    assert verdict.status is Status.UNKNOWN and reason in verdict.reason


def test_a_saturated_e_graph_says_that_axioms_are_missing():
    (verdict,) = prove(FIGURE_1, [figure_1()], axioms=tuple(r for r in DEFAULT if r.name != "matmul-div-left"))
    assert verdict.status is Status.UNKNOWN and verdict.reason == NOT_CONNECTED


def test_a_rule_that_unites_different_shapes_stops_the_prover():
    wrong = Rule("wrong", "(Sum t d)", "t", "a deliberate mistake")
    with pytest.raises(SoundnessError, match="different shape"):
        prove(FIGURE_1, [figure_1()], axioms=(*DEFAULT, wrong))


def test_a_rule_that_unites_tiles_of_different_parallel_dims_stops_the_prover():
    wrong = Rule("wrong", "(Repl t p)", "t", "a deliberate mistake")
    with pytest.raises(SoundnessError, match="different shape"):
        prove(FIGURE_1, [figure_1()], axioms=(*DEFAULT, wrong))


def test_laws_of_exp_prove_what_exact_arithmetic_leaves_open():
    program = examples.build_program(
        "shifted", {"X": (64, 32), "M": (64, 1)}, [(unary("exp(x)"), (0,)), (EXP, (1,)), (DIV, (2, 3))]
    )
    graph = build(program, [(L0, ()), (L1, ()), (SUB, (0, 1)), (EXP, (2,))], Mapping(((0,), (0,)), (-1, -1), ((0,),)))
    assert [v.status for v in verify(program, [graph])] == [Status.UNKNOWN]
    assert [v.status for v in verify(program, [graph], axioms=select((*DEFAULT_GROUPS, "exp")))] == [Status.PROVED]


def test_maxima_are_accumulated_by_their_own_monoid():
    program = examples.build_program("max", {"X": (64, 32)}, [(reduce_max(1), (0,))])
    nodes = [(L0, ()), (reduce_max(1), (0,)), (Accum("max"), (1,))]
    summed = [(L0, ()), (reduce_max(1), (0,)), (ACC, (1,))]
    late = [(L0, ()), (Accum("max"), (0,)), (reduce_max(1), (1,))]
    columns, whole = Mapping(((0,),), (1,), ((0,),)), Mapping(((0,),), (-1,), ((0,),))
    graphs = [build(program, n, m) for n in (nodes, summed, late) for m in (columns, whole)]
    assert [v.proved for v in prove(program, graphs)] == [True, True, False, False, True, True]
    assert [v.proved for v in verify(program, graphs)] == [True, True, False, False, True, True]


def test_minima_are_accumulated_by_their_own_monoid():
    """Under a bound that is the same for all parts, from above as from below; not under a factor, which may be negative."""
    for bound, holds in ((MAXIMUM, True), (MINIMUM, True), (MUL, False)):
        program = examples.build_program("min", {"X": (64, 32), "C": (64, 1)}, [(reduce_min(1), (0,)), (bound, (2, 1))])
        inside = [(L0, ()), (L1, ()), (reduce_min(1), (0,)), (bound, (2, 1)), (Accum("min"), (3,))]
        summed = [*inside[:-1], (ACC, (3,))]
        columns = Mapping(((0,), (0,)), (1, -1), ((0,),))
        graphs = [build(program, n, columns) for n in (inside, summed)]
        assert [v.proved for v in prove(program, graphs)] == [holds, False]
        assert [v.status for v in verify(program, graphs)] == [
            Status.PROVED if holds else Status.REFUTED,
            Status.REFUTED,
        ]


def test_masks_are_cut_with_what_they_mask():
    program = examples.build_program("masked", {"M": (1, 32), "X": (64, 32)}, [(keep(0.0), (0, 1)), (sum_(1), (2,))])
    nodes = [(L0, ()), (L1, ()), (keep(0.0), (0, 1)), (sum_(1), (2,)), (ACC, (3,))]
    right, whole_mask = Mapping(((-1,), (0,)), (1, 1), ((0,),)), Mapping(((-1,), (0,)), (-1, 1), ((0,),))
    graphs = [build(program, nodes, right), build(program, nodes, whole_mask)]
    assert [v.proved for v in prove(program, graphs)] == [True, False]
    assert [v.status for v in verify(program, graphs)] == [Status.PROVED, Status.REFUTED]


def test_a_mask_passes_a_sum_only_where_it_puts_zeros():
    for value, holds in ((0.0, True), (1.0, False)):
        program = examples.build_program(
            "rows", {"M": (64, 1), "X": (64, 32)}, [(keep(value), (0, 1)), (sum_(1), (2,))]
        )
        late = [(L0, ()), (L1, ()), (sum_(1), (1,)), (keep(value), (0, 2))]
        graph = build(program, late, Mapping(((0,), (0,)), (-1, -1), ((0,),)))
        (verdict,) = verify(program, [graph])
        assert verdict.status is (Status.PROVED if holds else Status.REFUTED)


def test_transposes_and_reshapes_inside_a_block():
    program = examples.build_program(
        "moves", {"X": (4, 8, 32), "W": (32, 16)}, [(reshape(32, 32), (0,)), (MATMUL, (2, 1)), (transpose(1, 0), (3,))]
    )
    nodes = [(L0, ()), (L1, ()), (reshape(32, 32), (0,)), (MATMUL, (2, 1)), (ACC, (3,)), (transpose(1, 0), (4,))]
    right = build(program, nodes, Mapping(((-1,), (1,)), (2, 0), ((0,),)))
    wrong = build(program, nodes, Mapping(((-1,), (1,)), (2, 0), ((1,),)))
    cut_merged = build(program, nodes, Mapping(((0,), (-1,)), (2, 0), ((1,),)))
    assert [v.status for v in verify(program, [right, wrong, cut_merged])] == [
        Status.PROVED,
        Status.REFUTED,
        Status.REFUTED,
    ]
    assert [v.proved for v in prove(program, [right, wrong, cut_merged])] == [True, False, False]


def test_e_graphs_end_with_the_thread_that_made_them():
    """Another thread must neither use nor drop them; egglog complains on standard error."""
    script = (
        "import threading\n"
        "from prism_mlir.compiler.discover import discover\n"
        "from prism_mlir.graph.examples import rms_norm\n"
        "for _ in range(3):\n"
        "    thread = threading.Thread(target=discover, args=(rms_norm(16, 64, 64),))\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "discover(rms_norm(16, 64, 64))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
