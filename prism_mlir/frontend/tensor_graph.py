"""What import works on between MLIR and the tensor program: operations on factors, without reshapes and transposes.

A node's result has axes (factors, see :mod:`prism_mlir.frontend.factor`) and never an axis of size 1. Its operands are
other nodes, each axis of which is one axis of the node's iteration space: the result axes, then the axes it reduces.
Broadcasts are operands without an axis; transposes are operands with axes in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import Location


class Kind(StrEnum):
    """Operations of the graph; ``BINARY`` and ``REDUCE`` say which one in ``TensorNode.name``.

    ``CONCAT`` is there only between raising and :mod:`prism_mlir.frontend.concat`.
    """

    INPUT = "input"
    UNARY = "unary"
    BINARY = "binary"
    REDUCE = "reduce"
    CONTRACT = "contract"
    CONCAT = "concat"


ELEMENTWISE = frozenset({Kind.UNARY, Kind.BINARY})


@dataclass(frozen=True, slots=True)
class View:
    """A node as somebody sees it: node axis ``i`` is the viewer's axis ``axes[i]``; the viewer's others repeat it.

    ``dtype`` is the narrowest type of the casts passed on the way: the precision that arrives.
    """

    node: int
    axes: tuple[int, ...]
    dtype: DType

    def through(self, place: Sequence[int] | Mapping[int, int]) -> View:
        """The same node seen by somebody whose axis for the viewer's axis ``k`` is ``place[k]``."""
        return replace(self, axes=tuple(place[axis] for axis in self.axes))


@dataclass(frozen=True, slots=True)
class SourceTensor:
    """What an ``INPUT`` node reads: a view of a function argument, or of constant data (then ``arg`` is None).

    ``shape`` of the contiguous argument; ``strides`` of the node's axes and ``offset``, in elements; ``groups``: runs of
    neighbouring axes (their numbers) that are one dim of the source.
    """

    name: str
    shape: tuple[int, ...]
    arg: int | None
    strides: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    offset: int = 0
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class TensorNode:
    """One operation.

    ``sizes`` of the result axes; ``reduced`` sizes of the axes it reduces; ``name`` of a binary (add, sub, mul, div,
    max, min, keep) or reduction (sum, max, min); ``fn`` a sympy body; ``shift`` of an exponential: axes of the
    subtracted maximum; ``value`` of a ``keep``, where its mask is zero. The operands of a ``CONCAT`` have ``extents`` along
    its result axis ``axis``; one that lacks the axis repeats itself along its extent.
    """

    kind: Kind
    operands: tuple[View, ...]
    sizes: tuple[int, ...]
    name: str = ""
    reduced: tuple[int, ...] = ()
    fn: Any = None
    source: SourceTensor | None = None
    shift: tuple[int, ...] | None = None
    value: float | None = None
    axis: int | None = None
    extents: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.sizes)


def wider(a: DType, b: DType) -> DType:
    """The float type with more mantissa bits."""
    return a if a.mantissa_bits >= b.mantissa_bits else b


class TensorGraph:
    """A growing list of nodes, each stored once. Operands point backwards.

    Casts are the identity of the algebra, so two nodes that differ in element types alone are one node, computed in the
    wider type: what a program computes in f32 and again in f64 is computed once.
    """

    def __init__(self) -> None:
        self.nodes: list[TensorNode] = []
        self.dtypes: list[DType] = []
        self.locations: list[Location] = []
        self._known: dict[TensorNode, int] = {}

    def add(self, node: TensorNode, dtype: DType, location: Location) -> int:
        """Index of ``node`` computed in ``dtype``; that of the equal node if there is one."""
        key = replace(node, operands=tuple(replace(view, dtype=DType.F64) for view in node.operands))
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
            self.dtypes.append(dtype)
            self.locations.append(location)
            return len(self.nodes) - 1
        index = self._known[key]
        before = self.nodes[index].operands
        operands = tuple(replace(a, dtype=wider(a.dtype, b.dtype)) for a, b in zip(before, node.operands, strict=True))
        self.nodes[index] = replace(node, operands=operands)
        self.dtypes[index] = wider(self.dtypes[index], dtype)
        return index

    def unary(self, fn: Any, operand: View, dtype: DType, location: Location) -> View:
        """``fn`` applied where the operand lives, seen as the operand was."""
        sizes = self.nodes[operand.node].sizes
        inner = replace(operand, axes=tuple(range(len(sizes))))
        index = self.add(TensorNode(Kind.UNARY, (inner,), sizes, fn=fn), dtype, location)
        return View(index, operand.axes, dtype)

    def binary(
        self, name: str, left: View, right: View, dtype: DType, location: Location, value: float | None = None
    ) -> View:
        """``name`` applied on the axes that the operands have together: in the order of an operand that has all, so that what
        happens to it is the same however it is seen, else in the viewer's order."""
        together = {*left.axes, *right.axes}
        axes = list(next((v.axes for v in (left, right) if set(v.axes) == together), tuple(sorted(together))))
        size: dict[int, int] = {}
        for view in (left, right):
            size |= dict(zip(view.axes, self.nodes[view.node].sizes, strict=True))
        place = {axis: k for k, axis in enumerate(axes)}
        operands = tuple(replace(v, axes=tuple(place[a] for a in v.axes)) for v in (left, right))
        node = TensorNode(Kind.BINARY, operands, tuple(size[a] for a in axes), name=name, value=value)
        return View(self.add(node, dtype, location), tuple(axes), dtype)

    def live(self, roots: Sequence[int]) -> list[int]:
        """All nodes that ``roots`` depend on, operands first."""
        wanted = set(roots)
        for index in range(len(self.nodes) - 1, -1, -1):
            if index in wanted:
                wanted |= {operand.node for operand in self.nodes[index].operands}
        return sorted(wanted)

    def users(self, roots: Sequence[int]) -> dict[int, list[int]]:
        """For every live node, the live nodes that use it (once an operand), in order."""
        result: dict[int, list[int]] = {index: [] for index in self.live(roots)}
        for index in result:
            for operand in self.nodes[index].operands:
                result[operand.node].append(index)
        return result


def rewritten(graph: TensorGraph, roots: Sequence[int], change: dict[int, TensorNode]) -> tuple[TensorGraph, list[int]]:
    """A copy of what ``roots`` need, with some nodes replaced, and the new index of every old node (-1 if dropped).

    A replacement may use any node of the graph, as long as no cycle arises.
    """
    result = TensorGraph()
    place = [-1] * len(graph.nodes)

    def visit(index: int) -> None:
        for needed in _unfinished(graph, index, change, place):
            node = change.get(needed, graph.nodes[needed])
            operands = tuple(replace(view, node=place[view.node]) for view in node.operands)
            place[needed] = result.add(replace(node, operands=operands), graph.dtypes[needed], graph.locations[needed])

    for index in roots:
        visit(index)
    return result, place


def _unfinished(graph: TensorGraph, index: int, change: dict[int, TensorNode], place: list[int]) -> Iterator[int]:
    """Nodes below ``index`` (itself last) that have no new place yet, operands first."""
    pending = [(index, False)]
    while pending:
        current, ready = pending.pop()
        if place[current] >= 0:
            continue
        if ready:
            yield current
            continue
        pending.append((current, True))
        node = change.get(current, graph.nodes[current])
        pending.extend((view.node, False) for view in reversed(node.operands))
