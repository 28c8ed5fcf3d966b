"""What a program or a graph may contain beyond the paper's workloads: views, constants, several kernels, other reductions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from codegen_graphs import Draft, attention_late, rms_norm_late, swiglu_late, with_dtype
from machine_run import execute, random_arguments

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import attention, build_program, qk_attention, rms_norm, swiglu
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.launch_info import Role
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import (
    ADD,
    DIV,
    MATMUL,
    MAXIMUM,
    MUL,
    SUB,
    constant,
    reduce_max,
    reshape,
    sum_,
    transpose,
    unary,
)
from prism_mlir.graph.program import Program, ProgramInput, ProgramOutput, row_major
from prism_mlir.graph.schedule import Schedule


def two(program: Program) -> Schedule:
    return Schedule.of({"x": 2, "i": 2}, 2, 2)


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_transposed_weight(dtype: DType) -> None:
    """W is stored [n][k] and seen as [k][n]: its tile keeps k next to each other, and ldmatrix needs no transposition."""
    program = with_dtype(rms_norm(8, 128, 64), dtype)
    w = replace(program.inputs[1], arg_shape=(64, 128), strides=(1, 128))
    program = replace(program, inputs=(program.inputs[0], w))
    assert execute(program, rms_norm_late(program), two(program), roundings=0).worst <= 1


def test_keys_stored_as_attention_has_them() -> None:
    """K is stored [batch][length][head] and seen as [batch][head][length]; heads interleaved with the length in V."""
    program = attention(4, 64, 32, 8)
    k = replace(program.inputs[1], arg_shape=(4, 64, 32), strides=(64 * 32, 1, 32))
    v = replace(program.inputs[2], arg_shape=(64, 4, 32), strides=(32, 4 * 32, 1))
    program = replace(program, inputs=(program.inputs[0], k, v))
    assert execute(program, attention_late(program), two(program)).worst <= 1


def test_view_with_offset_and_stride() -> None:
    """X is columns 3, 5, 7, ... of a wider argument: no copy of several elements is possible."""
    program = rms_norm(8, 64, 32)
    x = replace(program.inputs[0], arg_shape=(10, 200), strides=(200, 2), offset=203)
    program = replace(program, inputs=(x, program.inputs[1]))
    assert execute(program, rms_norm_late(program), two(program), roundings=0).worst <= 1


@pytest.mark.parametrize("offset", [8, 4, 2, 1])
def test_view_whose_rows_are_less_aligned(offset: int) -> None:
    """16, 8 and 4 bytes at a time by cp.async, 2 by ordinary loads."""
    program = rms_norm(8, 64, 32)
    x = replace(program.inputs[0], arg_shape=(8, 80), strides=(80, 1), offset=offset)
    program = replace(program, inputs=(x, program.inputs[1]))
    outcome = execute(program, rms_norm_late(program), two(program), roundings=0)
    assert outcome.worst <= 1
    widths = {8: "16", 4: "8", 2: "4"}
    copies = [line for line in outcome.compiled.ptx.splitlines() if "cp.async.c" in line and "shared.global" in line]
    assert {line.rstrip(";").split(", ")[2] for line in copies} == {"16", widths.get(offset, "16")}


def test_repeated_input() -> None:
    """A bias of one row, seen as all rows by a stride of 0."""
    program = build_program("bias", {"X": (8, 64), "W": (64, 32), "B": (8, 32)}, [(MATMUL, (0, 1)), (ADD, (3, 2))])
    b = replace(program.inputs[2], arg_shape=(32,), strides=(0, 1))
    program = replace(program, inputs=(*program.inputs[:2], b))
    d = Draft(program)
    x, w, bias = d.load(0, (-1,), 1), d.load(1, (1,), 0), d.load(2, (1,), None)
    d.save(d.add(ADD, d.accum(d.add(MATMUL, x, w)), bias), (1,))
    assert execute(program, d.graph(), two(program), roundings=0).worst <= 1


def test_transposed_result() -> None:
    program = swiglu(8, 64, 32)
    (out,) = program.outputs
    program = replace(program, outputs=(ProgramOutput(out.value, out.dtype, (32, 8), (1, 8)),))
    assert execute(program, swiglu_late(program), two(program), roundings=0).worst <= 1


def test_constant_input() -> None:
    program = rms_norm(8, 64, 32)
    (w,) = random_arguments(program, seed=3)[1:]
    fixed = replace(program.inputs[1], arg=None, data=w.tobytes())
    program = replace(program, inputs=(program.inputs[0], fixed))
    outcome = execute(program, rms_norm_late(program), two(program), roundings=0)
    assert outcome.worst <= 1
    assert [a.role for k in outcome.compiled.launch.kernels for a in k.arguments] == [Role.INPUT, Role.OUTPUT]


def test_one_argument_seen_twice_is_one_parameter() -> None:
    """O = X . X^T, both operands views of one argument."""
    types = (
        ProgramInput.whole("X", (16, 64), DType.F16, 0),
        ProgramInput("Xt", (64, 16), DType.F16, 0, (16, 64), (1, 64)),
    )
    base = build_program("gram", {"X": (16, 64), "Xt": (64, 16)}, [(MATMUL, (0, 1))])
    program = replace(base, inputs=types)
    d = Draft(program)
    d.save(d.accum(d.add(MATMUL, d.load(0, (-1,), 1), d.load(1, (1,), 0))), (1,))
    outcome = execute(program, d.graph(), two(program), roundings=0)
    assert outcome.worst <= 1
    assert len(outcome.compiled.launch.kernels[0].arguments) == 2


def test_running_maximum() -> None:
    """A maximum over the loop, subtracted in a second kernel, which reads it from a workspace buffer."""
    program = build_program("shift", {"X": (12, 100)}, [(reduce_max(1), (0,)), (SUB, (0, 1))])
    x, m = program_types(program)[0], TensorType((12, 1), DType.F32)
    first = BlockGraph(
        ("x",),
        "i",
        (x,),
        (BlockNode(Load(0)), BlockNode(reduce_max(1), (0,)), BlockNode(Accum("max"), (1,))),
        (2,),
    )
    second = BlockGraph(
        ("x",), None, (x, m), (BlockNode(Load(0, True)), BlockNode(Load(1, True)), BlockNode(SUB, (0, 1))), (2,)
    )
    graph = KernelGraph(
        (x,),
        (
            CustomNode(first, (0,), Mapping(((0,),), (1,), ((0,),))),
            CustomNode(second, (0, 1), Mapping(((0,), (0,)), (-1, -1), ((0,),))),
        ),
        (2,),
    )
    x_values = random_arguments(program)[0] - np.float16(3)  # all negative: padding of zeros would win
    outcome = execute(program, graph, Schedule.of({"x": 3, "i": 3}, 2, 2), [x_values], roundings=0)
    assert outcome.worst <= 1
    assert outcome.compiled.launch.workspace == (12 * 4,)
    assert len(outcome.compiled.launch.kernels) == 2


@pytest.mark.parametrize("parts", [1, 3, 4])
def test_split_reduction(parts: int) -> None:
    """Split-K: grid dim z of the first kernel cuts k; each block stores its part of the product, next to those of the others
    along n; the loop z of the second kernel adds them up."""
    program = build_program("split", {"A": (8, 96), "B": (96, 32)}, [(MATMUL, (0, 1))])
    a, b = program_types(program)
    partial = TensorType((8, 32), DType.F32, expanded=(("z", 1),))
    product = (BlockNode(Load(0, True)), BlockNode(Load(1, True)), BlockNode(MATMUL, (0, 1)))
    first = BlockGraph(("x", "z"), None, (a, b), product, (2,))
    second = BlockGraph(("u",), "z", (partial,), (BlockNode(Load(0)), BlockNode(Accum(), (0,))), (1,))
    graph = KernelGraph(
        (a, b),
        (
            CustomNode(first, (0, 1), Mapping(((0, 1), (-1, 0)), (-1, -1), ((0, 1),))),
            CustomNode(second, (2,), Mapping(((0,),), (1,), ((0,),))),
        ),
        (3,),
    )
    outcome = execute(program, graph, Schedule.of({"x": 2, "z": parts, "u": 2}, 2, 2), roundings=0)
    assert outcome.worst <= 1
    assert outcome.compiled.launch.workspace == (8 * 32 * parts * 4,)
    assert outcome.compiled.launch.kernels[0].grid == (2, parts, 1)


def test_maximum_of_products_over_the_loop() -> None:
    """A maximum accumulated over products: the products go through shared memory."""
    program = build_program(
        "max_of_products", {"X": (2, 8, 16), "W": (2, 16, 24)}, [(MATMUL, (0, 1)), (reduce_max(0), (2,))]
    )
    d = Draft(program, ())
    product = d.add(MATMUL, d.load(0, (), 0), d.load(1, (), 0))
    d.save(d.add(reduce_max(0), d.accum(product, "max")), ())
    outcome = execute(program, d.graph(), Schedule.of({"i": 2}, 2, 2), roundings=0)
    assert outcome.worst <= 1


def test_reduction_along_rows() -> None:
    program = build_program("columns", {"X": (40, 24)}, [(sum_(0), (0,)), (DIV, (0, 1))])
    d = Draft(program, loop=None)
    x = d.load(0, (1,), None)
    d.save(d.add(DIV, x, d.add(sum_(0), x)), (1,))
    x_values = np.abs(random_arguments(program)[0])
    outcome = execute(program, d.graph(), Schedule.of({"x": 3}, 4, 1), [x_values], roundings=0)
    assert outcome.worst <= 1


def test_transpose_reshape_constant_inside_a_block() -> None:
    """max(X^T, 0.25) with the rows merged and split again."""
    program = build_program(
        "shuffle",
        {"X": (6, 20)},
        [
            (transpose(1, 0), (0,)),
            (reshape(10, 2, 6), (1,)),
            (constant(0.25, (1, 1, 1)), ()),
            (MAXIMUM, (2, 3)),
        ],
    )
    d = Draft(program, loop=None)
    x = d.load(0, (0,), None)
    moved = d.add(reshape(10, 2, 6), d.add(transpose(1, 0), x))
    d.save(d.add(MAXIMUM, moved, d.add(constant(0.25, (1, 1, 1)))), (2,))
    outcome = execute(program, d.graph(), Schedule.of({"x": 2}, 1, 1), roundings=0)
    assert (outcome.got[0] == outcome.exact[0]).all()


def test_product_of_products() -> None:
    """(A . B) . C in one block: the first product becomes an operand, rounded in shared memory."""
    program = build_program("chain", {"A": (8, 32), "B": (32, 48), "C": (48, 40)}, [(MATMUL, (0, 1)), (MATMUL, (3, 2))])
    d = Draft(program)
    a, b, c = d.load(0, (-1,), None), d.load(1, (-1,), 1), d.load(2, (1,), 0)
    d.save(d.accum(d.add(MATMUL, d.add(MATMUL, a, b), c)), (1,))
    assert execute(program, d.graph(), Schedule.of({"x": 2, "i": 3}, 2, 2)).worst <= 1


def test_loads_that_llvm_joins_read_nothing_unwritten() -> None:
    """Three neighbouring statistics at known places: LLVM reads four, and the fourth must hold something."""
    program = qk_attention(3, 33, 8)
    d = Draft(program, (), None)
    q, k, v = d.load(0, (), None), d.load(1, (), None), d.load(2, (), None)
    scale = d.add(unary("1/sqrt(x/8 + 1e-06)"), d.add(sum_(2), d.add(unary("x**2"), q)))
    weights = d.add(unary("exp(x)"), d.add(MATMUL, d.add(MUL, q, scale), k))
    d.save(d.add(DIV, d.add(MATMUL, weights, v), d.add(sum_(2), weights)), ())
    assert execute(program, d.graph(), Schedule.of({}, 1, 1), roundings=2).worst <= 1


def test_product_used_by_a_reduction_and_saved() -> None:
    """Two results; the product is normalised by its own row sums, so it is needed in registers and in shared memory."""
    program = build_program(
        "normalised", {"A": (8, 64), "B": (64, 32)}, [(MATMUL, (0, 1)), (sum_(1), (2,)), (DIV, (2, 3))]
    )
    both = (*program.outputs, ProgramOutput(3, DType.F32, (8, 1), row_major((8, 1)), "sums"))
    program = replace(program, outputs=both)
    d = Draft(program)
    product = d.accum(d.add(MATMUL, d.load(0, (0,), 1), d.load(1, (-1,), 0)))
    total = d.add(sum_(1), product)
    d.save(d.add(DIV, product, total), (0,))
    d.save(total, (0,))
    arguments = [np.abs(a) for a in random_arguments(program)]
    outcome = execute(program, d.graph(), two(program), arguments, roundings=0)
    assert outcome.worst <= 1


def test_accumulated_scaled_square() -> None:
    """An accumulator of an elementwise chain, cut along the loop in a dim that stays, with a ragged end."""
    program = build_program(
        "cosh", {"X": (4, 50)}, [(unary("exp(x) + exp(-x)"), (0,)), (sum_(1), (1,)), (unary("x/2"), (2,))]
    )
    d = Draft(program)
    total = d.add(sum_(1), d.accum(d.add(unary("exp(x) + exp(-x)"), d.load(0, (0,), 1))))
    d.save(d.add(unary("x/2"), total), (0,))
    outcome = execute(program, d.graph(), Schedule.of({"x": 2, "i": 4}, 1, 3), roundings=0)
    assert outcome.worst <= 1


def test_multiplication_by_a_statistic_of_the_same_iteration() -> None:
    """Sum over iterations of X_i * sum(X_i): the statistic of a tile is used within its own iteration."""
    program = build_program("batches", {"X": (4, 8, 40)}, [(sum_(2), (0,)), (MUL, (0, 1)), (sum_(0), (2,))])
    d = Draft(program)
    x = d.load(0, (1,), 0)
    inner = d.add(MUL, x, d.add(sum_(2), x))
    d.save(d.accum(d.add(sum_(0), inner)), (1,))
    outcome = execute(program, d.graph(), Schedule.of({"x": 2, "i": 2}, 4, 2), roundings=0)
    assert outcome.worst <= 1


def test_a_tensor_whole_before_the_loop_and_cut_inside_it() -> None:
    """silu(X / sum(X**2)) . W: the sum needs whole rows, each iteration a part of them."""
    silu = unary("x/(1 + exp(-x))")
    shapes = {"X": (16, 64), "W": (64, 32)}
    ops = [(unary("x**2"), (0,)), (sum_(1), (2,)), (DIV, (0, 3)), (silu, (4,)), (MATMUL, (5, 1))]
    program = build_program("activated", shapes, ops)
    d = Draft(program)
    part, whole, w = d.load(0, (-1,), 1), d.load(0, (-1,), None), d.load(1, (1,), 0)
    total = d.add(sum_(1), d.add(unary("x**2"), whole))
    d.save(d.accum(d.add(MATMUL, d.add(silu, d.add(DIV, part, total)), w)), (1,))
    assert execute(program, d.graph(), two(program)).worst <= 1
