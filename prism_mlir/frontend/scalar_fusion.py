"""Fuse chains of scalar arithmetic on one tensor into one unary operation with a symbolic body.

``x * (1 / (1 + exp(-x)))`` arrives as five operations on one tensor and leaves as one. From the consumers down, every
elementwise node gathers the elementwise nodes below it that nobody else uses; if what they read is a single tensor, all
of it is one function of that tensor. A value that somebody else needs too is never computed twice: it stays a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from prism_mlir.frontend.scalar_body import COMBINE, number
from prism_mlir.frontend.tensor_graph import ELEMENTWISE, Kind, TensorGraph, TensorNode, View
from prism_mlir.graph.scalar_fn import Keep, X

MAX_CONE = 64
"""Most nodes fused at once."""

MAX_BODY = 96
"""Largest body, in operations written out: ``v + v*v`` repeated doubles it each time. Longer chains stay in pieces."""


def fuse_scalars(graph: TensorGraph, roots: Sequence[int]) -> dict[int, TensorNode]:
    """Replacements that make every such cone of nodes one ``UNARY``. Exponentials with a shift are left alone."""
    users = graph.users(roots)
    changes: dict[int, TensorNode] = {}
    inside: set[int] = set()
    for index in sorted(users, reverse=True):
        if index in inside or not _fusible(graph.nodes[index]):
            continue
        best: tuple[TensorNode, set[int]] | None = None
        for cone, source in _cones(graph, index, users, set(roots)):
            fused = _as_unary(graph, index, cone, source)
            if fused is not None:
                best = (fused, cone)
        if best is not None:
            changes[index], cone = best
            inside |= cone
    return changes


def _fusible(node: TensorNode) -> bool:
    return node.kind in ELEMENTWISE and node.shift is None


def _cones(
    graph: TensorGraph, top: int, users: dict[int, list[int]], roots: set[int]
) -> Iterator[tuple[set[int], int]]:
    """Growing cones below ``top`` that read one tensor only, each with that tensor.

    A node joins when all of its users have. A small cone may read one tensor where a larger one reads several: the
    square of the difference in ``(x - mean)**2``.
    """
    cone: set[int] = set()
    edge = {top}  # read by the cone, not in it
    closed: set[int] = set()  # of these, the ones that cannot join
    while (edge - closed) and len(cone) < MAX_CONE:
        # Larger indices first: a node is looked at when all of its users (which are larger) have been.
        index = max(edge - closed)
        alone = index not in roots and set(users[index]) <= cone
        if index != top and not (alone and _fusible(graph.nodes[index])):
            closed.add(index)
            continue
        cone.add(index)
        edge = (edge - {index}) | {view.node for view in graph.nodes[index].operands}
        if len(edge) == 1:
            (source,) = edge
            if _written_size(graph, top, cone, source) > MAX_BODY:
                return
            if not (cone == {top} and graph.nodes[top].kind is Kind.UNARY):
                yield set(cone), source


def _as_unary(graph: TensorGraph, top: int, cone: set[int], source: int) -> TensorNode | None:
    """The cone as one function of ``source``; None if it sees ``source`` transposed against itself or repeats it."""
    bodies: dict[int, Any] = {source: X}
    seen: dict[int, View] = {}
    for index in [source, *sorted(cone)]:
        node = graph.nodes[index]
        if index == source:
            seen[index] = View(source, tuple(range(node.rank)), graph.dtypes[source])
            continue
        views = [replace(seen[v.node].through(v.axes), dtype=v.dtype) for v in node.operands]
        if any(view.axes != views[0].axes for view in views) or len(views[0].axes) != node.rank:
            return None
        parts = [bodies[view.node] for view in node.operands]
        bodies[index] = node.fn.subs(X, parts[0]) if node.kind is Kind.UNARY else combined(node, parts)
        seen[index] = views[0]
    if bodies[top] == X or not bodies[top].has(X):
        return None
    operand = replace(seen[top], node=source, dtype=_arriving(graph, cone, source))
    return TensorNode(Kind.UNARY, (operand,), graph.nodes[top].sizes, fn=bodies[top])


def combined(node: TensorNode, parts: Sequence[Any]) -> Any:
    """The body of a ``BINARY`` node from those of its operands."""
    if node.name == "keep":
        assert node.value is not None
        return Keep(*parts, number(node.value))
    return COMBINE[node.name](*parts)


def _written_size(graph: TensorGraph, top: int, cone: set[int], source: int) -> int:
    """Operations of the cone as one expression, found without writing it."""
    size = {source: 0}
    for index in sorted(cone):
        node = graph.nodes[index]
        parts = [size[view.node] for view in node.operands]
        own, repeats = (int(node.fn.count_ops()), int(node.fn.count(X))) if node.kind is Kind.UNARY else (1, 1)
        size[index] = own + repeats * sum(parts)
    return size[top]


def _arriving(graph: TensorGraph, cone: set[int], source: int) -> Any:
    """The widest precision in which the cone reads its source."""
    read = [v.dtype for k in cone for v in graph.nodes[k].operands if v.node == source]
    return max(read, key=lambda dtype: dtype.mantissa_bits)
