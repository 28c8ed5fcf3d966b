"""Scaled tiles: rewritten graphs compute what the program does, in f64, also where a bare exponential overflows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from prism_mlir.compiler.discover import discover
from prism_mlir.graph.block import Accum, Load
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.examples import attention, build_program, qk_attention, softmax_matmul
from prism_mlir.graph.fields import Reals
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.ops import ADD, DIV, LOWEST, MATMUL, MUL, RUNNING_MAX, SUB, sum_, transpose, unary
from prism_mlir.graph.program import Program
from prism_mlir.graph.scaled_tiles import scale_tiles
from prism_mlir.graph.shifts import ShiftedEvaluation, shift_groups
from prism_mlir.search.limits import SearchLimits
from prism_mlir.verify.refute import Refuter, trial_sizes


def shifted(program: Program) -> Program:
    """The program as it is where import dropped the shift of every exponential along its last dim."""
    last = len(program.shapes[-1]) - 1
    nodes = [
        replace(n, shift=last) if n.op.fn is not None and n.op.fn.text.startswith("exp(") else n for n in program.nodes
    ]
    return replace(program, nodes=tuple(nodes))


def masked_attention() -> Program:
    """softmax(0.25 Q K + mask) V"""
    return shifted(
        build_program(
            "masked",
            {"Q": (2, 4, 6), "K": (2, 6, 8), "V": (2, 8, 4), "M": (1, 4, 8)},
            [
                (MATMUL, (0, 1)),
                (unary("x/4"), (4,)),
                (ADD, (5, 3)),
                (unary("exp(x)"), (6,)),
                (sum_(2), (7,)),
                (DIV, (7, 8)),
                (MATMUL, (9, 2)),
            ],
        )
    )


def two_temperatures() -> Program:
    """exp(s)**2 / sum(exp(s)**2) . V: a product of two scaled tiles has degree 2."""
    return shifted(
        build_program(
            "squared",
            {"S": (6, 8), "V": (8, 4)},
            [(unary("exp(x)"), (0,)), (MUL, (2, 2)), (sum_(1), (3,)), (MATMUL, (3, 1)), (DIV, (5, 4))],
        )
    )


def turned() -> Program:
    """(exp(S)^T V) over the sums of exp(S)^T: the maximum is over rows of S, then over columns of its transpose."""
    program = build_program(
        "turned",
        {"S": (6, 8), "V": (4, 8)},
        [(unary("exp(x)"), (0,)), (transpose(1, 0), (2,)), (MATMUL, (1, 3)), (sum_(0), (3,)), (DIV, (4, 5))],
    )
    return shifted(program)


def cached() -> Program:
    """Attention over a cache (8 keys) and new tokens (4): two exponentials with one maximum, which meet in sums."""
    shapes = {"S": (6, 8), "T": (6, 4), "V": (8, 4), "W": (4, 4)}
    exps = [(unary("exp(x)"), (0,)), (unary("exp(x)"), (1,)), (sum_(1), (4,)), (sum_(1), (5,)), (ADD, (6, 7))]
    products = [(MATMUL, (4, 2)), (MATMUL, (5, 3)), (ADD, (9, 10)), (DIV, (11, 8))]
    return shifted(build_program("cached", shapes, [*exps, *products]))


def summed_over_columns() -> Program:
    """V . softmax(S): the product sums over rows, each of which has a maximum of its own."""
    nodes = [(unary("exp(x)"), (0,)), (sum_(1), (2,)), (DIV, (2, 3)), (MATMUL, (1, 4))]
    return shifted(build_program("columns", {"S": (6, 8), "V": (4, 6)}, nodes))


PROGRAMS: dict[str, tuple[Callable[[], Program], int]] = {
    "softmax": (lambda: shifted(softmax_matmul(8, 12, 4)), 2),
    "attention": (lambda: shifted(attention(2, 8, 4, 4)), 1),
    "attention, loads outside": (lambda: shifted(attention(2, 8, 4, 4)), 1),
    "attention in two kernels": (lambda: shifted(attention(2, 8, 4, 4)), 2),
    "split attention": (lambda: shifted(attention(2, 8, 4, 1)), 2),
    "QK attention": (lambda: shifted(qk_attention(2, 8, 4, 4)), 1),
    "masked": (masked_attention, 1),
    "masked in two kernels": (masked_attention, 2),
    "summed over columns": (summed_over_columns, 2),
    "degree 2": (two_temperatures, 1),
    "transposed": (turned, 1),
    "cached": (cached, 1),
}


EXP_ALONE = ["load[0; invariant]", "unary[exp(x)]"]


@cache
def proved(name: str) -> tuple[Program, tuple[KernelGraph, ...]]:
    make, kernels = PROGRAMS[name]
    program = make()
    operators = max(7, len(program.nodes))
    limits = SearchLimits(operators=operators, grid_dims=2, kernels=kernels, invariant_loads="outside" in name)
    return program, discover(program, limits).proved


def runs(program: Program, graph: KernelGraph) -> list[tuple[Program, KernelGraph, dict[str, int]]]:
    """Program and graph at a few parallel sizes, with dims that these divide."""
    refuter = Refuter(program)
    fitted = refuter._fitter.fit(graph)
    found = [(refuter._resize(fitted, sizes, 0), sizes) for sizes in trial_sizes(graph.parallel_dims)]
    return [(run.program, run.graph(), dict(sizes)) for run, sizes in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_the_programs(name: str) -> None:
    """Every proved graph, at arguments up to 1 and at arguments of thousands (where exp alone is infinite in f64 too)."""
    program, graphs = proved(name)
    rng, compared = np.random.default_rng(3), 0
    for graph in graphs:
        for small, candidate, sizes in runs(program, graph):
            scaled = scale_tiles(small, candidate)
            scaled.check()
            for factor in (1.0, 2000.0):
                inputs = [rng.uniform(-1, 1, i.shape) * (factor if k == 0 else 1.0) for k, i in enumerate(small.inputs)]
                expected = small.evaluate(inputs, Reals())
                with np.errstate(over="raise"):
                    got = evaluate_graph(scaled, sizes, inputs, Reals())
                for a, b in zip(expected, got, strict=True):
                    assert np.isfinite(a).all()
                    np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)
                compared += 1
    assert compared >= 2 * len(graphs)


def test_what_evaluation_without_a_shift_would_do() -> None:
    """The control of the test above: bare exponentials do overflow at these inputs."""
    program, graphs = proved("attention")
    small, graph, sizes = runs(program, graphs[0])[0]
    inputs = [np.full(i.shape, 2000.0 if k == 0 else 1.0) for k, i in enumerate(small.inputs)]
    with np.errstate(all="ignore"):
        (got,) = evaluate_graph(graph, sizes, inputs, Reals())
    assert not np.isfinite(got).any()
    assert np.allclose(small.evaluate(inputs, Reals())[0], 1.0)


@pytest.mark.parametrize("name", ["masked", "masked in two kernels"])
def test_masked_rows(name: str) -> None:
    """-inf in a mask counts for nothing, in whichever order it comes; a row of nothing but -inf is NaN, as in the source."""
    program, graphs = proved(name)
    rng = np.random.default_rng(5)
    for graph in graphs:
        for small, candidate, sizes in runs(program, graph):
            inputs = [rng.normal(size=i.shape) for i in small.inputs]
            mask = inputs[3]
            mask[..., : mask.shape[-1] // 2] = -np.inf  # all of the first iteration, where the loop has two
            mask[:, 1, :] = -np.inf
            (expected,) = small.evaluate(inputs, Reals())
            with np.errstate(invalid="ignore"):
                (got,) = evaluate_graph(scale_tiles(small, candidate), sizes, inputs, Reals())
            assert np.isnan(expected[:, 1]).all() and not np.isnan(np.delete(expected, 1, axis=1)).any()
            np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_online_softmax_is_what_comes_out() -> None:
    """Flash-Attention: one running maximum, two accumulators that it rescales, nothing else."""
    _, graphs = proved("attention")
    program = PROGRAMS["attention"][0]()
    looped = [g for g in graphs if any(n.block.loop for n in g.custom)]
    made = [scale_tiles(program, g) for g in looped]
    blocks = [next(g.custom).block for g in made]
    assert blocks
    for block in blocks:
        assert sum(n.op == RUNNING_MAX for n in block.nodes) == 1
        assert sorted(n.op.degree for n in block.nodes if isinstance(n.op, Accum)) == [1, 1]
        assert sum(n.op == SUB for n in block.nodes) == 1


def test_flash_decoding_passes_its_maxima_on() -> None:
    """Where parts are combined, the second kernel loads one more tensor, the maxima, f32, one for each part and row."""
    program, graphs = proved("split attention")
    pairs = [g for g in graphs if len(g.nodes) == 2 and any(t.expanded for n in g.custom for t in n.block.inputs)]
    split = [g for g in pairs if any(str(n.op) == "unary[exp(x)]" for n in next(g.custom).block.nodes)]
    assert split
    for graph in split:
        scaled = scale_tiles(program, graph)
        first, second = scaled.custom
        before = list(graph.custom)
        assert len(first.block.outputs) == len(before[0].block.outputs) + 1
        assert len(second.block.inputs) == len(before[1].block.inputs) + 1
        maxima = second.block.inputs[-1]
        assert maxima.shape == (2, 1, 1) and len(maxima.expanded) == 1
        assert sum(isinstance(n.op, Load) for n in second.block.nodes) == len(before[1].block.loads) + 1


def test_exponentials_that_meet_have_one_shift() -> None:
    """Of a softmax in two parts the shift is the maximum of both; of two softmaxes each has its own."""
    program = cached()
    assert shift_groups(program) == ((0, 1),)
    s, t = np.array([[1.0, 900.0]]), np.array([[5000.0, 4999.0]])
    found = ShiftedEvaluation(replace(program, inputs=program.inputs), [s, t, np.ones((2, 4)), np.ones((2, 4))])
    assert found.shift(0) == found.shift(1) == 5000.0
    assert np.allclose(found.value(12), 1.0)
    apart = build_program(
        "apart",
        {"S": (6, 8)},
        [
            (unary("exp(x)"), (0,)),
            (sum_(1), (1,)),
            (DIV, (1, 2)),
            (unary("exp(x)"), (3,)),
            (sum_(1), (4,)),
            (DIV, (4, 5)),
        ],
    )
    assert shift_groups(shifted(apart)) == ((0,), (3,))


def test_programs_without_a_shift_are_left_alone() -> None:
    program = softmax_matmul(8, 12, 4)
    for graph in discover(program).proved:
        assert scale_tiles(program, graph) is graph


def test_scaling_twice_changes_nothing() -> None:
    program, graphs = proved("softmax")
    made = [scale_tiles(program, g) for g in graphs]
    assert all(scale_tiles(program, g) is g for g in made)


def test_parts_with_maxima_of_their_own_store_them_for_each_element() -> None:
    """A first kernel that stores exp(S), its rows cut over the grid: who reads it may cut the rows elsewhere."""
    program, graphs = proved("softmax")
    alone = [g for g in graphs if [str(n.op) for n in next(g.custom).block.nodes] == EXP_ALONE]
    cut = [g for g in alone if (first := next(g.custom)).mapping and 1 in first.mapping.omap[0]]
    assert cut
    for graph in cut:
        first = next(scale_tiles(program, graph).custom)
        values, maxima = first.block.outputs
        assert first.block.shapes[values] == first.block.shapes[maxima] == (8, 12)
        assert first.mapping is not None and first.mapping.omap[0] == first.mapping.omap[1]


def test_symbolic_graphs_are_refused() -> None:
    program, graphs = proved("softmax")
    symbolic = replace(graphs[0], nodes=tuple(replace(n, mapping=None) for n in graphs[0].custom))
    with pytest.raises(InputError, match="symbolic mappings"):
        scale_tiles(program, symbolic)


def test_a_maximum_of_nothing_can_be_subtracted() -> None:
    assert float(np.finfo(np.float32).min) == LOWEST
    assert np.exp(-np.inf - LOWEST) == 0.0
