"""Cut programs: the parts compute the whole, the limit holds, and the cuts are the cheapest there are."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from math import prod

import numpy as np
import pytest

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import LimitError
from prism_mlir.graph.examples import build_program, qk_attention, rms_norm_mlp
from prism_mlir.graph.fields import Reals
from prism_mlir.graph.ops import ADD, MATMUL, MUL, sum_, unary
from prism_mlir.graph.program import Program, ProgramOutput, row_major
from prism_mlir.search.partition import Partition, block_operators, part_of, partition


def mlp_with_residual() -> Program:
    """x + (silu(norm(x).G) * (norm(x).U)).D with small sizes."""
    return build_program(
        "mlp",
        {"x": (4, 8), "G": (8, 32), "U": (8, 32), "D": (32, 8)},
        [
            (unary("x**2"), (0,)),
            (sum_(1), (4,)),
            (unary("rsqrt(x/8 + 1e-06)"), (5,)),
            (MUL, (0, 6)),
            (MATMUL, (7, 1)),
            (unary("x/(1 + exp(-x))"), (8,)),
            (MATMUL, (7, 2)),
            (MUL, (9, 10)),
            (MATMUL, (11, 3)),
            (ADD, (0, 12)),
        ],
    )


PROGRAMS = [mlp_with_residual(), rms_norm_mlp(4, 8, 6), qk_attention(2, 6, 4)]


def run_parts(whole: Program, cut: Partition, inputs: list[np.ndarray]) -> list[np.ndarray]:
    values = dict(enumerate(inputs))
    results: dict[int, np.ndarray] = {}
    for part in cut.parts:
        outputs = part.program.evaluate([values[v] for v in part.inputs], Reals())
        for (value, result), array in zip(part.outputs, outputs, strict=True):
            values[value] = array
            if result is not None:
                results[result] = array
    return [results[k] for k in range(len(whole.outputs))]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.parametrize("operators", [2, 4, 6, 9, 20])
def test_parts_compute_the_program_within_the_limit(program: Program, operators: int) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=i.shape) for i in program.inputs]
    cut = partition(program, operators)
    assert len(cut.cuts) == len(cut.parts) - 1
    assert sum(len(p.program.nodes) for p in cut.parts) == len(program.nodes)
    for part in cut.parts:
        assert block_operators(part.program, 0, len(part.program.nodes)) <= operators
    for got, want in zip(run_parts(program, cut, inputs), program.evaluate(inputs, Reals()), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.parametrize("operators", [4, 6, 9])
def test_no_other_cuts_move_fewer_bytes(program: Program, operators: int) -> None:
    """Against all ways to cut, each counted from its definition: what is defined before a cut and used after it."""
    count, first = len(program.nodes), len(program.inputs)

    def moved(bounds: tuple[int, ...]) -> int:
        total = 0
        for b in bounds:
            alive = {v for n in program.nodes[b:] for v in n.operands if first <= v < first + b}
            total += sum(2 * prod(program.shapes[v]) * 2 for v in alive)  # f16, written and read
        return total

    def fits(bounds: tuple[int, ...]) -> bool:
        return all(block_operators(program, a, b) <= operators for a, b in pairwise((0, *bounds, count)))

    every = [c for size in range(count) for c in combinations(range(1, count), size) if fits(c)]
    cut = partition(program, operators)
    assert sum(c.bytes for c in cut.cuts) == min(moved(c) for c in every)


def test_the_cut_of_an_mlp_is_at_its_row_statistic() -> None:
    """One cut is needed at 12 operators; row statistics (4 x 1) are the smallest tensors to keep, 2 bytes an element, and
    the scaled one comes later."""
    cut = partition(mlp_with_residual(), 12)
    assert [c.values for c in cut.cuts] == [(6,)]
    assert cut.cuts[0].bytes == 2 * 4 * 1 * 2


def test_a_result_that_is_used_again_is_stored_and_kept() -> None:
    program = build_program("two", {"x": (4, 8), "w": (8, 8)}, [(MATMUL, (0, 1)), (unary("exp(x)"), (2,))])
    outputs = tuple(ProgramOutput(v, program.dtype_of(v), (4, 8), row_major((4, 8)), f"o{v}") for v in (2, 3))
    both = Program("two", program.inputs, program.nodes, outputs)
    cut = partition(both, 2)
    assert [p.outputs for p in cut.parts] == [((2, 0), (2, None)), ((3, 1),)]


def test_an_operator_above_the_limit_is_an_error() -> None:
    with pytest.raises(LimitError, match="alone exceeds the limit of 1"):
        partition(mlp_with_residual(), 1)


def test_parts_leave_f64_as_f32() -> None:
    """Exporters go through f64 for a moment; kernels compute in f32, and have no type to store an f64 in."""
    program = mlp_with_residual()
    nodes = tuple(replace(n, dtype=DType.F64) if k == 2 else n for k, n in enumerate(program.nodes))
    whole = replace(program, nodes=nodes)
    first, second = part_of(whole, 0, 3), part_of(whole, 3, 5)
    assert [o.dtype for o in first.program.outputs] == [DType.F32]
    assert DType.F32 in [i.dtype for i in second.program.inputs]
    assert all(t.dtype is not DType.F64 for t in (*first.program.outputs, *second.program.inputs))
