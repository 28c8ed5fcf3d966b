"""Slices and concatenations: ``tensor.extract_slice``, ``tensor.insert_slice`` and ``tensor.concat``.

A slice becomes a view (see :mod:`prism_mlir.frontend.restrict`). Tensors joined along one dim, or written into each other until
nothing of the old one is left, become one ``CONCAT`` node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from prism_mlir.frontend.constants import constant_value
from prism_mlir.frontend.function_dims import FunctionDims, SliceShape, slice_shape, static_shape
from prism_mlir.frontend.restrict import Range, Restrictor
from prism_mlir.frontend.scalar_body import BodyEvaluator, Comparison, Const, Unknown, Value, dtype_of, unsupported
from prism_mlir.frontend.tables import Table
from prism_mlir.frontend.tensor_graph import Kind, TensorGraph, TensorNode, View
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import Location, UnsupportedError


@dataclass(frozen=True, slots=True)
class _Part:
    """Indices ``low .. high - 1`` of a dim hold those of ``value`` from ``start`` on."""

    low: int
    high: int
    value: Value
    start: int = 0

    def clipped(self, low: int, high: int) -> list[_Part]:
        low, high = max(low, self.low), min(high, self.high)
        return [_Part(low, high, self.value, self.start + low - self.low)] if low < high else []


class Pieces:
    """Values of the operations that cut tensors apart and put them together."""

    OPERATIONS: ClassVar[frozenset[str]] = frozenset(
        {"tensor.extract", "tensor.extract_slice", "tensor.insert_slice", "tensor.concat", "tensor.pad"}
    )

    def __init__(self, graph: TensorGraph, dims: FunctionDims, body: BodyEvaluator, values: dict[Any, Value]) -> None:
        self.graph, self.dims, self.body, self.values = graph, dims, body, values
        self._restrict = Restrictor(graph)
        self._written: dict[Any, tuple[int, tuple[_Part, ...]]] = {}  # insert_slice result -> dim, what its parts hold

    def value(self, op: Any, location: Location) -> Value:
        """The value of one such operation."""
        try:
            if op.name == "tensor.concat":
                return self._concat(op, location)
            if op.name == "tensor.extract":
                return self._element(op, location)
            if op.name == "tensor.pad":
                return self._padded(op, location)
            shape = slice_shape(op)
            if shape is None:
                return Unknown(
                    f"{op.name} at an offset that is not constant", location, "use constant offsets and sizes"
                )
            return (
                self._extract(op, shape, location)
                if op.name == "tensor.extract_slice"
                else self._insert(op, shape, location)
            )
        except UnsupportedError as error:
            return Unknown(error.message, error.location or location, error.hint or "rewrite it")

    # -- slices

    def _extract(self, op: Any, shape: SliceShape, location: Location) -> Value:
        value = self.values[op.operands[0]]
        if isinstance(value, Const | Unknown):
            return value
        source, target = self.dims.dims(op.operands[0]), self.dims.dims(op.results[0])
        ranges: dict[int, Range] = {}
        place: dict[int, tuple[int, ...]] = {}
        axes = self.dims.axes(source)
        kept = iter([d for d in target if self.dims.factors.size(d) != 1])
        new = 0
        for d, dim in enumerate(source):
            sizes = () if shape.sizes[d] == 1 else tuple(self.dims.factors.sizes([next(kept)]))
            found = self._ranges(dim, shape, d, sizes)
            if found is None:
                return Unknown(f"{op.name} of a dim that a reshape splits in another way", location, "slice before it")
            for axis, one in zip(axes[d], found, strict=True):
                if one is not None:
                    ranges[axis] = one
                count = 1 if one is None else len(one.sizes)
                place[axis] = tuple(range(new, new + count))
                new += count
        return self._sliced(value, ranges, place)

    def _ranges(self, dim: int, shape: SliceShape, d: int, sizes: tuple[int, ...]) -> list[Range | None] | None:
        """The range of each factor of a dim (``None``: all of it), or ``None`` where the slice does not follow factors."""
        factors = self.dims.factors.sizes([dim])
        offset, count, step = shape.offsets[d], shape.sizes[d], shape.steps[d]
        if count == prod(factors):
            return [None] * len(factors)
        if count == 1:
            place = np.unravel_index(offset, factors)
            return [Range(int(k), 1, ()) for k in place]
        if len(factors) == 1:
            return [Range(offset, step, sizes)]
        inner = prod(factors[1:])
        if step != 1 or offset % inner or count % inner or sizes[len(sizes) - len(factors) + 1 :] != tuple(factors[1:]):
            return None
        return [Range(offset // inner, 1, sizes[: len(sizes) - len(factors) + 1]), *[None] * (len(factors) - 1)]

    def _sliced(self, value: Value, ranges: dict[int, Range], place: dict[int, tuple[int, ...]]) -> Value:
        if isinstance(value, View):
            return self._restrict.view(value, ranges, place)
        if isinstance(value, Table):
            return _sliced_table(value, ranges, place)
        if isinstance(value, Comparison):
            left, right = (self._sliced(side, ranges, place) for side in (value.left, value.right))
            assert isinstance(left, Const | View) and isinstance(right, Const | View)
            return replace(value, left=left, right=right)
        return value

    def _element(self, op: Any, location: Location) -> Value:
        """One element, at a place that is known."""
        value = self.values[op.operands[0]]
        if isinstance(value, Const | Unknown):
            return value
        place = [self.values[v] for v in list(op.operands)[1:]]
        numbers = [int(p.value) for p in place if isinstance(p, Const)]
        shape = static_shape(op.operands[0].type)
        if shape is None or len(numbers) != len(place):
            return unsupported(op, location)
        if any(not 0 <= n < size for n, size in zip(numbers, shape, strict=True)):
            return Unknown("an element outside of its tensor", location, "correct its position")
        dims = self.dims.dims(op.operands[0])
        ranges: dict[int, Range] = {}
        for axes, dim, number in zip(self.dims.axes(dims), dims, numbers, strict=True):
            inner = np.unravel_index(number, self.dims.factors.sizes([dim]))
            ranges |= {axis: Range(int(n), 1, ()) for axis, n in zip(axes, inner, strict=True)}
        found = self._sliced(value, ranges, dict.fromkeys(ranges, ()))
        return Const(float(found.array)) if isinstance(found, Table) else found

    # -- joining

    def _concat(self, op: Any, location: Location) -> Value:
        from mlir import ir

        dim, parts, low = ir.IntegerAttr(op.attributes["dim"]).value, [], 0
        for operand in op.operands:
            extent = (static_shape(operand.type) or (0,) * (dim + 1))[dim]
            place = self._place(operand, op.results[0], list(range(len(self.dims.dims(operand)))))
            parts.append(_Part(low, low + extent, _seen(self.values[operand], place)))
            low += extent
        return self._joined(op, dim, parts, location)

    def _insert(self, op: Any, shape: SliceShape, location: Location) -> Value:
        source, target = op.operands[0], op.operands[1]
        whole = static_shape(target.type)
        assert whole is not None
        partial = [d for d, n in enumerate(whole) if shape.sizes[d] != n]
        if not partial:
            return self.values[source]
        if len(partial) > 1 or shape.steps[partial[0]] != 1:
            return Unknown(f"{op.name} that leaves gaps in several dims", location, "write along one dim at a time")
        (dim,) = partial
        low, high = shape.offsets[dim], shape.offsets[dim] + shape.sizes[dim]
        before = self._written.get(target)
        old = before[1] if before and before[0] == dim else (_Part(0, whole[dim], self.values[target]),)
        parts = [p for part in old for p in part.clipped(0, low)]
        kept = [d for d, n in enumerate(shape.sizes) if n != 1]
        own = [d for d, dim in enumerate(self.dims.dims(source)) if self.dims.factors.size(dim) != 1]
        target_dims = dict(zip(own, kept, strict=True))
        place = self._place(source, target, [target_dims.get(d, 0) for d in range(len(self.dims.dims(source)))])
        parts += [_Part(low, high, _seen(self.values[source], place))]
        parts += [p for part in old for p in part.clipped(high, whole[dim])]
        self._written[op.results[0]] = (dim, tuple(parts))
        return self._joined(op, dim, parts, location)

    def _padded(self, op: Any, location: Location) -> Value:
        """A tensor with a number around it: joined with it along one dim after the other."""
        low, high = (_numbers(op, name) for name in ("static_low", "static_high"))
        whole, source = static_shape(op.results[0].type), static_shape(op.operands[0].type)
        fill = self._yielded(op)
        value = self.values[op.operands[0]]
        if isinstance(value, Unknown):
            return value
        if len(op.operands) > 1 or whole is None or source is None or not isinstance(fill, Const):
            return Unknown("tensor.pad by a width or a value that is not constant", location, "pad by constants")
        dtype = dtype_of(op.results[0].type.element_type)
        if dtype is None or not dtype.is_float or min((*low, *high), default=0) < 0:
            return Unknown(f"tensor.pad to {op.results[0].type}", location, "pad floats by positive widths")
        place = self._place(op.operands[0], op.results[0], list(range(len(whole))))
        axes = self.dims.axes(self.dims.dims(op.results[0]))
        seen = _seen(value, place)
        view = self.body.view(Table(np.asarray(seen.value), ()) if isinstance(seen, Const) else seen, dtype, location)
        around = self.body.view(Table(np.asarray(fill.value), ()), dtype, location)
        for d, n in enumerate(source):
            if n != whole[d]:
                if len(axes[d]) != 1:
                    return Unknown("tensor.pad of a dim that a reshape splits", location, "pad after it")
                view = self._around(view, around, axes[d][0], (low[d], n, high[d]), dtype, location)
        return view  # type: ignore[no-any-return]

    def _around(
        self, view: View, fill: View, axis: int, extents: tuple[int, int, int], dtype: DType, location: Location
    ) -> View:
        """``fill``, ``view`` and ``fill`` joined along an axis of the viewer, of these extents."""
        size = dict(zip(view.axes, self.graph.nodes[view.node].sizes, strict=True)) | {axis: sum(extents)}
        place = {a: k for k, a in enumerate(sorted(size))}
        parts = [(v.through(place), n) for v, n in zip((fill, view, fill), extents, strict=True) if n]
        node = TensorNode(
            Kind.CONCAT,
            tuple(v for v, _ in parts),
            tuple(size[a] for a in sorted(size)),
            axis=place[axis],
            extents=tuple(n for _, n in parts),
        )
        return View(self.graph.add(node, dtype, location), tuple(sorted(size)), dtype)

    def _yielded(self, op: Any) -> Value | None:
        """What the region of a ``tensor.pad`` returns, if it is a number."""
        (*_, last) = op.regions[0].blocks[0]
        (value,) = last.operation.operands
        owner = getattr(value.owner, "operation", value.owner)
        if value not in self.values and getattr(owner, "name", "") == "arith.constant":
            found = constant_value(owner, {}, self.body.locate(owner))
            return None if isinstance(found, bytes) else found
        return self.values.get(value)

    def _place(self, part: Any, whole: Any, dims: list[int]) -> list[int]:
        """For each axis of ``part``, the axis of ``whole``, whose dims ``dims`` the part's are. A cut dim counts as one axis."""
        axes = self.dims.axes(self.dims.dims(whole))
        place: list[int] = []
        for d, own in enumerate(self.dims.axes(self.dims.dims(part))):
            there = axes[dims[d]]
            if len(own) > len(there) or (len(own) != len(there) and own):
                raise UnsupportedError("a tensor joined along a dim that a reshape splits", None, "join after it")
            place += there[: len(own)]
        return place

    def _joined(self, op: Any, dim: int, parts: list[_Part], location: Location) -> Value:
        lost = next((p.value for p in parts if isinstance(p.value, Unknown)), None)
        if lost is not None:
            return lost
        result = op.results[0]
        dtype = dtype_of(result.type.element_type)
        dims = self.dims.dims(result)
        axes = self.dims.axes(dims)
        if dtype is None or not dtype.is_float or len(axes[dim]) != 1:
            return Unknown(f"{op.name} of {result.type} along a dim that a reshape splits", location, "join after it")
        (axis,) = axes[dim]
        views = [self._part_view(p, axis, dtype, location) for p in parts]
        sizes = tuple(self.dims.factors.sizes(dims))
        extents = tuple(p.high - p.low for p in parts)
        node = TensorNode(Kind.CONCAT, tuple(views), sizes, axis=axis, extents=extents)
        return View(self.graph.add(node, dtype, location), tuple(range(len(sizes))), dtype)

    def _part_view(self, part: _Part, axis: int, dtype: Any, location: Location) -> View:
        """A part on the axes of the result. A part of extent 1 has no axis along the joined dim."""
        value = part.value
        if isinstance(value, Const):
            value = Table(np.asarray(value.value), ())
        view = self.body.view(value, dtype, location)
        assert isinstance(view, View)
        extent = part.high - part.low
        size = dict(zip(view.axes, self.graph.nodes[view.node].sizes, strict=True))
        if axis in size and size[axis] != extent:
            cut = Range(part.start, 1, (extent,) if extent > 1 else ())
            place = {a: (a,) if a != axis or extent > 1 else () for a in view.axes}
            return self._restrict.view(view, {axis: cut}, place)
        return view


def _numbers(op: Any, name: str) -> list[int]:
    from mlir import ir

    return [int(n) for n in ir.DenseI64ArrayAttr(op.attributes[name])]


def _seen(value: Value, place: list[int]) -> Value:
    return value.through(place) if isinstance(value, View | Table | Comparison) else value


def _sliced_table(table: Table, ranges: dict[int, Range], place: dict[int, tuple[int, ...]]) -> Table:
    array, axes = table.array, []
    index: list[Any] = []
    shape: list[int] = []
    for k, axis in enumerate(table.axes):
        one = ranges.get(axis)
        index.append(slice(None) if one is None else slice(one.start, one.start + one.count * one.step, one.step))
        shape += [array.shape[k]] if one is None else list(one.sizes)
        axes += list(place[axis])
    return Table(array[tuple(index)].reshape(shape), tuple(axes))
