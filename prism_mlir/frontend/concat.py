"""Concatenations, carried to where they disappear: into sums, and into the places that results are stored to.

A tensor joined from parts is computed part by part. What sums over the joined axis adds up its parts' sums (so attention over a
cache and a new token is two products and a sum), what works elementwise works on each part, and a result that is still joined
at the end becomes several outputs that lie side by side in one function result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod

from prism_mlir.frontend.contraction import contract, reduce
from prism_mlir.frontend.raise_function import Result
from prism_mlir.frontend.restrict import Range, Restrictor
from prism_mlir.frontend.tensor_graph import Kind, TensorGraph, TensorNode, View
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.ops import MONOIDS
from prism_mlir.graph.scalar_fn import X

MAX_CELLS = 32
"""Most parts that one tensor is computed in."""

Span = tuple[int, int]  # from, to (not included)
Box = dict[int, Span]  # by axis


@dataclass(frozen=True, slots=True)
class Grid:
    """A tensor in parts: ``cuts`` of every axis (its ends included), and a view on the tensor's axes for each part."""

    cuts: tuple[tuple[int, ...], ...]
    cells: Mapping[tuple[int, ...], View]

    def spans(self) -> Iterator[tuple[tuple[int, ...], tuple[Span, ...]]]:
        """Every part's place in the grid, and what it spans."""
        for place in product(*(range(len(c) - 1) for c in self.cuts)):
            yield place, tuple((c[k], c[k + 1]) for c, k in zip(self.cuts, place, strict=True))


def has_concat(graph: TensorGraph, roots: Sequence[int]) -> bool:
    return any(graph.nodes[k].kind is Kind.CONCAT for k in graph.live(roots))


class Distributor:
    """Rebuilds a graph without concatenations; ``grids[k]`` is what became of old node ``k``."""

    def __init__(self, old: TensorGraph, roots: Sequence[int]) -> None:
        self.old, self.new = old, TensorGraph()
        self.restrict = Restrictor(self.new)
        self.grids: dict[int, Grid] = {}
        for index in old.live(roots):
            self.grids[index] = self._grid(index)

    def _grid(self, index: int) -> Grid:
        node = self.old.nodes[index]
        cuts = self._cuts(node)
        if prod(len(c) - 1 for c in cuts) > MAX_CELLS:
            where = self.old.locations[index]
            raise UnsupportedError(f"a tensor concatenated from more than {MAX_CELLS} parts", where, "use fewer parts")
        grid = Grid(cuts[: node.rank], {})
        cells = {place: self._cell(index, cuts, spans) for place, spans in grid.spans()}
        return replace(grid, cells=cells)

    def _cuts(self, node: TensorNode) -> tuple[tuple[int, ...], ...]:
        """Cuts of a node's iteration axes: wherever an operand is cut."""
        found = [{0, size} for size in (*node.sizes, *node.reduced)]
        start = 0
        for k, view in enumerate(node.operands):
            for axis, cuts in zip(view.axes, self.grids[view.node].cuts, strict=True):
                found[axis] |= {c + (start if axis == node.axis else 0) for c in cuts}
            if node.axis is not None:
                found[node.axis] |= {start, start + node.extents[k]}
                start += node.extents[k]
        return tuple(tuple(sorted(f)) for f in found)

    def _cell(self, index: int, cuts: Sequence[tuple[int, ...]], spans: Sequence[Span]) -> View:
        node, dtype, location = self.old.nodes[index], self.old.dtypes[index], self.old.locations[index]
        box = dict(enumerate(spans))
        if node.kind is Kind.INPUT:
            return View(self.new.add(node, dtype, location), tuple(range(node.rank)), dtype)
        if node.kind is Kind.CONCAT:
            return self._part(node, box)
        if node.kind in (Kind.UNARY, Kind.BINARY):
            return self._elementwise(index, [self._seen(view, box) for view in node.operands])
        total: View | None = None
        ranges = product(*(list(pairwise(c)) for c in cuts[node.rank :]))
        boxes = [box | {node.rank + k: span for k, span in enumerate(reduced)} for reduced in ranges]
        for whole in [b for b in boxes if not self._adds_nothing(node, b)] or boxes[:1]:
            term = self._contracted(index, whole)
            name = MONOIDS[node.name] if node.kind is Kind.REDUCE else "add"
            total = term if total is None else self.new.binary(name, total, term, dtype, location)
        assert total is not None
        return total

    def _adds_nothing(self, node: TensorNode, box: Box) -> bool:
        """Whether a sum over this part of what the node reduces is one of zeros, as of a tensor that was padded."""
        if node.kind is not Kind.CONTRACT and node.name != "sum":
            return False
        seen = (self.new.nodes[self._seen(view, box).node].source for view in node.operands)
        return any(s is not None and s.data is not None and not any(s.data) for s in seen)

    def _part(self, node: TensorNode, box: Box) -> View:
        assert node.axis is not None
        start = 0
        for view, extent in zip(node.operands, node.extents, strict=True):
            low, high = box[node.axis]
            if start <= low and high <= start + extent:
                return self._seen(view, box | {node.axis: (low - start, high - start)})
            start += extent
        raise AssertionError("every cell lies in one part")

    def _elementwise(self, index: int, views: Sequence[View]) -> View:
        node, dtype, location = self.old.nodes[index], self.old.dtypes[index], self.old.locations[index]
        size: dict[int, int] = {}
        for view in views:
            size |= dict(zip(view.axes, self.new.nodes[view.node].sizes, strict=True))
        axes = sorted(size)
        place = {axis: k for k, axis in enumerate(axes)}
        operands = tuple(replace(v, axes=tuple(place[a] for a in v.axes)) for v in views)
        shift = None if node.shift is None else tuple(place[a] for a in node.shift if a in place)
        made = replace(node, operands=operands, sizes=tuple(size[a] for a in axes), shift=shift)
        return View(self.new.add(made, dtype, location), tuple(axes), dtype)

    def _contracted(self, index: int, box: Box) -> View:
        """A sum (or maximum) over one part of the axes that the node reduces."""
        node, dtype, location = self.old.nodes[index], self.old.dtypes[index], self.old.locations[index]
        views = [self._seen(view, box) for view in node.operands]
        over = list(range(node.rank, node.rank + len(node.reduced)))
        if node.kind is Kind.CONTRACT:
            result = contract(self.new, views[0], views[1], list(range(node.rank)), dtype, location)
        else:
            result = reduce(self.new, node.name, views[0], over, dtype, location)
        repeats = prod(box[a][1] - box[a][0] for a in over if not any(a in v.axes for v in views))
        if repeats == 1 or node.name in ("max", "min"):
            return result
        return self.new.unary(repeats * X, result, dtype, location)

    def _seen(self, view: View, box: Box) -> View:
        """The part of an operand that lies in a box of the viewer's axes."""
        grid = self.grids[view.node]
        cell: list[int] = []
        ranges: dict[int, Range] = {}
        for inner, (axis, cuts) in enumerate(zip(view.axes, grid.cuts, strict=True)):
            low, high = box[axis]
            k = max(j for j in range(len(cuts) - 1) if cuts[j] <= low)
            cell.append(k)
            if (low, high) != (cuts[k], cuts[k + 1]):
                count = high - low
                ranges[inner] = Range(low - cuts[k], 1, (count,) if count > 1 else ())
        found = grid.cells[tuple(cell)]
        place = {k: (axis,) if k not in ranges or ranges[k].sizes else () for k, axis in enumerate(view.axes)}
        seen = self.restrict.view(found, ranges, place)
        return replace(seen, dtype=view.dtype)


def result_parts(done: Distributor, result: Result) -> Iterator[Result]:
    """A result of the function as its parts, each with the place it is stored to."""
    grid = done.grids[result.view.node]
    for place, spans in grid.spans():
        seen = dict(enumerate(result.spans)) | dict(zip(result.view.axes, spans, strict=True))
        cell = grid.cells[place]
        view = View(cell.node, tuple(result.view.axes[axis] for axis in cell.axes), result.view.dtype)
        yield replace(result, view=view, spans=tuple(seen[k] for k in range(len(seen))))
