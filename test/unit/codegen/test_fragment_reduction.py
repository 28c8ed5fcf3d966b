"""Row sums and maxima of products, reduced where they lie: in the registers of one warp or of several."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from codegen_graphs import Draft
from machine_run import execute

from prism_mlir.codegen.compile import feasible, lower
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.footprint import ScheduleError, place
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.ops import MATMUL, Op, reduce_max, sum_, unary
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule
from prism_mlir.tune.parameters import parameter_space, rejection
from prism_mlir.tune.targets import find_target

OPS = {"sum": sum_(1), "max": reduce_max(1)}
EXP = unary("exp(x)")


def program(op: Op, m: int, k: int, n: int) -> Program:
    return build_program("rows", {"X": (m, k), "W": (k, n)}, [(MATMUL, (0, 1)), (EXP, (2,)), (op, (3,))])


def whole(op: Op, m: int, k: int, n: int) -> KernelGraph:
    """No loop."""
    d = Draft(program(op, m, k, n), loop=None)
    x, w = d.load(0, (0,), None), d.load(1, (-1,), None)
    d.save(d.add(op, d.add(EXP, d.add(MATMUL, x, w))), (0,))
    return d.graph()


def along_k(op: Op, m: int, k: int, n: int) -> KernelGraph:
    """The product is accumulated, and reduced after the loop."""
    d = Draft(program(op, m, k, n))
    x, w = d.load(0, (0,), 1), d.load(1, (-1,), 0)
    d.save(d.add(op, d.add(EXP, d.accum(d.add(MATMUL, x, w)))), (0,))
    return d.graph()


def along_n(op: Op, m: int, k: int, n: int) -> KernelGraph:
    """Each iteration has columns of its own; the results of iterations are accumulated."""
    d = Draft(program(op, m, k, n))
    x, w = d.load(0, (0,), None), d.load(1, (-1,), 1)
    d.save(d.accum(d.add(op, d.add(EXP, d.add(MATMUL, x, w))), "sum" if op == OPS["sum"] else "max"), (0,))
    return d.graph()


SIZES = [(16, 32, 64), (8, 32, 128), (2, 48, 40), (13, 20, 77), (40, 16, 24), (24, 16, 200)]


@pytest.mark.parametrize("make", [whole, along_k, along_n])
@pytest.mark.parametrize(("name", "warps"), list(product(OPS, (1, 3, 8))))
def test_rows(make: object, name: str, warps: int) -> None:
    """Also 13 rows of 16, 77 columns of 80, and parts of 39 and 38 of them; in both forms of the product."""
    assert callable(make)
    forms = set()
    for m, k, n in SIZES:
        graph = make(OPS[name], m, k, n)
        (node,) = graph.custom
        sizes = {"x": 1, "i": 2} if node.block.loop else {"x": 1}
        found = place(node.block, node.mapping, sizes, 1)
        assert not found.spilled and any(b.kind == "partial" for b in found.buffers)
        forms |= {p.transposed for p in found.products.values()}
        run = execute(program(OPS[name], m, k, n), graph, Schedule(tuple(sorted(sizes.items())), warps, 1))
        assert run.worst <= 1, (m, k, n)
    assert forms == {True, False}


def test_too_many_warps_for_a_row() -> None:
    """Sixteen warps along 8 rows of 256 columns, which are 16 fragments."""
    source, graph, schedule = (
        program(OPS["sum"], 8, 16, 256),
        whole(OPS["sum"], 8, 16, 256),
        Schedule((("x", 1),), 16, 1),
    )
    with pytest.raises(ScheduleError, match="16 warps share rows"):
        lower(source, graph, schedule)
    assert "16 warps share rows" in str(feasible(source, graph, schedule))
    space, target = parameter_space(graph, source), find_target("sm_80")
    assert rejection(space, schedule, target) == "too many warps share a row"
    assert rejection(space, replace(schedule, warps=8), target) is None
