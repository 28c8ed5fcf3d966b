"""Chains of reshapes and transposes as one copy: the elements lie where NumPy puts them."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.ops import Op, Shape, reshape, transpose, unary
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput, row_major
from prism_mlir.search.moves import as_copy, runs_of_moves

CHAINS: list[tuple[Shape, list[Op]]] = [
    ((6, 4), [reshape(24)]),
    ((32, 64), [reshape(2, 16, 4, 16), transpose(0, 2, 1, 3), reshape(8, 16, 16)]),
    ((8, 16, 16), [reshape(2, 4, 16, 16), transpose(1, 3, 0, 2), reshape(64, 32)]),
    ((5, 12), [transpose(1, 0), reshape(4, 15), reshape(2, 2, 3, 5), transpose(3, 0, 2, 1), reshape(5, 12)]),
    ((1, 7, 1), [reshape(7), reshape(1, 1, 7)]),
    ((1, 1), [reshape(1)]),
]


def program(shape: Shape, ops: list[Op], strides: tuple[int, ...] | None = None) -> Program:
    x = ProgramInput.whole("x", shape, DType.F32, 0)
    if strides is not None:
        x = ProgramInput("x", shape, DType.F32, 0, (prod(shape),), strides)
    nodes = tuple(ProgramNode(op, (k,), DType.F32) for k, op in enumerate(ops))
    made = Program("p", (x,), nodes, ())
    out = ProgramOutput(len(ops), DType.F32, made.shapes[-1], row_major(made.shapes[-1]))
    return Program("p", (x,), nodes, (out,))


def moved(x: np.ndarray, ops: list[Op]) -> np.ndarray:
    for op in ops:
        x = x.reshape(op.shape) if op.name == "reshape" else np.transpose(x, op.perm)
    return x


@pytest.mark.parametrize(("shape", "ops"), CHAINS)
def test_a_copy_moves_what_the_chain_moves(shape: Shape, ops: list[Op]) -> None:
    copy = as_copy(program(shape, ops))
    assert copy is not None
    assert [n.op for n in copy.nodes] == [unary("x")]
    x = np.arange(prod(shape), dtype=np.float32).reshape(shape)
    assert np.array_equal(copy.run([x])[0], moved(x, ops))


def test_a_view_and_a_strided_result_are_kept() -> None:
    """The input is seen transposed, and the result is stored transposed."""
    whole = program((6, 4), [reshape(2, 3, 4)], strides=(1, 6))
    out = whole.outputs[0]
    stored = Program("p", whole.inputs, whole.nodes, (ProgramOutput(1, DType.F32, (4, 2, 3), (3, 1, 6)), out))
    copy = as_copy(stored)
    assert copy is not None
    x = np.arange(24, dtype=np.float32)
    expected = x.reshape(4, 6).T.reshape(2, 3, 4)
    first, second = copy.run([x])
    assert np.array_equal(first.reshape(-1), np.transpose(expected, (2, 0, 1)).reshape(-1))
    assert np.array_equal(second, expected)


def test_neighbours_that_stay_together_are_one_dim() -> None:
    copy = as_copy(program((32, 64), [reshape(2, 16, 4, 16)]))
    assert copy is not None
    assert copy.nodes and copy.inputs[0].shape == (1, 2048)


def test_what_is_no_chain_of_moves_is_left_alone() -> None:
    assert as_copy(program((6, 4), [reshape(24), unary("exp(x)")])) is None
    assert as_copy(program((6, 4), [reshape(4, 6)])) is None  # no common factors in this order
    two = program((6, 4), [reshape(24)])
    twice = Program("p", two.inputs, (*two.nodes, ProgramNode(reshape(24), (0,), DType.F32)), two.outputs)
    assert as_copy(twice) is None


def test_runs() -> None:
    """exp, reshape, transpose | transpose alone | a reshape that two read."""
    ops = [unary("exp(x)"), reshape(2, 3, 4), transpose(1, 0, 2), unary("exp(x)"), transpose(0, 2, 1), reshape(12, 2)]
    made = program((6, 4), ops)
    assert runs_of_moves(made, 0, 6) == (0, 1, 3, 4, 6)
    assert runs_of_moves(made, 0, 1) == (0, 1)
    assert runs_of_moves(program((6, 4), [transpose(1, 0), unary("exp(x)")]), 0, 2) == (0, 2)
