"""Tensor programs: a DAG of operators on whole tensors (what to compute, nothing about how).

Values are numbered: first the inputs, then one value a node. Views (transposes, strides, repeats) of function arguments
and results belong to the inputs and outputs, so operators see only the shapes they work on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from prism_mlir.graph.dtypes import DType, to_float64
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.fields import Array, Domain, Reals
from prism_mlir.graph.ops import Op, Shape, evaluate_op
from prism_mlir.graph.shifts import ShiftedEvaluation


def row_major(shape: Shape) -> tuple[int, ...]:
    """Strides, in elements, of a contiguous row-major tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """A tensor the program reads: a strided view of a function argument, or of a constant.

    shape, strides, offset: the view, in elements of the contiguous argument (a stride of 0 repeats it)
    arg:                    position of the function argument; ``None`` for a constant, whose bytes are in ``data``
    arg_shape:              shape of the contiguous argument
    """

    name: str
    shape: Shape
    dtype: DType
    arg: int | None
    arg_shape: Shape
    strides: tuple[int, ...]
    offset: int = 0
    data: bytes | None = field(default=None, repr=False)

    @staticmethod
    def whole(name: str, shape: Shape, dtype: DType, arg: int) -> ProgramInput:
        """An argument seen as it is."""
        return ProgramInput(name, shape, dtype, arg, shape, row_major(shape))

    @property
    def contiguous(self) -> bool:
        return self.shape == self.arg_shape and self.strides == row_major(self.shape) and self.offset == 0

    def view(self, argument: Array) -> Array:
        """The input as an array, without copying, from the whole argument (of any element type)."""
        flat = np.ascontiguousarray(argument).reshape(-1)[self.offset :]
        strides = tuple(s * flat.itemsize for s in self.strides)
        return np.lib.stride_tricks.as_strided(flat, self.shape, strides, writeable=False)


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """A result, or a part of one: which value, and where its elements lie in the contiguous result (in elements).

    shape:  of the contiguous result
    result: position among the function's results; several outputs of one position lie in it side by side. ``None``: the
            output's own position, where no result has parts
    """

    value: int
    dtype: DType
    shape: Shape
    strides: tuple[int, ...]
    name: str = "out"
    offset: int = 0
    result: int | None = None

    def scatter(self, value: Array, whole: Array | None = None) -> Array:
        """The contiguous result holding ``value``; the rest of it is as in ``whole``."""
        result = np.empty(int(np.prod(self.shape)), dtype=value.dtype) if whole is None else whole.reshape(-1)
        strides = tuple(s * result.itemsize for s in self.strides)
        np.lib.stride_tricks.as_strided(result[self.offset :], value.shape, strides)[...] = value
        return result.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class ProgramNode:
    """An operator applied to earlier values.

    dtype: element type the source program stores the value in (after the casts that follow it directly)
    shift: for a ``unary`` that is an exponential: the dim over which the source subtracted the maximum first,
           a shift that import proved to cancel in every output and dropped (see codegen, "scaled tiles")
    """

    op: Op
    operands: tuple[int, ...]
    dtype: DType
    shift: int | None = None


@dataclass(frozen=True)
class Program:
    """A tensor program. Operand indices always point backwards."""

    name: str
    inputs: tuple[ProgramInput, ...]
    nodes: tuple[ProgramNode, ...]
    outputs: tuple[ProgramOutput, ...]

    def __post_init__(self) -> None:
        for k, node in enumerate(self.nodes):
            if any(not 0 <= v < len(self.inputs) + k for v in node.operands):
                raise InputError(f"node {k} of program '{self.name}' uses a value that is not defined before it")
        for out in self.outputs:
            if not 0 <= out.value < len(self.inputs) + len(self.nodes):
                raise InputError(f"output '{out.name}' of program '{self.name}' names no value")
        zero = [i.name for i in self.inputs if 0 in i.shape]
        if zero:
            raise InputError(f"input '{zero[0]}' of program '{self.name}' has a dim of size 0; nothing to compute")

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The shape of every value. Raises :class:`InputError` where an operator's operands do not fit."""
        shapes: list[Shape] = [i.shape for i in self.inputs]
        for node in self.nodes:
            shapes.append(node.op.spec.shape(node.op, [shapes[v] for v in node.operands]))
        return tuple(shapes)

    def node_of(self, value: int) -> ProgramNode | None:
        """The node that computes a value; ``None`` for an input."""
        return None if value < len(self.inputs) else self.nodes[value - len(self.inputs)]

    def dtype_of(self, value: int) -> DType:
        node = self.node_of(value)
        return self.inputs[value].dtype if node is None else node.dtype

    def stored_dtype(self, value: int) -> DType:
        """The type in which kernels leave a value for others: the source's, or f32 for f64, since code computes in f32."""
        dtype = self.dtype_of(value)
        return DType.F32 if dtype is DType.F64 else dtype

    def evaluate(self, inputs: Sequence[Array], domain: Domain) -> tuple[Array, ...]:
        """Values of all outputs (before output views) from the input *views*, in any domain.

        In real numbers a shift that import dropped is made again, so that nothing overflows that does not in the source.
        """
        if isinstance(domain, Reals) and any(n.shift is not None for n in self.nodes):
            found = ShiftedEvaluation(self, inputs)
            return tuple(found.value(out.value) for out in self.outputs)
        values = list(inputs)
        for node in self.nodes:
            rank = len(self.shapes[node.operands[0]]) if node.operands else 0
            values.append(evaluate_op(node.op, [values[v] for v in node.operands], rank, domain))
        return tuple(values[out.value] for out in self.outputs)

    def run(self, arguments: Sequence[Array]) -> tuple[Array, ...]:
        """Evaluate in f64 on whole function arguments (held as their dtype's storage); results as f64, whole."""
        return self.scatter(self.evaluate(self.views(arguments), Reals()))

    @cached_property
    def results(self) -> tuple[ProgramOutput, ...]:
        """One output for each result of the function, the first of its parts."""
        first: dict[int, ProgramOutput] = {}
        for k, out in enumerate(self.outputs):
            first.setdefault(k if out.result is None else out.result, out)
        return tuple(first[k] for k in sorted(first))

    def result_of(self, output: int) -> int:
        """Which result of the function an output is, or is part of."""
        own = self.outputs[output].result
        return output if own is None else own

    def scatter(self, values: Sequence[Array]) -> tuple[Array, ...]:
        """The function's results, whole, from the values of all outputs."""
        whole: dict[int, Array] = {}
        for k, (out, value) in enumerate(zip(self.outputs, values, strict=True)):
            position = self.result_of(k)
            whole[position] = out.scatter(np.asarray(value), whole.get(position))
        return tuple(whole[k] for k in sorted(whole))

    def views(self, arguments: Sequence[Array]) -> list[Array]:
        """The program's inputs in f64, from whole function arguments (held as their dtype's storage)."""
        return [self._input_array(i, arguments) for i in self.inputs]

    @staticmethod
    def _input_array(spec: ProgramInput, arguments: Sequence[Array]) -> Array:
        if spec.arg is not None:
            return to_float64(spec.view(arguments[spec.arg]), spec.dtype)
        assert spec.data is not None
        whole = np.frombuffer(spec.data, dtype=spec.dtype.storage).reshape(spec.arg_shape)
        return to_float64(spec.view(whole), spec.dtype)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything but names: the same program under other names has the same one."""
        inputs = [(i.shape, i.dtype, i.arg, i.arg_shape, i.strides, i.offset, i.data) for i in self.inputs]
        nodes = [(n.op.sort_key, n.operands, n.dtype, n.shift) for n in self.nodes]
        outputs = [
            (o.value, o.dtype, o.shape, o.strides, o.offset, self.result_of(k)) for k, o in enumerate(self.outputs)
        ]
        return hashlib.sha256(repr((inputs, nodes, outputs)).encode()).hexdigest()[:16]
