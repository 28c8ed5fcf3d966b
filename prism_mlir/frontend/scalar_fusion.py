"""Fuse chains of scalar arithmetic on one tensor into one unary operation with a symbolic body.

``x * (1 / (1 + exp(-x)))`` arrives as five operations on one tensor and leaves as one. From the consumers down, every
elementwise node gathers the elementwise nodes below it that nobody else uses; if what they read is a single tensor, all
of it is one function of that tensor. A value that somebody else needs too is never computed twice: it stays a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from prism_mlir.frontend.scalar_body import COMBINE
from prism_mlir.frontend.tensor_graph import ELEMENTWISE, Kind, TensorGraph, TensorNode, View
from prism_mlir.graph.scalar_fn import X


def fuse_scalars(graph: TensorGraph, roots: Sequence[int]) -> dict[int, TensorNode]:
    """Replacements that make every such cone of nodes one ``UNARY``. Exponentials with a shift are left alone."""
    users = graph.users(roots)
    changes: dict[int, TensorNode] = {}
    inside: set[int] = set()
    for index in sorted(users, reverse=True):
        if index in inside or not _fusible(graph.nodes[index]):
            continue
        for cone, source in _candidates(graph, index, users, set(roots)):
            fused = _as_unary(graph, index, cone, source)
            if fused is not None:
                changes[index] = fused
                inside |= cone
                break
    return changes


def _candidates(
    graph: TensorGraph, top: int, users: dict[int, list[int]], roots: set[int]
) -> Iterator[tuple[set[int], int]]:
    """Cones below ``top`` that read one tensor only, the largest first, each with that tensor.

    Where the whole cone reads several tensors, a member of it may still be all that the nodes above it read: the
    difference in ``(x - mean)**2``.
    """
    whole = _cone(graph, top, users, roots)
    for stop in (None, *sorted(whole - {top})):
        cone = whole if stop is None else _cone(graph, top, users, roots | {stop})
        sources = {view.node for member in cone for view in graph.nodes[member].operands} - cone
        trivial = cone == {top} and graph.nodes[top].kind is Kind.UNARY
        if len(sources) == 1 and not trivial:
            yield cone, sources.pop()


def _fusible(node: TensorNode) -> bool:
    return node.kind in ELEMENTWISE and node.shift is None


def _cone(graph: TensorGraph, top: int, users: dict[int, list[int]], roots: set[int]) -> set[int]:
    """``top`` and all fusible nodes below it whose every use is inside."""
    cone = {top}
    pending = [view.node for view in graph.nodes[top].operands]
    while pending:
        # Larger indices first: a node is looked at when all of its users (which are larger) have been.
        index = max(pending)
        pending = [other for other in pending if other != index]
        if index in roots or not _fusible(graph.nodes[index]) or not set(users[index]) <= cone:
            continue
        cone.add(index)
        pending += [view.node for view in graph.nodes[index].operands]
    return cone


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
        bodies[index] = node.fn.subs(X, parts[0]) if node.kind is Kind.UNARY else COMBINE[node.name](*parts)
        seen[index] = views[0]
    if bodies[top] == X or not bodies[top].has(X):
        return None
    operand = replace(seen[top], node=source, dtype=_arriving(graph, cone, source))
    return TensorNode(Kind.UNARY, (operand,), graph.nodes[top].sizes, fn=bodies[top])


def _arriving(graph: TensorGraph, cone: set[int], source: int) -> Any:
    """The widest precision in which the cone reads its source."""
    read = [v.dtype for k in cone for v in graph.nodes[k].operands if v.node == source]
    return max(read, key=lambda dtype: dtype.mantissa_bits)
