"""Softmax in emitted code: proved graphs at random legal schedules, on the PTX machine with every check on.

Expected values are the source program's (with its shift) in f64; the bound is the running error analysis of the program
(``compiler.error_bound``), which knows nothing of the graph or the schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest

from prism_mlir.codegen.compile import compile_graph, feasible
from prism_mlir.compiler.accuracy import references
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.error_bound import error_bounds
from prism_mlir.compiler.execute import Emulator
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.examples import attention, build_program, qk_attention
from prism_mlir.graph.fields import Reals
from prism_mlir.graph.footprint import place
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.ops import ADD, DIV, MATMUL, RUNNING_MAX, sum_, unary
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule
from prism_mlir.search.limits import SearchLimits

EXP = unary("exp(x)")


def shifted(program: Program) -> Program:
    return shifted_by(2, program)


def shifted_by(dim: int, program: Program) -> Program:
    nodes = [replace(n, shift=dim) if n.op.fn is not None and n.op.fn.text == "exp(x)" else n for n in program.nodes]
    return replace(program, nodes=tuple(nodes))


def masked() -> Program:
    """softmax(Q K / 4 + M) V"""
    shapes = {"Q": (2, 8, 16), "K": (2, 16, 48), "V": (2, 48, 16), "M": (1, 8, 48)}
    scores = [(MATMUL, (0, 1)), (unary("x/4"), (4,)), (ADD, (5, 3)), (unary("exp(x)"), (6,))]
    return shifted(build_program("masked", shapes, [*scores, (sum_(2), (7,)), (DIV, (7, 8)), (MATMUL, (9, 2))]))


PROGRAMS: dict[str, tuple[Callable[[], Program], int]] = {
    "grouped": (lambda: shifted(attention(2, 64, 32, 8)), 1),
    "one row": (lambda: shifted(attention(3, 40, 16, 1)), 1),
    "odd rows": (lambda: shifted(attention(2, 48, 16, 5)), 2),
    "normalised": (lambda: shifted(qk_attention(2, 32, 16, 8)), 1),
    "masked": (masked, 1),
}


@cache
def graphs_of(name: str) -> tuple[Program, tuple[KernelGraph, ...]]:
    make, kernels = PROGRAMS[name]
    program = make()
    made, _ = code_graphs(program, discover(program, SearchLimits(kernels=kernels)).proved)
    return program, tuple(made)


def arguments(program: Program, kind: str, seed: int) -> list[np.ndarray]:
    """Inputs as stored. ``steep``: scores reach some 1e4; ``masked``: half of M is -inf, and all of its row 1."""
    rng = np.random.default_rng(seed)
    values = [rng.standard_normal(i.arg_shape) for i in program.inputs]
    if kind == "steep":
        values[0] *= 2000.0
        values[0][..., ::3, :] = 0.0
    if kind == "masked":
        values[3][rng.random(values[3].shape) < 0.5] = -np.inf
        values[3][:, 1, :] = -np.inf
    return [from_float64(v, i.dtype) for v, i in zip(values, program.inputs, strict=True)]


def schedule(graph: KernelGraph, rng: Random) -> Schedule:
    """Any sizes, those that leave the last tile ragged included."""
    sizes = {p: rng.choice([1, 2, 2, 3, 4, 5, 8]) for p in graph.parallel_dims}
    return Schedule.of(sizes, rng.choice([1, 2, 4]), rng.choice([1, 2, 3]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_random_graphs_at_random_schedules(name: str) -> None:
    program, graphs = graphs_of(name)
    rng, ran = Random(name), 0
    while ran < 5:
        graph = rng.choice(graphs)
        point = schedule(graph, rng)
        if feasible(program, graph, point) is not None:
            continue
        compiled = compile_graph(program, graph, point)
        run = Emulator(compiled.launch, {compiled.launch.kernels[0].ptx: compiled.ptx})
        for kind in ("plain", "steep", *(["masked"] if name == "masked" else [])):
            inputs = arguments(program, kind, ran)
            views = program.views(inputs)
            with np.errstate(invalid="ignore"):
                (exact,), (bound,) = program.evaluate(views, Reals()), error_bounds(program, views)
            (got,) = run(inputs)
            value = to_float64(got, program.outputs[0].dtype)
            nothing = np.isnan(exact)
            assert nothing.any() == (kind == "masked")
            assert np.isnan(value[nothing]).all()
            assert (np.abs(value - exact)[~nothing] <= bound[~nothing]).all(), (str(graph), point, kind)
        ran += 1


def test_results_in_f32() -> None:
    """Accurate forms of exp and division, where results are f32."""
    program = shifted(attention(2, 48, 16, 4))
    wide = replace(
        program,
        inputs=tuple(replace(i, dtype=DType.F32) for i in program.inputs),
        outputs=tuple(replace(o, dtype=DType.F32) for o in program.outputs),
    )
    graph = next(g for g in code_graphs(wide, discover(wide).proved)[0] if next(g.custom).block.loop)
    point = Schedule.of(dict.fromkeys(graph.parallel_dims, 2), 2, 2)
    compiled = compile_graph(wide, graph, point)
    inputs = arguments(wide, "plain", 1)
    views = wide.views(inputs)
    (exact,), (bound,) = wide.evaluate(views, Reals()), error_bounds(wide, views)
    (got,) = Emulator(compiled.launch, {compiled.launch.kernels[0].ptx: compiled.ptx})(inputs)
    assert bound.max() < 2.0**-11  # what rounding a 1 to f16 may cost: f16 would not do
    assert (np.abs(got - exact) <= bound).all()


def test_the_reduction_itself_raises_the_maximum() -> None:
    """What a row's maximum is in one iteration is never stored: no buffer, and no barrier, between it and the running maximum."""
    _, graphs = graphs_of("grouped")
    graph = next(g for g in graphs if next(g.custom).block.loop)
    node = next(graph.custom)
    assert node.mapping is not None
    placement = place(node.block, node.mapping, dict.fromkeys(graph.parallel_dims, 2), 2)
    (running,) = (k for k, n in enumerate(node.block.nodes) if n.op == RUNNING_MAX)
    (reduction,) = node.block.nodes[running].operands
    assert placement.rising == {reduction: running}
    keys = {b.key for b in placement.buffers}
    assert (reduction, "value") not in keys
    assert {(running, "value"), (running, "factor")} <= keys


def rows_of_softmax() -> Program:
    """softmax(X) over its rows: exponentials that one kernel sums up and another one divides."""
    return shifted_by(1, build_program("rows", {"X": (24, 32)}, [(EXP, (0,)), (sum_(1), (1,)), (DIV, (1, 2))]))


def columns_of_softmax() -> Program:
    """softmax(X) over its columns, times W: a loop over the product's inner dim has other columns in each iteration."""
    nodes = [(EXP, (0,)), (sum_(0), (2,)), (DIV, (2, 3)), (MATMUL, (4, 1))]
    return shifted_by(0, build_program("columns", {"X": (16, 64), "W": (64, 8)}, nodes))


@pytest.mark.parametrize("make", [rows_of_softmax, columns_of_softmax])
def test_maxima_far_apart(make: Callable[[], Program]) -> None:
    """Scores of some 1e4 either way, each row or column at a height of its own: every graph subtracts the right maximum."""
    program = make()
    graphs = [g for g in discover(program, SearchLimits(operators=5, kernels=2)).proved if scales(program, g)]
    assert any(len(g.nodes) == 2 for g in graphs) and any(n.block.loop for g in graphs for n in g.custom)
    values = [np.random.default_rng(1).standard_normal(i.shape) for i in program.inputs]
    values[0] *= 2000.0
    inputs = [from_float64(v, i.dtype) for v, i in zip(values, program.inputs, strict=True)]
    (reference,) = references(program, inputs)
    for graph in graphs[:: max(1, len(graphs) // 8)]:
        compiled = compile_graph(program, graph, Schedule.of(dict.fromkeys(graph.parallel_dims, 2), 2, 1))
        (got,) = Emulator(compiled.launch, {compiled.launch.kernels[0].ptx: compiled.ptx})(inputs)
        value = to_float64(got, program.outputs[0].dtype)
        assert (np.abs(value - reference.exact) <= reference.bound).all(), str(graph)


def test_a_softmax_of_one_element() -> None:
    """It is 1, and NaN where the score is -inf or NaN: -inf less a maximum of -inf, as in the source."""
    program = shifted_by(1, build_program("one", {"X": (5, 1)}, [(EXP, (0,)), (sum_(1), (1,)), (DIV, (1, 2))]))
    inputs = [np.array([[0.0], [-np.inf], [6e4], [np.nan], [-6e4]], np.float16)]
    for graph in discover(program, SearchLimits(operators=4, kernels=2)).proved:
        compiled = compile_graph(program, graph, Schedule.of(dict.fromkeys(graph.parallel_dims, 1), 1, 1))
        (got,) = Emulator(compiled.launch, {compiled.launch.kernels[0].ptx: compiled.ptx})(inputs)
        np.testing.assert_array_equal(got, np.array([[1.0], [np.nan], [1.0], [np.nan], [1.0]], np.float16))


def scales(program: Program, graph: KernelGraph) -> bool:
    """Whether there is code for it."""
    return bool(code_graphs(program, [graph])[0])
