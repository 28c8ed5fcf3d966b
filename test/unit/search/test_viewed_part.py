"""Parts with views for moves compute together what the whole program computes, whatever is cut where."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.ops import ADD, Kind, Op, Shape, reshape, transpose, unary
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput, row_major
from prism_mlir.search.viewed_part import IDENTITY, reshaped_strides, view_of, viewed_part

SHAPES: list[Shape] = [(4, 6), (6, 4), (24,), (2, 2, 6), (2, 12), (2, 3, 4), (1, 24), (4, 1, 6), (3, 2, 2, 2)]


def built(ops: Sequence[tuple[Op, tuple[int, ...]]], outputs: Sequence[int], transposed: bool = False) -> Program:
    """A program of two inputs of shape (4, 6), the first perhaps seen transposed in memory."""
    x = ProgramInput.whole("x", (4, 6), DType.F32, 0)
    if transposed:
        x = ProgramInput("x", (4, 6), DType.F32, 0, (6, 4), (1, 4))
    inputs = (x, ProgramInput.whole("y", (4, 6), DType.F32, 1))
    nodes = tuple(ProgramNode(op, operands, DType.F32) for op, operands in ops)
    shapes = Program("p", inputs, nodes, ()).shapes
    outs = (ProgramOutput(v, DType.F32, shapes[v], row_major(shapes[v]), f"o{v}") for v in outputs)
    return Program("p", inputs, nodes, tuple(outs))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Moves, sums and functions on tensors of 24 elements."""
    ops: list[tuple[Op, tuple[int, ...]]] = []
    shapes: list[Shape] = [(4, 6), (4, 6)]
    for _ in range(draw(st.integers(1, 9))):
        v = draw(st.integers(0, len(shapes) - 1))
        kind = draw(st.sampled_from(["reshape", "transpose", "unary", "add"]))
        alike = [k for k, s in enumerate(shapes) if s == shapes[v]]
        if kind == "reshape":
            to = draw(st.sampled_from(SHAPES))
            ops.append((reshape(*to), (v,)))
            shapes.append(to)
        elif kind == "transpose":
            order = draw(st.permutations(range(len(shapes[v]))))
            ops.append((transpose(*order), (v,)))
            shapes.append(tuple(shapes[v][k] for k in order))
        elif kind == "unary":
            ops.append((unary("2*x + 1"), (v,)))
            shapes.append(shapes[v])
        else:
            ops.append((ADD, (v, draw(st.sampled_from(alike)))))
            shapes.append(shapes[v])
    last = len(shapes) - 1
    outputs = draw(st.sets(st.integers(2, last), min_size=1, max_size=3)) | {last}
    return built(ops, sorted(outputs), draw(st.booleans()))


def run_in_parts(program: Program, cuts: Sequence[int], arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results, each part run by itself on what lies in memory."""
    memory = {k: arguments[i.arg or 0] for k, i in enumerate(program.inputs)}
    results: dict[int, np.ndarray] = {}
    for first, last in pairwise(cuts):
        part = viewed_part(program, first, last)
        if part is None:
            continue
        found = part.program.run([memory[v] for v in part.inputs])
        for (value, result), array in zip(part.outputs, found, strict=True):
            if result is None:
                memory[value] = array
            else:
                results[result] = array
    return [results[k] for k in sorted(results)]


@given(programs(), st.data())
def test_parts_compute_what_the_whole_does(program: Program, data: st.DataObject) -> None:
    count = len(program.nodes)
    cuts = sorted({0, count, *data.draw(st.sets(st.integers(0, count), max_size=4))})
    shape = program.inputs[0].arg_shape
    arguments = [np.arange(24, dtype=np.float32).reshape(shape), np.arange(24, dtype=np.float32).reshape(4, 6) * 0.5]
    wanted = program.run(arguments)
    got = run_in_parts(program, cuts, arguments)
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@given(programs())
def test_a_part_holds_no_move_of_what_lies_in_memory(program: Program) -> None:
    """Where strides can say it: NumPy makes a view without copying there, and not elsewhere."""
    for k, node in enumerate(program.nodes):
        part = viewed_part(program, k, k + 1)
        if node.op.kind not in (Kind.RESHAPE, Kind.TRANSPOSE):
            continue
        value = len(program.inputs) + k
        is_view = view_of(program, value).base != value
        stored = any(o.value == value for o in program.outputs)
        if is_view and not stored:
            assert part is None
        elif is_view:
            assert part is not None
            assert [n.op for n in part.program.nodes] == [IDENTITY]


@pytest.mark.parametrize("to", SHAPES)
@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 4)])
def test_strides_of_reshapes_are_numpys(shape: Shape, to: Shape) -> None:
    whole = np.arange(48)
    for strides in (row_major(shape), tuple(2 * s for s in row_major(shape)), tuple(reversed(row_major(shape)))):
        view = np.lib.stride_tricks.as_strided(whole, shape, tuple(8 * s for s in strides))
        found = reshaped_strides(shape, strides, to)
        if found is None:
            with pytest.raises(ValueError, match="copy"):
                np.reshape(view, to, copy=False)
        else:
            again = np.lib.stride_tricks.as_strided(whole, to, tuple(8 * s for s in found))
            np.testing.assert_array_equal(again, view.reshape(to))


def test_a_result_is_stored_where_its_move_puts_it() -> None:
    """exp, then transposed and split: one operator, whose result is written through strides."""
    program = built([(unary("exp(x)"), (0,)), (transpose(1, 0), (2,)), (reshape(2, 3, 4), (3,))], [4])
    part = viewed_part(program, 0, 3)
    assert part is not None
    assert [str(n.op) for n in part.program.nodes] == ["unary[exp(x)]"]
    assert part.program.outputs[0].strides == (1, 4)


def test_two_views_of_one_tensor_have_names_of_their_own() -> None:
    """A 4 x 4 square and its transpose, added."""
    x = ProgramInput.whole("x", (4, 4), DType.F32, 0)
    nodes = [(unary("exp(x)"), (0,)), (transpose(1, 0), (1,)), (ADD, (1, 2))]
    out = ProgramOutput(3, DType.F32, (4, 4), (4, 1))
    program = Program("p", (x,), tuple(ProgramNode(op, v, DType.F32) for op, v in nodes), (out,))
    part = viewed_part(program, 2, 3)
    assert part is not None
    assert [(i.name, i.strides) for i in part.program.inputs] == [("t1", (4, 1)), ("t1_view2", (1, 4))]
    assert part.inputs == (1,)
