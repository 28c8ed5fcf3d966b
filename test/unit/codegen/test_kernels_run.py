"""Emitted kernels, run whole on the PTX machine with every check on, against the program evaluated in f64.

The graphs are those that search finds for the paper's programs, at sizes a test can afford; tolerances are derived in
``machine_run``. A race, an uninitialised read, an access outside of its buffer, a diverged barrier or two blocks storing to one
place is an error of the run itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from codegen_graphs import (
    Draft,
    attention_late,
    rms_norm_late,
    rms_norm_late_rows,
    rms_norm_mlp_late,
    rms_norm_mlp_shared_operand,
    rms_norm_scaled_in_loop,
    rms_norm_two_loads,
    rms_norm_whole,
    softmax_matmul_late,
    swiglu_late,
    with_dtype,
)
from machine_run import execute, random_arguments

from prism_mlir.graph.dtypes import DType, from_float64
from prism_mlir.graph.examples import attention, build_program, rms_norm, rms_norm_mlp, softmax_matmul, swiglu
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.ops import MATMUL, MUL, sum_, unary
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule

Build = Callable[[Program], KernelGraph]
Case = tuple[Build, Program, dict[str, int], int, int, int]


def rms_norm_late_sum_after(program: Program) -> KernelGraph:
    return rms_norm_late(program, sum_first=False)


SMALL, TALL = rms_norm(8, 256, 128), rms_norm(16, 256, 128)
SCHEDULES: list[Case] = [  # graph, program, sizes, warps, stages, roundings of computed operands
    (rms_norm_late, SMALL, {"x": 2, "i": 1}, 1, 1, 0),
    (rms_norm_late, SMALL, {"x": 2, "i": 2}, 4, 1, 0),
    (rms_norm_late, SMALL, {"x": 1, "i": 4}, 4, 2, 0),
    (rms_norm_late, SMALL, {"x": 4, "i": 8}, 8, 3, 0),
    (rms_norm_late, SMALL, {"x": 8, "i": 8}, 1, 4, 0),
    (rms_norm_late_sum_after, SMALL, {"x": 2, "i": 1}, 1, 2, 0),
    (rms_norm_late_sum_after, SMALL, {"x": 4, "i": 8}, 4, 3, 0),
    (rms_norm_late, TALL, {"x": 2, "i": 4}, 4, 2, 0),
    (rms_norm_late_rows, TALL, {"x": 2, "y": 2, "i": 4}, 4, 2, 0),
    (rms_norm_late_rows, TALL, {"x": 2, "y": 16, "i": 4}, 2, 2, 0),
    (rms_norm_whole, SMALL, {"x": 2}, 4, 1, 1),
    (rms_norm_whole, TALL, {"x": 8}, 1, 1, 1),
    (rms_norm_two_loads, SMALL, {"x": 2, "i": 2}, 4, 1, 1),
    (rms_norm_two_loads, TALL, {"x": 2, "i": 8}, 8, 3, 1),
    (rms_norm_scaled_in_loop, SMALL, {"x": 2, "i": 4}, 2, 2, 0),
    (rms_norm_scaled_in_loop, TALL, {"x": 8, "i": 2}, 1, 3, 0),
    (rms_norm_mlp_late, rms_norm_mlp(8, 128, 64), {"x": 2, "i": 4}, 2, 3, 0),
    (rms_norm_mlp_late, rms_norm_mlp(16, 128, 64), {"x": 4, "i": 2}, 1, 2, 0),
    (rms_norm_mlp_shared_operand, rms_norm_mlp(8, 128, 64), {"x": 2, "i": 4}, 4, 2, 1),
    (swiglu_late, swiglu(8, 128, 128), {"x": 4, "i": 4}, 2, 2, 0),
    (swiglu_late, swiglu(8, 128, 128), {"x": 1, "i": 1}, 8, 1, 0),
    (softmax_matmul_late, softmax_matmul(32, 128, 32), {"x": 2, "i": 4}, 4, 2, 1),
    (attention_late, attention(2, 128, 32), {"x": 2, "i": 4}, 4, 2, 1),
    (attention_late, attention(4, 128, 32, 16), {"x": 2, "i": 2}, 2, 2, 1),
]


def name_of(case: Case) -> str:
    build, program, sizes, warps, stages, _ = case
    shape = "x".join(map(str, program.inputs[0].shape))
    return f"{build.__name__}-{shape}-{'_'.join(f'{k}{v}' for k, v in sizes.items())}-w{warps}s{stages}"


@pytest.mark.parametrize("case", SCHEDULES, ids=name_of)
def test_schedules(case: Case) -> None:
    build, program, sizes, warps, stages, roundings = case
    outcome = execute(program, build(program), Schedule.of(sizes, warps, stages), roundings=roundings)
    assert outcome.worst <= 1


@pytest.mark.parametrize("dtype", [DType.BF16, DType.F32])
@pytest.mark.parametrize(
    ("build", "program", "sizes"),
    [
        (rms_norm_late, SMALL, {"x": 2, "i": 4}),
        (rms_norm_whole, rms_norm(16, 128, 64), {"x": 4}),
        (rms_norm_scaled_in_loop, rms_norm(8, 64, 48), {"x": 2, "i": 2}),
        (swiglu_late, swiglu(8, 64, 64), {"x": 2, "i": 2}),
        (attention_late, attention(2, 64, 32), {"x": 2, "i": 2}),
    ],
)
def test_other_element_types(build: Build, program: Program, sizes: dict[str, int], dtype: DType) -> None:
    program = with_dtype(program, dtype)
    assert execute(program, build(program), Schedule.of(sizes, 4, 2)).worst <= 1


@pytest.mark.parametrize(
    ("rows", "inner", "cols", "sizes"),
    [
        (8, 100, 72, {"x": 3, "i": 3}),  # chunks of 8 do not divide a tile of 34
        (5, 130, 48, {"x": 2, "i": 5}),  # the last tile of 26 ends at 130
        (3, 64, 20, {"x": 3, "i": 4}),  # three tiles of 7 columns
        (7, 33, 17, {"x": 3, "i": 3}),  # nothing is a multiple of anything
        (1, 96, 64, {"x": 2, "i": 3}),
        (4, 9, 12, {"x": 2, "i": 4}),  # the fourth tile of 3 is empty
    ],
)
@pytest.mark.parametrize(
    ("build", "dtype"),
    [
        (rms_norm_late, DType.F32),
        (rms_norm_late_sum_after, DType.F16),
        (rms_norm_two_loads, DType.F16),
        (rms_norm_scaled_in_loop, DType.F16),
    ],
)
def test_sizes_that_do_not_divide(
    build: Build, rows: int, inner: int, cols: int, sizes: dict[str, int], dtype: DType
) -> None:
    program = with_dtype(rms_norm(rows, inner, cols), dtype)
    roundings = 1 if build is rms_norm_two_loads else 0
    assert execute(program, build(program), Schedule.of(sizes, 2, 2), roundings=roundings).worst <= 1


def test_ragged_reduction_masks_what_is_not_zero_at_zero() -> None:
    """exp(0) is 1: the zeros that fill a ragged tile must not enter the sum of the exponentials."""
    program = softmax_matmul(11, 50, 24)
    outcome = execute(program, softmax_matmul_late(program), Schedule.of({"x": 2, "i": 3}, 4, 2))
    assert outcome.worst <= 1


@pytest.mark.parametrize(
    ("build", "program", "sizes", "warps", "stages"),
    [
        (rms_norm_late, rms_norm(16, 1024, 1024), {"x": 16, "i": 16}, 4, 3),
        (rms_norm_whole, rms_norm(16, 1024, 1024), {"x": 64}, 2, 1),  # 65 KB of shared memory
        (rms_norm_mlp_late, rms_norm_mlp(8), {"x": 16, "i": 16}, 4, 3),
        (rms_norm_mlp_shared_operand, rms_norm_mlp(16), {"x": 16, "i": 8}, 4, 2),
        (swiglu_late, swiglu(8, 2048, 2048), {"x": 32, "i": 32}, 4, 4),
    ],
)
def test_paper_sizes(build: Build, program: Program, sizes: dict[str, int], warps: int, stages: int) -> None:
    outcome = execute(program, build(program), Schedule.of(sizes, warps, stages), roundings=1)
    assert outcome.worst <= 1


def test_adversarial_values() -> None:
    """A row of zeros, a hot row, large magnitudes: no overflow in f32, and zero where zero is exact."""
    program = rms_norm(8, 256, 64)
    x, w = random_arguments(program)
    x[0] = 0
    x[1] = 0
    x[1, 5] = 60000
    x[2] = x[2] * np.float16(10000)
    outcome = execute(program, rms_norm_late(program), Schedule.of({"x": 2, "i": 4}, 4, 2), [x, w], roundings=0)
    assert outcome.worst <= 1
    assert not outcome.got[0][0].any()


def test_infinities_and_nan_come_out_as_from_the_program() -> None:
    program = swiglu(8, 64, 64)
    x, gate, up = random_arguments(program)
    x[3, 7] = np.inf
    x[5, 0] = np.nan
    outcome = execute(program, swiglu_late(program), Schedule.of({"x": 2, "i": 2}, 2, 2), [x, gate, up], roundings=0)
    got, exact = outcome.got[0], outcome.exact[0]
    assert np.isnan(got[5]).all() and np.isnan(exact[5]).all()
    assert not np.isfinite(got[3]).any() and not np.isfinite(exact[3]).any()
    assert (np.isnan(got[3]) == np.isnan(exact[3])).all()
    others = [0, 1, 2, 4, 6, 7]
    assert (np.abs(got[others] - exact[others]) <= outcome.bound[0][others]).all()


def test_all_blocks_of_an_uncut_grid_dim_hold_the_same_tile() -> None:
    """Grid dim y cuts nothing: its blocks compute the same tile, and only the first may store it."""
    program = rms_norm(8, 64, 32)
    d = Draft(program, ("x", "y"))
    x, w = d.load(0, (-1, -1), 1), d.load(1, (1, -1), 0)
    total = d.accum(d.add(sum_(1), d.add(unary("x**2"), x)))
    product = d.accum(d.add(MATMUL, x, w))
    d.save(d.add(MUL, product, d.add(unary("rsqrt(x/64 + 1e-06)"), total)), (1, -1))
    outcome = execute(program, d.graph(), Schedule.of({"x": 2, "y": 3, "i": 2}, 2, 2), roundings=0)
    assert outcome.worst <= 1


def test_large_values_saturate_as_the_result_type_does() -> None:
    program = swiglu(8, 64, 32)
    ones = [from_float64(np.full(i.shape, 30.0), DType.F16) for i in program.inputs]
    outcome = execute(program, swiglu_late(program), Schedule.of({"x": 1, "i": 2}, 2, 2), ones)
    assert np.isposinf(outcome.got[0]).all()  # (64 * 900)**2 is past 65504


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16, DType.F32])
@pytest.mark.parametrize(
    ("m", "k", "n", "sizes", "warps", "stages"),
    [
        (8, 64, 64, {"x": 2, "y": 1, "i": 2}, 2, 2),
        (16, 48, 40, {"x": 1, "y": 1, "i": 3}, 4, 3),
        (33, 70, 25, {"x": 2, "y": 3, "i": 4}, 4, 2),
        (64, 32, 96, {"x": 3, "y": 2, "i": 1}, 8, 1),
        (1, 100, 9, {"x": 1, "y": 1, "i": 7}, 1, 4),
    ],
)
def test_products_of_small_integers_are_exact(
    m: int, k: int, n: int, sizes: dict[str, int], warps: int, stages: int, dtype: DType
) -> None:
    """Sums of at most 100 products of -1, 0 and 1 are exact in every type and in any order: no tolerance at all."""
    program = with_dtype(build_program("gemm", {"A": (m, k), "B": (k, n)}, [(MATMUL, (0, 1))]), dtype)
    d = Draft(program, ("x", "y"))
    a, b = d.load(0, (-1, 0) if m > 1 else (-1, -1), 1), d.load(1, (1, -1), 0)
    d.save(d.accum(d.add(MATMUL, a, b)), (1, 0) if m > 1 else (1, -1))
    rng = np.random.default_rng(m)
    arguments = [from_float64(rng.integers(-1, 2, i.shape).astype(np.float64), dtype) for i in program.inputs]
    outcome = execute(program, d.graph(), Schedule.of(sizes, warps, stages), arguments)
    assert (outcome.got[0] == outcome.exact[0]).all()
