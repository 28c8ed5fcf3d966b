"""Expressions mean what graphs mean: both are evaluated, by code that shares nothing but the operators."""

from __future__ import annotations

import numpy as np
import pytest
from candidates import PROGRAMS, all_candidates, build

from prism_mlir.graph import examples
from prism_mlir.graph.block import Load
from prism_mlir.graph.dims import dim_classes, shrink
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.fields import PrimeField
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import unary
from prism_mlir.verify.encode import encode_graph, encode_program
from prism_mlir.verify.expr import TileType, evaluate_exprs, term, types_of, walk
from prism_mlir.verify.fit import shrink_graph
from prism_mlir.verify.refute import Refuter


@pytest.mark.parametrize("workload", PROGRAMS)
def test_expressions_evaluate_to_what_graphs_compute(workload):
    program = PROGRAMS[workload]
    sizes = [12] * len(dim_classes(program).sizes)
    small = shrink(program, dict(enumerate(sizes)))
    domain, rng = PrimeField(), np.random.default_rng(0)
    inputs = [rng.integers(1, domain.p, i.shape) for i in small.inputs]
    expected = small.evaluate(inputs, domain)
    typed = [(TileType(i.shape), a) for i, a in zip(small.inputs, inputs, strict=True)]
    (value,) = evaluate_exprs(encode_program(small), typed, {}, domain)
    assert np.array_equal(value, expected[0])
    for _, graph in list(all_candidates(workload, Refuter(program)))[::3]:
        graph = shrink_graph(graph, program, sizes)
        count = {p: 2 if p != "i" else 3 for p in graph.parallel_dims}
        tiles = [(t, a.reshape(*(1,) * len(count), *a.shape)) for t, a in typed]
        (value,) = evaluate_exprs(encode_graph(graph), tiles, count, domain)
        (computed,) = evaluate_graph(graph, count, inputs, domain)
        assert np.array_equal(value.reshape(computed.shape), computed)


def test_figure_5_of_the_paper():
    """A kernel that applies exp with imap {r <-> x} and omap {r <-> x} is comb(exp(part(v, r, x)), r, x)."""
    program = examples.build_program("exp", {"X": (4, 8)}, [(unary("exp(x)"), (0,))])
    graph = build(program, [(Load(0), ()), (unary("exp(x)"), (0,))], Mapping(((0,),), (-1,), ((0,),)))
    (expr,) = encode_graph(graph)
    assert str(expr) == "Comb(Unary(Part(Var(0), 0, x), exp(x)), 0, x)"


def test_figure_1_c():
    (expr,) = encode_graph(examples.softmax_matmul_block())
    x = "Part(Part(Var(0), 0, x), 1, i)"
    w = "Part(Repl(Var(1), x), 0, i)"
    e = f"Unary({x}, exp(x))"
    assert str(expr) == f"Comb(Div(Red(Matmul({e}, {w}, 0, 1), i), Red(Sum({e}, 1), i)), 0, x)"


def test_terms_are_shared_and_walked_once():
    x = term("Var", (), (0,))
    for _ in range(60):
        x = term("Mul", (x, x))
    assert len(walk([x])) == 61
    assert term("Mul", (x, x)) is term("Mul", (x, x))


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (term("Part", (term("Var", (), (0,)),), (0, "p")), "does not split into 5"),
        (term("Red", (term("Var", (), (0,)),), ("p",)), "does not have"),
        (term("Repl", (term("Repl", (term("Var", (), (0,)),), ("p",)),), ("p",)), "already has"),
        (term("Matmul", (term("Var", (), (0,)), term("Var", (), (0,))), (0, 1)), "matmul needs"),
        (term("Matmul", (term("Var", (), (1,)), term("Var", (), (1,))), (1, 2)), "last two dims"),
        (
            term("Add", (term("Var", (), (0,)), term("Repl", (term("Var", (), (0,)),), ("p",)))),
            "different parallel dims",
        ),
    ],
)
def test_ill_typed_terms_are_refused(expr, message):
    with pytest.raises(InputError, match=message):
        types_of([expr], [TileType((4, 6)), TileType((6, 6))], {"p": 5})


def test_unrepl_refuses_parts_that_disagree():
    x = term("Var", (), (0,))
    expr = term("Unrepl", (term("Part", (x,), (0, "p")),), ("p",))
    inputs = [(TileType((4, 2)), np.arange(8).reshape(1, 4, 2))]
    with pytest.raises(InputError, match="disagree"):
        evaluate_exprs([expr], inputs, {"p": 2}, PrimeField())
    same = term("Unrepl", (term("Repl", (x,), ("p",)),), ("p",))
    (value,) = evaluate_exprs([same], inputs, {"p": 2}, PrimeField())
    assert np.array_equal(value[0], np.arange(8).reshape(4, 2))
