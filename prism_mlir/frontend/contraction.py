"""Which axes of a contraction are batch, rows, columns and contracted, in any permutation.

A contraction is a sum over products of two tensors. An axis of its iteration space is *batch* if both tensors and the
result have it, *rows* if only the left one has it, *columns* if only the right one, *contracted* if both have it and
the result does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prism_mlir.frontend.tensor_graph import Kind, TensorGraph, TensorNode, View
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import Location


@dataclass(frozen=True, slots=True)
class Roles:
    """Iteration axes of a ``CONTRACT`` node by role, each in increasing order."""

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    contracted: tuple[int, ...]


def roles_of(node: TensorNode) -> Roles:
    """The roles of a contraction's iteration axes: result axes ``0..rank-1``, then the contracted ones."""
    left, right = (set(operand.axes) for operand in node.operands)
    result = range(node.rank)
    return Roles(
        batch=tuple(a for a in result if a in left and a in right),
        rows=tuple(a for a in result if a in left and a not in right),
        columns=tuple(a for a in result if a in right and a not in left),
        contracted=tuple(range(node.rank, node.rank + len(node.reduced))),
    )


def contract(
    graph: TensorGraph, left: View, right: View, kept: Sequence[int], dtype: DType, location: Location
) -> View:
    """Sum of the product of two views over all of the viewer's axes but ``kept``, which are in the result's order.

    An axis that only one operand has is summed there first. The operands are ordered so that rows come before columns
    in the result, unless that would have computed operands transposed and the other order would not: arguments can be seen
    either way. Without any axis left to contract this is a product of the two.
    """
    summed = {*left.axes, *right.axes} - set(kept)
    for_left, for_right = (
        [axis for axis in summed if axis in one.axes and axis not in other.axes]
        for one, other in ((left, right), (right, left))
    )
    left = reduce(graph, "sum", left, for_left, dtype, location) if for_left else left
    right = reduce(graph, "sum", right, for_right, dtype, location) if for_right else right
    common = [axis for axis in left.axes if axis in summed and axis in right.axes]
    if not common:
        return graph.binary("mul", left, right, dtype, location)
    kept = [axis for axis in kept if axis in left.axes or axis in right.axes]
    own = [[a for a in kept if a not in other.axes] for other in (right, left)]
    if own[0] and own[1] and kept.index(own[0][0]) > kept.index(own[1][0]):
        left, right = right, left
    if _transposed(graph, right, left, common) < _transposed(graph, left, right, common):
        left, right = right, left
    size: dict[int, int] = {}
    for view in (left, right):
        size |= dict(zip(view.axes, graph.nodes[view.node].sizes, strict=True))
    place = {axis: k for k, axis in enumerate([*kept, *common])}
    operands = tuple(View(v.node, tuple(place[a] for a in v.axes), v.dtype) for v in (left, right))
    sizes, reduced = tuple(size[a] for a in kept), tuple(size[a] for a in common)
    node = TensorNode(Kind.CONTRACT, operands, sizes, reduced=reduced)
    return View(graph.add(node, dtype, location), tuple(kept), dtype)


def _transposed(graph: TensorGraph, left: View, right: View, contracted: Sequence[int]) -> int:
    """How many operands are computed in another order than a product's, whose contracted axes are last on the left alone."""
    wrong = [left.axes[-1] not in contracted, right.axes[-1] in contracted]
    return sum(w and not _is_given(graph, v) for w, v in zip(wrong, (left, right), strict=True))


def _is_given(graph: TensorGraph, view: View) -> bool:
    """Whether a tensor is an argument, or arguments joined, which become several."""
    node = graph.nodes[view.node]
    return node.kind is Kind.INPUT or (node.kind is Kind.CONCAT and all(_is_given(graph, v) for v in node.operands))


def reduce(graph: TensorGraph, name: str, view: View, over: Sequence[int], dtype: DType, location: Location) -> View:
    """Reduce (``sum`` or ``max``) a view over those of the viewer's axes ``over`` that it has."""
    sizes = dict(zip(view.axes, graph.nodes[view.node].sizes, strict=True))
    kept = [axis for axis in view.axes if axis not in over]
    gone = [axis for axis in view.axes if axis in over]
    if not gone:
        return view
    place = {axis: k for k, axis in enumerate([*kept, *gone])}
    operand = View(view.node, tuple(place[a] for a in view.axes), view.dtype)
    node = TensorNode(
        Kind.REDUCE, (operand,), tuple(sizes[a] for a in kept), name=name, reduced=tuple(sizes[a] for a in gone)
    )
    return View(graph.add(node, dtype, location), tuple(kept), dtype)
