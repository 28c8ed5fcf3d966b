"""Random programs over all operators: what is imported is found by the search and proved, with nothing left open."""

from __future__ import annotations

import pytest
from test_import_operators import Maker

from prism_mlir.compiler.discover import discover
from prism_mlir.frontend import import_file
from prism_mlir.graph.ops import Kind
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits
from prism_mlir.verify.verdict import Status


def small(program: Program) -> bool:
    """What one kernel of a few operators can hold. Reshapes are left to library operators: no tile is reshaped across cuts.
    And no ``x - x``: that it is zero is a law the axioms leave out, and a tensor of zeros may be cut in any way."""
    kinds = {node.op.kind for node in program.nodes}
    cancels = any(n.op.name in ("sub", "div") and n.operands[0] == n.operands[1] for n in program.nodes)
    return 0 < len(program.nodes) <= 4 and len(program.inputs) <= 3 and Kind.RESHAPE not in kinds and not cancels


def programs(count: int) -> list[tuple[int, Program]]:
    found: list[tuple[int, Program]] = []
    seed = 1000
    while len(found) < count:
        program = import_file(Maker(seed).done())
        if small(program):
            found.append((seed, program))
        seed += 1
    return found


PROGRAMS = programs(24)


@pytest.mark.parametrize("program", [p for _, p in PROGRAMS], ids=[str(seed) for seed, _ in PROGRAMS])
def test_found_and_proved(program: Program) -> None:
    """At least one graph is proved, and of what exact arithmetic does not refute nothing stays unknown: no rule is missing."""
    found = discover(program, SearchLimits(operators=6, grid_dims=1, states=20_000))
    assert found.proved
    assert [str(g) for g, v in zip(found.candidates, found.verdicts, strict=True) if v.status is Status.UNKNOWN] == []


def test_programs_cover_the_operators() -> None:
    names = {node.op.name for _, program in PROGRAMS for node in program.nodes}
    assert {"matmul", "unary", "add", "mul", "keep", "sum", "reduce_max", "reduce_min"} <= names
