"""Raise a ``func.func`` of linalg, tensor and arith operations into a :class:`TensorGraph`.

Forward over the function, once. Every tensor becomes a view of a node, a number (a splat), or an :class:`Unknown` that
remembers its operation and place; only if a result of the function needs an ``Unknown`` does it become an error. So
dead code, unused indices of an argmax and uninitialised buffers cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from prism_mlir.frontend.constants import constant_value, read_resources
from prism_mlir.frontend.function_dims import RESHAPES, FunctionDims, static_shape
from prism_mlir.frontend.pieces import Pieces
from prism_mlir.frontend.regions import Generated, Generic
from prism_mlir.frontend.scalar_body import (
    BodyEvaluator,
    Const,
    Unknown,
    Value,
    dtype_of,
    unsupported,
)
from prism_mlir.frontend.tables import Table
from prism_mlir.frontend.tensor_graph import Kind, SourceTensor, TensorGraph, TensorNode, View
from prism_mlir.frontend.upstream import UpstreamModule
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import Location, UnsupportedError
from prism_mlir.graph.ops import Shape
from prism_mlir.graph.program import row_major


@dataclass(frozen=True, slots=True)
class Result:
    """A result of the function, or a part of one: the view that computes it (its axes are the factors of its dims).

    shape, dtype: of the whole result;  factor_sizes: of each of its dims
    position:     which result of the function
    spans:        for each axis, the indices ``from .. to - 1`` that the view computes
    """

    view: View
    shape: tuple[int, ...]
    factor_sizes: tuple[tuple[int, ...], ...]
    dtype: DType
    location: Location
    position: int
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class RaisedFunction:
    """A function as a graph of operations on factors."""

    name: str
    graph: TensorGraph
    results: tuple[Result, ...]


def axis_strides(shape: Shape, factors: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Strides, in elements, of every factor of a contiguous tensor.

    >>> axis_strides((6, 4), [(2, 3), (4,)])
    (12, 4, 1)
    """
    strides: list[int] = []
    for dim_stride, dim in zip(row_major(shape), factors, strict=True):
        strides.extend(stride * dim_stride for stride in row_major(tuple(dim)))
    return tuple(strides)


def axis_groups(factors: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Numbers of the axes of each dim.

    >>> axis_groups([(2, 3), (4,)])
    ((0, 1), (2,))
    """
    ends = [0, *accumulate(len(dim) for dim in factors)]
    return tuple(tuple(range(start, end)) for start, end in pairwise(ends))


def raise_function(function: Any, name: str, upstream: UpstreamModule) -> RaisedFunction:
    """Raise one function of a normalised module. Raises :class:`UnsupportedError`, located, naming the operation."""
    blocks = list(function.regions[0].blocks)
    if len(blocks) != 1:
        raise UnsupportedError("control flow in a function", upstream.locate(function), "use straight-line code")
    return Raiser(blocks[0], upstream).run(name)


class Raiser:
    def __init__(self, block: Any, upstream: UpstreamModule) -> None:
        self.block = block
        self.upstream = upstream
        self.graph = TensorGraph()
        self.values: dict[Any, Value] = {}
        self.dims = FunctionDims(block)
        self.body = BodyEvaluator(self.graph, upstream.locate)
        self.resources: dict[str, bytes] | None = None
        self.pieces = Pieces(self.graph, self.dims, self.body, self.values)

    def run(self, name: str) -> RaisedFunction:
        for position, argument in enumerate(self.block.arguments):
            self._argument(position, argument)
        results: tuple[Result, ...] = ()
        for view in self.block:
            op = view.operation
            if op.name == "func.return":
                results = tuple(self._result(op, k, operand) for k, operand in enumerate(op.operands))
            else:
                self._operation(op)
        return RaisedFunction(name, self.graph, results)

    def _argument(self, position: int, argument: Any) -> None:
        location = self._argument_location(argument)
        shape = static_shape(argument.type)
        if shape is None:
            if "?" in str(argument.type):
                what = f"dynamic size in argument {position}, {argument.type}, is not supported"
                raise UnsupportedError(what, location, "give every dim a number; only prism compile takes ?")
            self.values[argument] = Unknown(f"argument {position} of type {argument.type}", location, "use a tensor")
            return
        if 0 in shape:
            raise UnsupportedError(f"argument {position} has no elements", location, "remove dims of size 0")
        dtype = dtype_of(argument.type.element_type)
        if dtype is None or not (dtype.is_float or dtype is DType.I1):
            what = f"argument {position} of element type {argument.type.element_type}"
            self.values[argument] = Unknown(what, location, "use a floating-point tensor")
            return
        given = argument.location.name_str if argument.location.is_a_name() else ""
        factors = self._factor_sizes(argument)
        name = given if given.isidentifier() else f"arg{position}"
        source = SourceTensor(name, shape, position, axis_strides(shape, factors), axis_groups(factors))
        sizes = tuple(size for dim in factors for size in dim)
        node = self.graph.add(TensorNode(Kind.INPUT, (), sizes, source=source), dtype, location)
        self.values[argument] = View(node, tuple(range(len(sizes))), dtype)

    def _argument_location(self, argument: Any) -> Location:
        from prism_mlir.frontend.upstream import source_location

        own = source_location(argument.location, self.upstream.filename)
        return own or self.upstream.locate(self.block.owner.operation)

    def _factor_sizes(self, value: Any) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.dims.factors.sizes([dim])) for dim in self.dims.dims(value))

    def _result(self, op: Any, position: int, value: Any) -> Result:
        location = self.upstream.locate(op)
        found = self.values[value]
        shape = static_shape(value.type)
        if isinstance(found, Unknown):
            raise found.error()
        dtype = None if shape is None else dtype_of(value.type.element_type)
        if dtype is None or not dtype.is_float:
            what = f"a result of type {value.type}"
            raise UnsupportedError(what, location, "convert it to a floating-point type")
        assert shape is not None
        found = self.body.view(
            Table(np.asarray(found.value), ()) if isinstance(found, Const) else found, dtype, location
        )
        if isinstance(found, Unknown):
            raise found.error()
        factors = self._factor_sizes(value)
        spans = tuple((0, size) for dim in factors for size in dim)
        return Result(found, shape, factors, dtype, location, position, spans)

    def _operation(self, op: Any) -> None:
        location = self.upstream.locate(op)
        if op in self.dims.failed:
            results: list[Value] = [Unknown(f"{op.name} of sizes without common factors", location)] * len(op.results)
        elif op.name in RULES:
            results = RULES[op.name](self, op, location)
        elif len(op.regions) == 0 and len(op.results) == 1 and op.name.split(".")[0] in ("arith", "math"):
            results = [self.body.evaluate(op, [self.values[v] for v in op.operands])]
        else:
            results = [unsupported(op, location)] * len(op.results)
        for result, value in zip(op.results, results, strict=True):
            self.values[result] = value

    def constant(self, op: Any, location: Location) -> Value:
        if self.resources is None:
            self.resources = read_resources(self.upstream.text) if "dense_resource" in str(op) else None
        found = constant_value(op, self.resources or {}, location)
        if not isinstance(found, bytes):
            return found
        dtype = dtype_of(op.results[0].type.element_type)
        if dtype is None:
            return Unknown(f"a constant of type {op.results[0].type}", location, "use a tensor of floats or integers")
        factors = self._factor_sizes(op.results[0])
        sizes = tuple(size for dim in factors for size in dim)
        array = np.frombuffer(found, dtype=dtype.storage).reshape(sizes)
        if not dtype.is_float:
            return Table(array if dtype is DType.I1 else array.astype(np.int64), tuple(range(len(sizes))))
        return self.body.constant(array, tuple(range(len(sizes))), dtype, location, axis_groups(factors))


def _same(raiser: Raiser, op: Any, _location: Location) -> list[Value]:
    return [raiser.values[op.operands[0]]]


RULES: dict[str, Callable[[Raiser, Any, Location], list[Value]]] = {
    "arith.constant": lambda raiser, op, location: [raiser.constant(op, location)],
    "linalg.generic": lambda raiser, op, location: Generic(raiser, op, location).results(),
    "tensor.cast": _same,
    "tensor.empty": lambda raiser, op, location: [Unknown("a value that was never written", location)],
    "tensor.generate": lambda raiser, op, location: [Generated(raiser, op, location).value()],
    "tensor.splat": _same,
    **dict.fromkeys(RESHAPES, _same),
    **dict.fromkeys(Pieces.OPERATIONS, lambda raiser, op, location: [raiser.pieces.value(op, location)]),
}
"""Operations on whole tensors. All others are scalar arithmetic, which is the same on a tensor, or cannot be raised."""
