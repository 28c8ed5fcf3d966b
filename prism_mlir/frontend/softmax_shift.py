"""Recognise the shift of a softmax by what it does to the results: nothing.

A program that computes ``exp(s - m)``, where ``m`` is the maximum of ``s`` over some axes, multiplies the exponential's
row by ``e^(-m)``. If no result changes when every row is multiplied by its own factor, the shift only guards against
overflow, and the algebra may drop it. The proof is the *degree* of every tensor in that factor: the exponential has
degree 1; sums, products with and quotients by tensors of degree 0 keep it; mul adds and div subtracts degrees; add and
sub need equal ones; anything else needs degree 0. Results need degree 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy

from prism_mlir.frontend.tensor_graph import Kind, TensorGraph, TensorNode, View
from prism_mlir.graph.scalar_fn import X

Degree = dict[tuple[int, ...], int]
"""Exponent of the row factor, by which of a tensor's axes are its row axes. Zero exponents are left out."""


def drop_shifts(graph: TensorGraph, roots: Sequence[int]) -> dict[int, TensorNode]:
    """Replacements of all exponentials whose shift cancels in every one of ``roots``.

    The new exponential applies to ``s`` itself and records the axes of the maximum in ``TensorNode.shift``.
    """
    changes: dict[int, TensorNode] = {}
    for index in graph.live(roots):
        found = shifted_exponential(graph, index)
        if found is not None and cancels(graph, index, found.shift or (), roots):
            changes[index] = found
    return changes


def shifted_exponential(graph: TensorGraph, index: int) -> TensorNode | None:
    """The node as an exponential of ``s`` with its shift recorded, if it is ``exp(s - max(s))`` (or ``exp(c*(..))``)."""
    node = graph.nodes[index]
    if node.kind is not Kind.UNARY or not (isinstance(node.fn, sympy.exp) and node.fn.args[0].has(X)):
        return None
    scale = sympy.together(node.fn.args[0] / X)
    inner = graph.nodes[node.operands[0].node]
    if inner.kind is Kind.UNARY and scale == 1:
        scale = sympy.together(inner.fn / X)
        inner = graph.nodes[inner.operands[0].node]
    if not (scale.is_number and scale.is_positive) or inner.kind is not Kind.BINARY or inner.name != "sub":
        return None
    values, maximum = inner.operands
    axes = maximum_axes(graph, values, maximum)
    if axes is None or values.axes != tuple(range(node.rank)):
        return None
    return replace(node, operands=(values,), fn=sympy.exp(scale * X), shift=axes)


def maximum_axes(graph: TensorGraph, values: View, maximum: View) -> tuple[int, ...] | None:
    """The viewer's axes over which ``maximum`` is the maximum of ``values``; None if it is not that."""
    maximum = _unguarded(graph, maximum)
    node = graph.nodes[maximum.node]
    if node.kind is not Kind.REDUCE or node.name != "max" or node.operands[0].node != values.node:
        return None
    # The maximum's iteration axis k is seen by the viewer, for result axes, at maximum.axes[k].
    shift = []
    for seen, iteration in zip(values.axes, node.operands[0].axes, strict=True):
        if iteration >= node.rank:
            shift.append(seen)
        elif maximum.axes[iteration] != seen:
            return None
    return tuple(sorted(shift))


def _unguarded(graph: TensorGraph, view: View) -> View:
    """``m`` of ``m if finite(m) else c``, as log-sum-exp guards it: where the shift cancels, a row of -inf is NaN either way."""
    node = graph.nodes[view.node]
    if node.kind is not Kind.BINARY or node.name != "keep":
        return view
    mask, kept = node.operands
    test = graph.nodes[mask.node]
    # The mask is a function of m itself, possibly in steps. Which one is of no matter: any shift of a row cancels.
    while test.kind is Kind.UNARY and mask.node != kept.node:
        mask = test.operands[0].through(mask.axes)
        test = graph.nodes[mask.node]
    return kept.through(view.axes) if (mask.node, mask.axes) == (kept.node, kept.axes) else view


def cancels(graph: TensorGraph, exponential: int, shift: Sequence[int], roots: Sequence[int]) -> bool:
    """Whether multiplying each row of ``exponential`` by a factor of its own leaves all ``roots`` as they are."""
    rows = tuple(axis for axis in range(graph.nodes[exponential].rank) if axis not in shift)
    degrees: dict[int, Degree] = {}
    for index in graph.live(roots):
        if index == exponential:
            degrees[index] = {rows: 1}
            continue
        node = graph.nodes[index]
        parts = [_seen(degrees[view.node], view) for view in node.operands]
        degree = _degree(node, parts)
        if degree is None:
            return False
        degrees[index] = degree
    return all(not degrees[root] for root in roots)


def _seen(degree: Degree, view: View) -> Degree:
    return {tuple(view.axes[axis] for axis in rows): power for rows, power in degree.items()}


def _degree(node: TensorNode, parts: list[Degree]) -> Degree | None:
    """The degree of a node from those of its operands; None if the factor does not come out as a power."""
    if not any(parts):
        return {}
    if node.kind is Kind.UNARY:
        return _unary_degree(node, parts[0])
    if node.kind is Kind.BINARY:
        left, right = parts
        if node.name == "mul":
            return _sum(left, right, 1)
        if node.name == "div":
            return _sum(left, right, -1)
        if node.name == "keep":
            return right if not left and node.value == 0 else None
        if node.name in ("add", "sub", "max", "min"):
            # A factor e^(-m) is positive, so it also comes out of a maximum.
            return left if left == right else None
    if node.kind is Kind.CONCAT:
        same = all(part == parts[0] for part in parts) and not any(node.axis in rows for rows in parts[0])
        return parts[0] if same else None
    total = parts[0] if node.kind is Kind.REDUCE else _sum(parts[0], parts[-1], 1)
    reduced = set(range(node.rank, node.rank + len(node.reduced)))
    if any(reduced & set(rows) for rows in total):
        return None
    return total


def _unary_degree(node: TensorNode, degree: Degree) -> Degree | None:
    """Only ``c * x**k`` takes a factor out."""
    coefficient, power = sympy.Wild("c", exclude=[X]), sympy.Wild("k", exclude=[X])
    match = node.fn.match(coefficient * X**power)
    if match is None or not match[power].is_integer:
        return None
    return {rows: exponent * int(match[power]) for rows, exponent in degree.items() if match[power] != 0}


def _sum(left: Degree, right: Degree, sign: int) -> Degree:
    total = dict(left)
    for rows, power in right.items():
        total[rows] = total.get(rows, 0) + sign * power
    return {rows: power for rows, power in total.items() if power}
