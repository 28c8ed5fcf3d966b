"""Slices as views: push a slice through everything that computes the sliced tensor, down to the inputs.

A slice of a sum is the sum of slices, a slice of a product's rows is the product of a slice; only axes that stay are ever
sliced, never those an operation reduces. At an input a slice is an offset, a stride and a size. So no operator slices: what
remains is the same computation on fewer elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from prism_mlir.frontend.tensor_graph import Kind, SourceTensor, TensorGraph, TensorNode, View
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.program import row_major

MAX_DEPTH = 400


@dataclass(frozen=True, slots=True)
class Range:
    """Indices ``start, start + step, ...`` of an axis, as new axes of ``sizes`` (slowest first; none for a single index)."""

    start: int
    step: int
    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        return prod(self.sizes)


Ranges = Mapping[int, Range]


class Restrictor:
    """Restricts nodes of one graph, each to the same ranges once."""

    def __init__(self, graph: TensorGraph) -> None:
        self.graph = graph
        self._known: dict[tuple[int, tuple[tuple[int, Range], ...]], View] = {}
        self._depth = 0

    def view(self, view: View, ranges: Ranges, place: Mapping[int, Sequence[int]]) -> View:
        """A view of which the viewer sees only ``ranges`` (by viewer's axis). ``place``: its new axes for each old one.

        Raises :class:`UnsupportedError` where a strided or regrouped range spans several parts of a concatenation.
        """
        inner = {k: ranges[axis] for k, axis in enumerate(view.axes) if axis in ranges}
        if not inner:
            return View(view.node, tuple(place[axis][0] for axis in view.axes), view.dtype)
        made = self.node(view.node, inner)
        outer = [new for axis in view.axes for new in place[axis]]
        return View(made.node, tuple(outer[k] for k in made.axes), view.dtype)

    def node(self, index: int, ranges: Ranges) -> View:
        """A node's result restricted to ranges of its axes, seen from its remaining axes, in order."""
        key = (index, tuple(sorted(ranges.items(), key=lambda item: item[0])))
        if key not in self._known:
            if self._depth > MAX_DEPTH:
                where = self.graph.locations[index]
                raise UnsupportedError("a slice of the end of a very long computation", where, "slice its inputs")
            self._depth += 1
            self._known[key] = self._restricted(index, ranges)
            self._depth -= 1
        return self._known[key]

    def _restricted(self, index: int, ranges: Ranges) -> View:
        node, dtype, location = self.graph.nodes[index], self.graph.dtypes[index], self.graph.locations[index]
        sizes, place = _new_axes(node, ranges)
        if node.kind is Kind.CONCAT and node.axis in ranges:
            return self._parts(index, ranges, place, sizes)
        if node.source is not None:
            node = replace(node, source=_seen(node.source, node.rank, ranges, place))
        operands = tuple(self.view(v, ranges, place) for v in node.operands)
        axis = None if node.axis is None else place[node.axis][0]
        shift = None if node.shift is None else tuple(new for old in node.shift for new in place[old])
        made = replace(node, operands=operands, sizes=sizes, axis=axis, shift=shift)
        return View(self.graph.add(made, dtype, location), tuple(range(len(sizes))), dtype)

    def _parts(self, index: int, ranges: Ranges, place: Mapping[int, Sequence[int]], sizes: tuple[int, ...]) -> View:
        """A range along the axis of a concatenation: of one part, or the parts it touches, cut at its ends."""
        node = self.graph.nodes[index]
        assert node.axis is not None
        wanted = ranges[node.axis]
        last = wanted.start + (wanted.count - 1) * wanted.step
        touched: list[tuple[View, int]] = []
        start = 0
        for view, extent in zip(node.operands, node.extents, strict=True):
            low, high = max(wanted.start, start), min(last, start + extent - 1)
            if low <= high:
                whole = low == wanted.start and high == last
                if not whole and (wanted.step != 1 or len(wanted.sizes) != 1):
                    where = self.graph.locations[index]
                    raise UnsupportedError(
                        "a slice that regroups several parts of a concatenation", where, "slice them"
                    )
                count = high - low + 1
                part = wanted if whole else Range(low, 1, (count,) if count > 1 else ())
                moved = {**ranges, node.axis: replace(part, start=part.start - start)}
                touched.append(
                    (self.view(view, moved, {**place, node.axis: place[node.axis][: len(part.sizes)]}), count)
                )
            start += extent
        if len(touched) == 1:
            return touched[0][0]
        made = replace(
            node,
            operands=tuple(v for v, _ in touched),
            sizes=sizes,
            axis=place[node.axis][0],
            extents=tuple(n for _, n in touched),
        )
        dtype = self.graph.dtypes[index]
        return View(self.graph.add(made, dtype, self.graph.locations[index]), tuple(range(len(sizes))), dtype)


def _new_axes(node: TensorNode, ranges: Ranges) -> tuple[tuple[int, ...], dict[int, tuple[int, ...]]]:
    """Sizes of the result's new axes, and the new iteration axes of every old one (those it reduces come last, whole)."""
    sizes: list[int] = []
    place: dict[int, tuple[int, ...]] = {}
    for axis, size in enumerate(node.sizes):
        new = ranges[axis].sizes if axis in ranges else (size,)
        place[axis] = tuple(range(len(sizes), len(sizes) + len(new)))
        sizes.extend(new)
    for k in range(len(node.reduced)):
        place[node.rank + k] = (len(sizes) + k,)
    return tuple(sizes), place


def _seen(source: SourceTensor, rank: int, ranges: Ranges, place: Mapping[int, Sequence[int]]) -> SourceTensor:
    """An input of which only some indices are seen."""
    strides: list[int] = []
    offset = source.offset
    for axis in range(rank):
        step = source.strides[axis]
        if axis not in ranges:
            strides.append(step)
            continue
        seen = ranges[axis]
        offset += seen.start * step
        strides.extend(inner * seen.step * step for inner in row_major(seen.sizes))
    groups = tuple(tuple(new for axis in group for new in place[axis]) for group in source.groups)
    return replace(source, strides=tuple(strides), offset=offset, groups=groups)
