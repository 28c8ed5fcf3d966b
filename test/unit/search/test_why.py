"""What the search says of a given graph: found if and only if it finds it, however it is written; each rule by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random

import pytest
from rewrite import changed, written_otherwise

from prism_mlir.dialects.sgraph.bridge import graph_to_ir, ir_to_graph
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load
from prism_mlir.graph.examples import (
    attention,
    build_program,
    qk_attention,
    rms_norm,
    rms_norm_mlp,
    softmax_matmul,
    swiglu,
)
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import ADD, DIV, MATMUL, MUL, sum_, unary
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.normal_form import Form, normal_form
from prism_mlir.search.search import search
from prism_mlir.search.why import RULES, Reached, Rejected, explain
from prism_mlir.verify.refute import Refuter

TWO = SearchLimits(operators=7, kernels=2, second_operators=4)
WORKLOADS: list[tuple[Callable[[], Program], SearchLimits]] = [
    (rms_norm, SearchLimits(operators=9)),
    (rms_norm_mlp, SearchLimits(operators=11, grid_dims=2)),
    (swiglu, SearchLimits(operators=9)),
    (attention, SearchLimits(operators=11)),
    (qk_attention, SearchLimits(operators=11, grid_dims=2)),
    (rms_norm, TWO),
    (attention, TWO),
]
IDS = [f"{make.__name__}-{limits.kernels}" for make, limits in WORKLOADS]


def refute(program: Program) -> Callable[[KernelGraph, str], str | None]:
    refuter = Refuter(program)

    def ask(graph: KernelGraph, dim: str) -> str | None:
        found = refuter.refute_alone(graph, dim)
        return None if found is None else found.reason

    return ask


@cache
def searched(make: Callable[[], Program], limits: SearchLimits) -> tuple[tuple[KernelGraph, ...], dict[Form, int]]:
    program, refuter, funnel = make(), Refuter(make()), Funnel()
    found = tuple(search(program, limits, funnel, lambda g, d: refuter.refute_alone(g, d) is None))
    assert funnel.complete and found
    return found, {normal_form(g): k for k, g in enumerate(found)}


@pytest.mark.parametrize(("make", "limits"), WORKLOADS, ids=IDS)
def test_every_candidate_is_found_however_it_is_written(make: Callable[[], Program], limits: SearchLimits) -> None:
    program, rng = make(), Random(7)
    found, number = searched(make, limits)
    assert len(number) == len(found)  # no two candidates are the same graph
    ask = refute(program)
    for k in rng.sample(range(len(found)), min(len(found), 40)):
        other = written_otherwise(found[k], rng)
        answer = explain(program, other, limits, ask)
        assert isinstance(answer, Reached), (k, answer)
        assert number[answer.form] == k


@pytest.mark.parametrize(("make", "limits"), WORKLOADS, ids=IDS)
def test_candidates_survive_the_way_through_ir(make: Callable[[], Program], limits: SearchLimits) -> None:
    program, (found, number) = make(), searched(make, limits)
    ask = refute(program)
    for k in Random(3).sample(range(len(found)), min(len(found), 12)):
        read = ir_to_graph(graph_to_ir(found[k], program=program))
        answer = explain(program, read, limits, ask)
        assert isinstance(answer, Reached) and number[answer.form] == k


@pytest.mark.parametrize(
    ("make", "limits"), [WORKLOADS[n] for n in (0, 2, 3, 5, 6)], ids=[IDS[n] for n in (0, 2, 3, 5, 6)]
)
def test_a_graph_is_reached_exactly_if_it_is_a_candidate(make: Callable[[], Program], limits: SearchLimits) -> None:
    """Graphs that differ from candidates in one place: explanation and search must agree on each."""
    program, rng = make(), Random(11)
    found, number = searched(make, limits)
    ask, rules = refute(program), set[str]()
    for _ in range(150):
        graph = changed(rng.choice(found), rng)
        answer = explain(program, graph, limits, ask)
        if isinstance(answer, Reached):
            assert answer.late or answer.form in number, graph
        else:
            rules.add(answer.rule)
    assert rules <= set(RULES) and len(rules) >= 4


# graphs made by hand, one for each rule

SOFTMAX = softmax_matmul(64, 48, 32)


def kernel(
    program: Program,
    nodes: list[BlockNode],
    outputs: tuple[int, ...],
    mapping: Mapping | None,
    grid: tuple[str, ...] = ("x",),
) -> KernelGraph:
    types = program_types(program)
    loop = "i" if any(isinstance(n.op, Accum) for n in nodes) else None
    block = BlockGraph(grid, loop, types, tuple(nodes), outputs)
    custom = CustomNode(block, tuple(range(len(types))), mapping)
    return KernelGraph(types, (custom,), tuple(len(types) + k for k in range(len(program.outputs))))


EXP = unary("exp(x)")
SOFTMAX_NODES = [
    BlockNode(Load(0)),
    BlockNode(Load(1)),
    BlockNode(EXP, (0,)),
    BlockNode(sum_(1), (2,)),
    BlockNode(Accum(), (3,)),
    BlockNode(MATMUL, (2, 1)),
    BlockNode(Accum(), (5,)),
    BlockNode(DIV, (6, 4)),
]
GOOD = Mapping(((0,), (-1,)), (1, 0), ((0,),))
SQUARE = build_program("square", {"X": (8, 8), "W": (8, 8)}, [(MATMUL, (0, 1)), (unary("exp(x)"), (2,))])
RESIDUAL = build_program("residual", {"X": (8, 12), "W": (12, 12)}, [(MATMUL, (0, 1)), (ADD, (2, 0))])


def softmax(mapping: Mapping | None = GOOD, grid: tuple[str, ...] = ("x",)) -> KernelGraph:
    return kernel(SOFTMAX, SOFTMAX_NODES, (7,), mapping, grid)


def with_nodes(*nodes: BlockNode, output: int, mapping: Mapping | None = None) -> KernelGraph:
    return kernel(SOFTMAX, list(nodes), (output,), mapping)


X, W = SOFTMAX_NODES[:2]
X0, W0 = BlockNode(Load(0, True)), BlockNode(Load(1, True))
BY_HAND: dict[str, tuple[Program, KernelGraph, SearchLimits, str]] = {
    "interface": (
        softmax_matmul(64, 48, 16),
        softmax(),
        SearchLimits(),
        "inputs are not the program's",
    ),
    "library": (
        SQUARE,
        KernelGraph(program_types(SQUARE), (LibraryNode(MATMUL, (0, 1)), LibraryNode(EXP, (2,))), (3,)),
        SearchLimits(),
        "2 library operators, the limit is 0",
    ),
    "loads": (
        SQUARE,
        kernel(SQUARE, [W0, BlockNode(MATMUL, (0, 0)), BlockNode(EXP, (1,))], (2,), None),
        SearchLimits(),
        "X is not loaded, and the outputs depend on it",
    ),
    "repeated": (
        SOFTMAX,
        with_nodes(
            X0,
            W0,
            BlockNode(EXP, (0,)),
            BlockNode(EXP, (0,)),
            BlockNode(sum_(1), (3,)),
            BlockNode(MATMUL, (2, 1)),
            BlockNode(DIV, (5, 4)),
            output=6,
        ),
        SearchLimits(),
        "repeats node 2",
    ),
    "operators": (SOFTMAX, softmax(), SearchLimits(operators=5), "more operators (6) than the limit of 5"),
    "vocabulary": (
        SOFTMAX,
        with_nodes(X0, W0, BlockNode(unary("tanh(x)"), (0,)), BlockNode(MATMUL, (2, 1)), output=3),
        SearchLimits(),
        "node 2 (unary[tanh(x)]) is no operator that the program suggests",
    ),
    "subexpression": (
        SOFTMAX,
        with_nodes(X0, W0, BlockNode(MATMUL, (0, 1)), BlockNode(EXP, (2,)), output=3),
        SearchLimits(),
        "node 2 (matmul) is no subexpression of the program",
    ),
    "stages": (
        SOFTMAX,
        with_nodes(X, W, BlockNode(EXP, (0,)), BlockNode(Accum(), (2,)), BlockNode(MATMUL, (3, 1)), output=4),
        SearchLimits(),
        "mixes a tile of the loop body with one that exists after the loop",
    ),
    "dims": (
        SQUARE,  # X . W and W . X have the same abstract expression up to order; here the contracted dim is not the program's
        kernel(SQUARE, [X0, W0, BlockNode(MATMUL, (1, 0)), BlockNode(EXP, (2,))], (3,), None),
        SearchLimits(),
        "dims of node 2 (matmul) do not match",
    ),
    "unfinished": (
        SOFTMAX,
        with_nodes(*SOFTMAX_NODES, BlockNode(Accum(), (2,)), output=7),
        SearchLimits(),
        "node 8 (accum) is used by nothing",
    ),
    "outputs": (
        RESIDUAL,
        kernel(RESIDUAL, [X0, W0, BlockNode(MATMUL, (0, 1)), BlockNode(ADD, (0, 2))], (2,), None),
        SearchLimits(),
        "output 0 is node 2 (matmul)",
    ),
    "idle load": (
        SOFTMAX,
        with_nodes(X, W0, *SOFTMAX_NODES[2:], output=7),
        SearchLimits(invariant_loads=True),
        "same as a load inside the loop",
    ),
    "grid dims": (
        SOFTMAX,
        softmax(replace(GOOD, imap=((-1, 0), (1, -1)), omap=((1, 0),)), ("x", "y")),
        SearchLimits(grid_dims=1),
        "2 grid dims, the limit is 1",
    ),
    "mapping": (SOFTMAX, softmax(replace(GOOD, omap=((1,),))), SearchLimits(), "omap"),
    "idle loop": (SOFTMAX, softmax(replace(GOOD, fmap=(-1, -1))), SearchLimits(), "the loop cuts nothing"),
    "kernels": (
        SOFTMAX,
        KernelGraph(softmax().inputs, (*softmax().nodes, *softmax().nodes), (3,)),
        SearchLimits(),
        "searched only with kernels=2",
    ),
}


@pytest.mark.parametrize("rule", BY_HAND)
def test_each_rule_is_named(rule: str) -> None:
    program, graph, limits, text = BY_HAND[rule]
    answer = explain(program, graph, limits, refute(program))
    assert isinstance(answer, Rejected), answer
    assert answer.rule == rule, answer
    assert text in str(answer)


def test_too_few_operators_left() -> None:
    """The accumulator that nothing uses would need to be joined to something, and there is no operator left for that."""
    graph = with_nodes(*SOFTMAX_NODES, BlockNode(Accum(), (2,)), output=7)
    answer = explain(SOFTMAX, graph, SearchLimits(operators=7), refute(SOFTMAX))
    assert isinstance(answer, Rejected) and answer.rule == "unfinished"
    assert "too few operators are left" in str(answer)


def test_a_tensor_loaded_in_both_places_is_searched_late_or_never() -> None:
    nodes = [X, X0, W, *(BlockNode(n.op, tuple(v + (v > 0) for v in n.operands)) for n in SOFTMAX_NODES[2:])]
    answer = explain(SOFTMAX, kernel(SOFTMAX, nodes, (8,), None), SearchLimits(), refute(SOFTMAX))
    assert isinstance(answer, Rejected) and answer.rule == "unfinished"
    assert str(answer) == "node 1 (load[0; invariant]) is used by nothing"


def test_a_tensor_loaded_twice_alike_is_the_same_as_loaded_once() -> None:
    program = build_program(
        "rows", {"X": (8, 12), "W": (12, 6)}, [(sum_(1), (0,)), (DIV, (0, 2)), (MATMUL, (3, 1)), (sum_(1), (4,))]
    )
    nodes = [X, X0, W, BlockNode(sum_(1), (1,)), BlockNode(DIV, (0, 3)), BlockNode(MATMUL, (4, 2))]
    nodes += [BlockNode(sum_(1), (5,)), BlockNode(Accum(), (6,))]
    limits = SearchLimits(invariant_loads=True)
    for rows in ((0, 0, -1), (-1, -1, -1)):
        mapping = Mapping(tuple((d,) for d in rows), (-1, -1, 1), ((max(rows),),))
        answer = explain(program, kernel(program, nodes, (7,), mapping), limits, refute(program))
        assert isinstance(answer, Rejected) and answer.rule == "idle load"
        assert "the same as loaded once" in str(answer)


def test_the_good_graph_is_reached() -> None:
    answer = explain(SOFTMAX, softmax(), SearchLimits(), refute(SOFTMAX))
    assert isinstance(answer, Reached) and not answer.late and not answer.notes


def test_a_cut_that_is_wrong_alone_comes_with_its_counterexample() -> None:
    """exp(x)/sum(exp(x)) without an accumulator for the division's denominator: the loop may not cut the reduced dim."""
    nodes = [
        BlockNode(Load(0)),
        BlockNode(Load(1)),
        BlockNode(EXP, (0,)),
        BlockNode(sum_(1), (2,)),
        BlockNode(DIV, (2, 3)),
        BlockNode(MATMUL, (4, 1)),
        BlockNode(Accum(), (5,)),
    ]
    graph = kernel(SOFTMAX, nodes, (6,), GOOD)
    answer = explain(SOFTMAX, graph, SearchLimits(), refute(SOFTMAX))
    assert isinstance(answer, Rejected) and answer.rule == "refuted alone"
    assert "the cut of loop i, {input 0: dim 1, input 1: dim 0}, is refuted alone: an element differs" in str(answer)


def test_a_load_outside_the_loop_is_late() -> None:
    """x.W + x with a loop over the contracted dim: the second x is loaded outside."""
    nodes = [
        BlockNode(Load(0)),
        BlockNode(Load(0, True)),
        BlockNode(Load(1)),
        BlockNode(MATMUL, (0, 2)),
        BlockNode(Accum(), (3,)),
        BlockNode(ADD, (1, 4)),
    ]
    graph = kernel(RESIDUAL, nodes, (5,), Mapping(((0,), (0,), (-1,)), (1, -1, 0), ((0,),)))
    answer = explain(RESIDUAL, graph, SearchLimits(), refute(RESIDUAL))
    assert isinstance(answer, Reached)
    assert answer.late == "loads X outside the loop: searched only when few graphs, or none with a loop, are found"
    answer = explain(RESIDUAL, graph, SearchLimits(invariant_loads=True), refute(RESIDUAL))
    assert isinstance(answer, Reached) and not answer.late


def test_permuted_and_idle_grid_dims_are_noted() -> None:
    both = replace(GOOD, imap=((-1, -1, 0), (1, -1, -1)), omap=((1, -1, 0),))
    answer = explain(SOFTMAX, softmax(both, ("x", "y", "z")), SearchLimits(), refute(SOFTMAX))
    assert isinstance(answer, Reached)
    assert "grid dims that cut nothing are left out" in answer.notes
    assert "grid dims are permuted" in answer.notes
    straight = replace(GOOD, imap=((0, -1), (-1, 1)), omap=((0, 1),))
    other = explain(SOFTMAX, softmax(straight, ("x", "y")), SearchLimits(), refute(SOFTMAX))
    assert isinstance(other, Reached) and other.form == answer.form and not other.notes


def test_only_maximal_grids_of_two_kernels() -> None:
    """Taking a grid dim away from a candidate leaves a right graph that the search does not list."""
    found, _ = searched(rms_norm, TWO)
    program = rms_norm()
    graph = next(
        g for g in found if len(g.nodes) == 2 and not any(g.expansions) and len(next(g.custom).block.grid) == 2
    )
    first, second = graph.custom
    assert first.mapping is not None
    rows = [tuple(r[1:] for r in maps) for maps in (first.mapping.imap, first.mapping.omap)]
    fewer = replace(
        first,
        block=replace(first.block, grid=first.block.grid[1:]),
        mapping=replace(first.mapping, imap=rows[0], omap=rows[1]),
    )
    answer = explain(program, replace(graph, nodes=(fewer, second)), TWO, refute(program))
    assert isinstance(answer, Rejected) and answer.rule == "maximal", answer


def test_the_form_sees_every_difference_that_matters() -> None:
    swapped = kernel(SOFTMAX, [*SOFTMAX_NODES[:7], BlockNode(MUL, (6, 4))], (7,), GOOD)
    assert normal_form(swapped) != normal_form(softmax())
    assert normal_form(softmax(replace(GOOD, fmap=(1, -1)))) != normal_form(softmax())
    assert normal_form(softmax(None)) != normal_form(softmax())


def test_graphs_with_library_operators() -> None:
    """They are found as they are and after the way through IR; with fewer library operators allowed, the limit is named."""
    limits = SearchLimits(operators=6, library=2, second_operators=6)
    found, number = searched(attention, limits)
    program = attention()
    ask = refute(program)
    mixed = [k for k, g in enumerate(found) if any(isinstance(n, LibraryNode) for n in g.nodes)]
    assert mixed and len(number) == len(found)
    for k in mixed:
        for graph in (found[k], ir_to_graph(graph_to_ir(found[k], program=program))):
            answer = explain(program, graph, limits, ask)
            assert isinstance(answer, Reached), answer
            assert number[answer.form] == k
    two = next(found[k] for k in mixed if sum(isinstance(n, LibraryNode) for n in found[k].nodes) == 2)
    answer = explain(program, two, replace(limits, library=1), ask)
    assert isinstance(answer, Rejected) and answer.rule == "library"
    assert str(answer) == "2 library operators, the limit is 1"
