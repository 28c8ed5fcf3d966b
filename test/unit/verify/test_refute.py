"""Exact refutation, against direct evaluation and against counts done on paper."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from candidates import PROGRAMS, STRUCTURES, build

from prism_mlir.graph import examples
from prism_mlir.graph.block import Load, TensorType
from prism_mlir.graph.dims import dim_classes, shrink
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError, PrismError
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.fields import PrimeField
from prism_mlir.graph.kernel import KernelGraph, LibraryNode, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import ADD, DIV, MATMUL, MUL, SUB, constant, reduce_max, sum_, transpose, unary
from prism_mlir.verify.fit import shrink_graph
from prism_mlir.verify.mutants import mutants
from prism_mlir.verify.refute import Refuter, trial_sizes
from prism_mlir.verify.verdict import Counterexample, Status
from prism_mlir.verify.verify import verify

FIGURE_1 = examples.softmax_matmul()


def alone_by_evaluation(program, graph, dim, count) -> bool:
    """Whether the graph is right at these sizes, by the reference semantics and another prime."""
    sizes = [12] * len(dim_classes(program).sizes)
    small = shrink(program, dict(enumerate(sizes)))
    domain, rng = PrimeField(seed=5), np.random.default_rng(5)
    inputs = [rng.integers(1, domain.p, i.shape) for i in small.inputs]
    parallel = {p: count if p == dim else 1 for p in graph.parallel_dims}
    try:
        got = evaluate_graph(shrink_graph(graph, program, sizes), parallel, inputs, domain)
    except (PrismError, ValueError):
        return False
    return all(np.array_equal(a, b) for a, b in zip(small.evaluate(inputs, domain), got, strict=True))


@pytest.mark.parametrize(("workload", "name"), [("rms_norm", "accum_then_sum"), ("attention_rows", "loop_keys")])
@pytest.mark.parametrize("dim", ["x", "i"])
def test_one_dim_alone_agrees_with_evaluation_on_every_assignment(workload, name, dim):
    program, nodes = PROGRAMS[workload], STRUCTURES[workload][name]
    rank, loads = len(program.inputs[0].shape), len(program.inputs)
    refuter, right = Refuter(program), 0
    for choice in product(range(-1, rank), repeat=loads + (dim == "x")):
        imap = tuple((d,) for d in choice[:loads]) if dim == "x" else ((-1,),) * loads
        omap = (choice[-1] if dim == "x" else -1,)
        graph = build(program, nodes, Mapping(imap, choice[:loads] if dim == "i" else (-1,) * loads, (omap,)))
        expected = all(alone_by_evaluation(program, graph, dim, n) for n in (2, 3))
        assert (refuter.refute_alone(graph, dim) is None) == expected, graph
        right += expected
    assert right >= 2 - (dim == "i")


def test_loop_alone_finds_the_one_mapping_of_rms_norm():
    """On paper: both operands must be cut along what is contracted, since the product is accumulated."""
    program, nodes = PROGRAMS["rms_norm"], STRUCTURES["rms_norm"]["sum_then_accum"]
    refuter = Refuter(program)
    right = [
        fmap
        for fmap in product((-1, 0, 1), repeat=2)
        if refuter.refute_alone(build(program, nodes, Mapping(((-1,), (-1,)), fmap, ((-1,),))), "i") is None
    ]
    assert right == [(1, 0)]


def test_a_counterexample_can_be_checked_by_hand():
    """X.W accumulated in a loop that cuts nothing: two iterations double the product."""
    program = examples.build_program("product", {"X": (8, 8), "W": (8, 8)}, [(MATMUL, (0, 1))])
    nodes = [*STRUCTURES["swiglu"]["plain"][:2], (MATMUL, (0, 1)), (STRUCTURES["swiglu"]["plain"][4][0], (2,))]
    graph = build(program, nodes, Mapping(((-1,), (-1,)), (-1, -1), ((-1,),)))
    found = Refuter(program, seed=3).refute(graph)
    assert found is not None and dict(found.sizes) == {"x": 2, "i": 2} and found.seed == 3
    rng = np.random.default_rng(found.seed)
    m, k, n = found.dims
    x = rng.integers(1, 67_108_859, (m, k)).astype(object)
    w = rng.integers(1, 67_108_859, (k, n)).astype(object)
    exact = int((x @ w)[found.index]) % 67_108_859
    assert (found.expected, found.got) == (exact, 2 * exact % 67_108_859)
    assert json.loads(json.dumps(found.to_dict()))["index"] == list(found.index)


def test_trial_sizes_are_2_then_3_then_mixed():
    assert trial_sizes(("x", "y", "i")) == (
        (("x", 2), ("y", 2), ("i", 2)),
        (("x", 3), ("y", 3), ("i", 3)),
        (("x", 2), ("y", 3), ("i", 2)),
        (("x", 3), ("y", 2), ("i", 3)),
    )
    assert trial_sizes(()) == ((),)


def test_one_grid_dim_and_the_loop_may_cut_the_same_dim():
    program = examples.build_program("square", {"X": (64, 64)}, [(unary("x**2"), (0,))])
    nodes = [*STRUCTURES["swiglu"]["plain"][:1], (unary("x**2"), (0,))]
    graph = build(program, nodes, Mapping(((0,),), (-1,), ((0,),)))
    assert Refuter(program).refute(graph) is None
    total = examples.build_program("total", {"X": (64, 64)}, [(STRUCTURES["rms_norm"]["no_loop"][3][0], (0,))])
    split = [STRUCTURES["rms_norm"]["accum_then_sum"][k] for k in (0,)]
    split += [(STRUCTURES["rms_norm"]["no_loop"][3][0], (0,)), (STRUCTURES["swiglu"]["plain"][4][0], (1,))]
    both = build(total, split, Mapping(((1,),), (1,), ((-1,),)))
    assert Refuter(total).refute(both) is not None  # the grid's partial sums are never added up


# --- graphs that users write ---------------------------------------------------------------------------------------------


def library(program, nodes, outputs, types=None) -> KernelGraph:
    return KernelGraph(types or program_types(program), tuple(LibraryNode(op, v) for op, v in nodes), outputs)


SCALE = examples.build_program("scale", {"X": (16, 64), "S": (16, 1)}, [(DIV, (0, 1))])
X, S = program_types(SCALE)


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (library(SCALE, [(unary("x**2"), (0,))], (1,), (X,)), "takes 1 inputs, the program 2"),
        (library(SCALE, [(DIV, (0, 1))], (2,), (X, X)), r"input 1 is \[16, 64\] f16, the program's \[16, 1\] f16"),
        (library(SCALE, [(DIV, (0, 1))], (2,), (X, TensorType((16, 1), DType.F32))), "f32, the program's"),
        (library(SCALE, [(DIV, (0, 1))], (2, 2)), "gives 2 outputs, the program 1"),
        (library(SCALE, [(DIV, (1, 1))], (2,)), r"output 0 has shape \[16, 1\], the program's \[16, 64\]"),
        (library(SCALE, [(MATMUL, (0, 1))], (2,)), "matmul needs"),
        (library(SCALE, [(MUL, (0, 1))], (2,)), "an element differs"),
    ],
)
def test_graphs_that_do_not_fit_are_refuted_with_the_reason(graph, reason):
    (verdict,) = verify(SCALE, [graph])
    assert verdict.status is Status.REFUTED
    assert re.search(reason, verdict.reason), verdict.reason
    assert json.loads(json.dumps(verdict.to_dict()))["counterexample"]["reason"] == verdict.reason


def test_symbolic_mappings_are_a_user_error():
    with pytest.raises(InputError, match="instantiate them first"):
        verify(FIGURE_1, [examples.softmax_matmul_block(mapping=False)])


def test_two_grid_dims_on_one_data_dim_are_refused():
    graph = build(
        FIGURE_1, [(n.op, n.operands) for n in next(examples.softmax_matmul_block().custom).block.nodes],
        Mapping(((0, 0), (-1, -1)), (1, 0), ((0, 0),)), ("x", "y"),
    )  # fmt: skip
    (verdict,) = verify(FIGURE_1, [graph])
    assert verdict.status is Status.REFUTED and "two grid dims" in verdict.reason


def test_a_square_weight_is_not_its_transpose():
    program = examples.build_program("product", {"X": (16, 64), "W": (64, 64)}, [(MATMUL, (0, 1))])
    graph = library(program, [(transpose(1, 0), (1,)), (MATMUL, (0, 2))], (3,))
    (verdict,) = verify(program, [graph])
    assert verdict.status is Status.REFUTED and "two different dims of size 64" in verdict.reason


def test_constants_keep_their_meaning():
    program = examples.build_program("shift", {"X": (16, 64)}, [(constant(0.5, (1, 1)), ()), (ADD, (0, 1))])
    right = library(program, [(constant(0.5, (1, 1)), ()), (ADD, (1, 0))], (2,))
    wrong = library(program, [(constant(0.25, (1, 1)), ()), (ADD, (1, 0))], (2,))
    assert [v.status for v in verify(program, [right, wrong])] == [Status.PROVED, Status.REFUTED]


def test_divisions_by_zero_are_not_counterexamples():
    """(X-Y)/(X-Y) with X = Y never has a value: nothing to compare, so nothing is claimed."""
    program = examples.build_program("zero", {"X": (4, 4)}, [(SUB, (0, 0)), (DIV, (0, 1))])
    graph = library(program, [(SUB, (0, 0)), (DIV, (0, 1))], (2,))
    assert Refuter(program).refute(graph) is None
    other = library(program, [(SUB, (0, 0)), (MUL, (0, 1))], (2,))
    assert verify(program, [other])[0].status is Status.UNKNOWN


def test_f64_agreement_stops_a_refutation_by_unknown_functions():
    program = examples.build_program("square", {"X": (8, 8)}, [(unary("x**2"), (0,))])
    graph = library(program, [(MUL, (0, 0))], (1,))
    assert verify(program, [graph])[0].status is Status.UNKNOWN
    cube = library(program, [(MUL, (0, 0)), (MUL, (0, 1))], (2,))
    assert verify(program, [cube])[0].status is Status.REFUTED


def test_blocks_that_store_nan_agree():
    """x * (x * (x/x)) has no value at zero, where x**2 has one; blocks that all find NaN there do not disagree."""
    program = examples.build_program("squares", {"X": (8, 8)}, [(unary("x**2"), (0,)), (sum_(1), (1,))])
    nodes = [(Load(0, True), ()), (DIV, (0, 0)), (MUL, (0, 1)), (MUL, (0, 2)), (sum_(1), (3,))]
    graph = build(program, nodes, Mapping(((-1,),), (-1,), ((-1,),)))
    found = Refuter(program).refute(graph)
    assert found is not None and found.reason == "an element differs"


def test_blocks_that_differ_by_rounding_agree():
    """max((X+Y) - X) is Y in every block, whatever part of X it has, up to rounding. (Nobody knows that x**2 is x * x.)"""
    ops = [(ADD, (0, 1)), (SUB, (2, 0)), (reduce_max(1), (3,))]
    program = examples.build_program("same", {"X": (8, 12), "Y": (8, 1)}, [*ops, (unary("x**2"), (4,))])
    nodes = [(Load(0, True), ()), (Load(1, True), ()), *ops, (MUL, (4, 4))]
    graph = build(program, nodes, Mapping(((1,), (-1,)), (-1, -1), ((-1,),)))
    assert Refuter(program).refute(graph) is None


def test_verdicts_record_seeds_and_sizes_and_are_reproducible():
    graph = examples.softmax_matmul_block()
    first, again = (verify(FIGURE_1, [graph], seed=9) for _ in range(2))
    assert first == again and first[0].seeds == (9, 10, 11, 12)
    assert first[0].sizes_tried == trial_sizes(("x", "i"))
    names = [replace(v, seeds=()).to_dict()["status"] for v in first]
    assert names == ["proved"]


def test_every_counterexample_replays_from_its_json():
    """Ill-formed graphs, blocks that disagree and elements that differ alike; and none replays on the right graph."""
    program, graph = FIGURE_1, examples.softmax_matmul_block()
    refuter, reasons = Refuter(program, seed=4), set()
    for mutant in mutants(graph, np.random.default_rng(3), 80, ill_formed=0.4):
        found = refuter.refute(mutant.graph)
        if found is None:
            continue
        recorded = Counterexample.from_dict(json.loads(json.dumps(found.to_dict())))
        assert recorded == found
        assert Refuter(program, seed=4).replay(mutant.graph, recorded) == found
        reasons.add(found.reason.split()[0])
        if set(dict(found.sizes)) == {"x", "i"}:
            assert refuter.replay(graph, recorded) is None
    assert len(reasons) > 3
