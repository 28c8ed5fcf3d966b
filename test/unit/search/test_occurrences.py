"""Bounds on how often inputs occur, against all terms of small e-graphs written out, and against the search without them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from prism_mlir.graph.examples import build_program, rms_norm, softmax_matmul, swiglu
from prism_mlir.graph.ops import ADD, DIV, MATMUL, MUL, unary
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import AbstractTarget, abstract_target
from prism_mlir.search.branches import Walk
from prism_mlir.search.egraph import EGraph
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.occurrences import Occurrences, occurrences

SHARED = build_program("shared", {"a": (4, 4), "b": (4, 4), "c": (4, 4)}, [(ADD, (0, 1)), (MUL, (3, 2))])  # (a + b) c
TWICE = build_program("twice", {"a": (4, 4), "b": (4, 4)}, [(MUL, (0, 0)), (DIV, (2, 1))])  # a a / b


def terms(graph: EGraph, c: int) -> list[Counter[int]]:
    """The classes in every term of a class (the terms must be finitely many)."""
    found: list[Counter[int]] = []
    for node in graph.nodes_of(c):
        own = Counter({graph.find(c): 1})
        for parts in product(*(terms(graph, graph.find(k)) for k in node.children)):
            found.append(sum(parts, own))
    return found


def counts(target: AbstractTarget, packed: int) -> dict[int, int]:
    return {c: packed >> 16 * k & 0x7FFF for k, c in enumerate(target.occurs.order)}


@pytest.mark.parametrize("program", [SHARED, TWICE, softmax_matmul(8, 6, 4)], ids=lambda p: p.name)
def test_counts_are_those_of_the_terms_written_out(program: Program) -> None:
    target = abstract_target(program)
    for c, packed in target.occurs.fewest.items():
        every = terms(target.graph, c)
        assert counts(target, packed) == {k: min(t[k] for t in every) for k in target.occurs.order}
    (root,) = target.roots
    every = terms(target.graph, root)
    assert counts(target, target.occurs.most) == {k: max(t[k] for t in every) for k in target.occurs.order}
    assert set(target.occurs.order) >= {*target.inputs, root}


def test_distributing_repeats_an_input() -> None:
    """(a + b) c = a c + b c: c may occur twice, a and b once."""
    target = abstract_target(SHARED)
    a, b, c = target.inputs
    most = counts(target, target.occurs.most)
    assert [most[i] for i in (a, b, c)] == [1, 1, 2]
    assert target.occurs.admit([a, b, c, c])
    assert not target.occurs.admit([a, b, c, c, c])
    assert not target.occurs.admit([a, a, b, c])
    added = target.graph.lookup(("add",), a, b)
    assert added is not None and target.occurs.admit([added, c])
    assert not target.occurs.admit([added, a, c])
    assert not target.occurs.admit([added, added])


def test_nothing_is_known_where_a_class_contains_itself() -> None:
    program = build_program("cycle", {"a": (4, 4), "b": (4, 4)}, [(MUL, (0, 1))])
    target = abstract_target(program)
    graph = target.graph
    a = target.inputs[0]
    graph.union(a, graph.add(("neg",), a))  # a = -a = --a ...
    graph.rebuild()
    assert occurrences(graph, target.roots) == Occurrences()
    assert occurrences(graph, target.roots).admit([a] * 100)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize(
    "program",
    [
        rms_norm(8, 12, 6),
        swiglu(8, 12, 6),
        softmax_matmul(8, 12, 6),
        SHARED,
        build_program(
            "residual", {"X": (8, 12), "W": (12, 12)}, [(MATMUL, (0, 1)), (unary("exp(x)"), (2,)), (ADD, (3, 0))]
        ),
    ],
    ids=lambda p: p.name,
)
def test_no_structure_is_lost(program: Program, mixed: bool) -> None:
    """The same structures in the same order as without the bound, from fewer partial graphs."""
    limits = SearchLimits(operators=6, invariant_loads=mixed)
    target = abstract_target(program)
    with_bound, without = Funnel(), Funnel()
    found = list(Walk(program, limits, with_bound, target=target).run())
    expected = list(Walk(program, limits, without, target=replace(target, occurs=Occurrences())).run())
    assert with_bound.complete and without.complete and found
    assert found == expected
    assert with_bound.counts["states"] <= without.counts["states"]
