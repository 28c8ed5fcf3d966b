"""Products with a reciprocal and exponentials of a logarithm, as the quotients they are.

The same softmax is written ``e / sum(e)``, ``e * (1 / sum(e))``, and through its log-sum-exp, ``exp(s - (m + log(sum(e))))``.
Search and code know the first. So ``a * (1/b)`` becomes ``a / b``, and ``exp(t - log(b))`` becomes ``exp(t) / b``, wherever the
logarithm stands among the terms of the exponent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy

from prism_mlir.frontend.tensor_graph import Kind, TensorGraph, TensorNode, View
from prism_mlir.graph.scalar_fn import X

MAX_TERMS = 8
"""Terms of an exponent that are looked at."""

MAX_DEPTH = 8
"""Sums within sums that are looked into: a value added to itself again and again has more terms than there is time for."""


@dataclass(frozen=True, slots=True)
class _Term:
    """A summand: ``factor`` (a sympy number) times ``view``."""

    factor: Any
    view: View


def as_quotients(graph: TensorGraph, roots: Sequence[int]) -> dict[int, TensorNode]:
    """Replacements of every such product and exponential. Nodes that they need are added to ``graph``."""
    changes: dict[int, TensorNode] = {}
    for index in graph.live(roots):
        made = _quotient(graph, index) or _without_logarithm(graph, index)
        if made is not None:
            changes[index] = made
    return changes


def _quotient(graph: TensorGraph, index: int) -> TensorNode | None:
    """``a * (1/b)`` as ``a / b``."""
    node = graph.nodes[index]
    if node.kind is not Kind.BINARY or node.name != "mul":
        return None
    for top, bottom in (node.operands, node.operands[::-1]):
        inverse = graph.nodes[bottom.node]
        if inverse.kind is Kind.UNARY and inverse.fn == 1 / X and set(top.axes) >= set(bottom.axes):
            return replace(node, name="div", operands=(top, _through(inverse.operands[0], bottom)))
    return None


def _without_logarithm(graph: TensorGraph, index: int) -> TensorNode | None:
    """``exp(t - log(b))`` as ``exp(t) / b``."""
    node = graph.nodes[index]
    if node.kind is not Kind.UNARY or not (isinstance(node.fn, sympy.exp) and node.fn.args[0].has(X)):
        return None
    scale = sympy.together(node.fn.args[0] / X)
    if not scale.is_number:
        return None
    terms = _terms(graph, node.operands[0], scale)
    logs = [t for t in terms if _is_logarithm(graph, t)]
    rest = [t for t in terms if t not in logs]
    if len(logs) != 1 or not rest or len(terms) > MAX_TERMS:
        return None
    dtype, where = graph.dtypes[index], graph.locations[index]
    total = _scaled(graph, rest[0], index)
    for term in rest[1:]:
        name = "sub" if term.factor.is_negative else "add"
        total = graph.binary(name, total, _scaled(graph, replace(term, factor=abs(term.factor)), index), dtype, where)
    top = graph.unary(sympy.exp(X), total, dtype, where)
    (log,) = logs
    bottom = _positive(graph, _through(graph.nodes[log.view.node].operands[0], log.view))
    if set(top.axes) != set(range(node.rank)):
        return None
    name = "div" if log.factor.is_negative else "mul"
    return TensorNode(Kind.BINARY, (top, bottom), node.sizes, name=name)


def _is_logarithm(graph: TensorGraph, term: _Term) -> bool:
    node = graph.nodes[term.view.node]
    return node.kind is Kind.UNARY and node.fn == sympy.log(X) and float(term.factor) in (1.0, -1.0)


def _positive(graph: TensorGraph, view: View) -> View:
    """``v`` of ``abs(v)`` where ``v`` is a sum of exponentials, as JAX writes a log-sum-exp."""
    node = graph.nodes[view.node]
    if node.kind is Kind.UNARY and node.fn == sympy.Abs(X) and _is_positive(graph, node.operands[0].node):
        return _through(node.operands[0], view)
    return view


def _is_positive(graph: TensorGraph, index: int, depth: int = 0) -> bool:
    node = graph.nodes[index]
    if node.kind is Kind.UNARY:
        return isinstance(node.fn, sympy.exp)
    sums = node.kind is Kind.REDUCE or (node.kind is Kind.BINARY and node.name == "add")
    return sums and depth < MAX_DEPTH and all(_is_positive(graph, v.node, depth + 1) for v in node.operands)


def _terms(graph: TensorGraph, view: View, factor: Any, depth: int = 0) -> list[_Term]:
    """A value as a sum, in the order in which it is written. Axes are the viewer's."""
    node = graph.nodes[view.node]
    if depth == MAX_DEPTH:
        return [_Term(factor, view)]
    if node.kind is Kind.BINARY and node.name in ("add", "sub"):
        left, right = (_through(v, view) for v in node.operands)
        signed = -factor if node.name == "sub" else factor
        return [*_terms(graph, left, factor, depth + 1), *_terms(graph, right, signed, depth + 1)]
    if node.kind is Kind.UNARY and (own := sympy.together(node.fn / X)).is_number:
        return _terms(graph, _through(node.operands[0], view), factor * own, depth + 1)
    return [_Term(factor, view)]


def _scaled(graph: TensorGraph, term: _Term, index: int) -> View:
    if float(term.factor) == 1:
        return term.view
    return graph.unary(term.factor * X, term.view, graph.dtypes[index], graph.locations[index])


def _through(inner: View, outer: View) -> View:
    """What ``outer``'s node reads through ``inner``, seen by the viewer of ``outer``."""
    return inner.through(outer.axes)
