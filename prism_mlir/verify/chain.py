"""The chain of rule applications from a program's expression to a proved candidate's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from prism_mlir.graph.errors import InputError
from prism_mlir.verify.equation import Equation, depth, equation
from prism_mlir.verify.expr import Attr, Expr, TileType, carried_dims, term
from prism_mlir.verify.proof_graph import ChainTooLong, ExplainedGraph, Instance, Step
from prism_mlir.verify.rule import SIGNATURES, Pattern, Rule, Sort, split_condition

Bound = dict[str, int | Attr]
"""Variables on the way: tensors as classes, all else as it is."""


@dataclass(frozen=True, slots=True)
class ChainLimits:
    """When to give up, for one candidate."""

    iterations: int = 30
    terms: int = 40_000
    seconds: float = 20.0
    steps: int = 5_000


@dataclass(frozen=True, slots=True)
class Chain:
    """steps[k] lead from the program's output ``k`` to the candidate's; ``None``, with the reason, where none was found."""

    steps: tuple[tuple[Step, ...], ...] | None
    reason: str = ""

    @property
    def rules(self) -> tuple[str, ...]:
        """Rules that this very proof uses, sorted."""
        return tuple(sorted({s.instance.rule for steps in self.steps or () for s in steps}))


def find_chain(
    wanted: Sequence[Expr],
    offered: Sequence[Expr],
    inputs: Sequence[TileType],
    sizes: Mapping[str, int],
    rules: Sequence[Rule],
    limits: ChainLimits | None = None,
) -> Chain:
    """Prove ``wanted[k] = offered[k]`` for all k again, and say how."""
    limits = limits or ChainLimits()
    started = monotonic()
    graph = ExplainedGraph(inputs, sizes)
    for expr in (*wanted, *offered):
        graph.add(expr)
    matcher = _Matcher(graph, [e for r in rules if (e := equation(r)) is not None])
    pairs = list(zip(wanted, offered, strict=True))
    for _ in range(limits.iterations):
        if all(graph.equal(a, b) for a, b in pairs):
            break
        if len(graph) > limits.terms:
            return Chain(None, f"stopped at {len(graph)} terms")
        if monotonic() - started > limits.seconds:
            return Chain(None, f"stopped after {limits.seconds:g} s")
        if not matcher.round():
            return Chain(None, "the rules do not connect it to the program")
    if not all(graph.equal(a, b) for a, b in pairs):
        return Chain(None, f"stopped after {limits.iterations} iterations")
    try:
        return Chain(tuple(tuple(graph.explain(a, b, limits.steps)) for a, b in pairs))
    except ChainTooLong as error:
        return Chain(None, str(error))


class _Matcher:
    """Applies equations, left to right, wherever something has changed."""

    def __init__(self, graph: ExplainedGraph, equations: Sequence[Equation]) -> None:
        self.graph = graph
        self.by_symbol: dict[str, list[Equation]] = {}
        for e in equations:
            assert isinstance(e.left, tuple) and isinstance(e.left[0], str)
            self.by_symbol.setdefault(e.left[0], []).append(e)
        self.reach = max((depth(e.left) for e in equations), default=1)

    def round(self) -> bool:
        """Apply every equation once; whether anything was learned."""
        graph = self.graph
        dirty = {graph.find(k) for k in graph.touched}
        for _ in range(self.reach - 1):
            dirty |= {user for name in dirty for user in graph.users(name)}
        graph.touched = set()
        found = [
            (e, name, bound)
            for name in sorted(dirty)
            for symbol, equations in self.by_symbol.items()
            if graph.members(name, symbol)
            for e in equations
            for bound in map(dict, self._matches(e.left, name, {}))
            if self._holds(e.rule, bound)
        ]
        news = [self._apply(e, name, bound) for e, name, bound in found]
        graph.rebuild()
        return any(news)

    def _matches(self, pattern: Pattern, name: int, bound: Bound) -> Iterator[Bound]:
        if isinstance(pattern, str):
            known = bound.get(pattern)
            if known is None:
                yield {**bound, pattern: name}
            elif known == name:
                yield bound
            return
        symbol = str(pattern[0])
        signature = SIGNATURES[symbol]
        count = sum(s is Sort.TENSOR for s in signature)
        for expr, children in self.graph.members(name, symbol):
            start = _bind_attrs(pattern[1 + count :], expr.attrs, bound)
            if start is not None:
                yield from self._match_children(pattern[1 : 1 + count], children, start)

    def _match_children(self, patterns: Sequence[Pattern], children: Sequence[int], bound: Bound) -> Iterator[Bound]:
        if not patterns:
            yield bound
            return
        for more in self._matches(patterns[0], children[0], bound):
            yield from self._match_children(patterns[1:], children[1:], more)

    def _holds(self, rule: Rule, bound: Bound) -> bool:
        """Whether the preconditions hold. ``moves`` may bind the dim that a dim is carried to."""
        for condition in rule.when:
            name, arguments = split_condition(condition)
            if not self._condition(name, arguments, bound):
                return False
        return True

    def _condition(self, name: str, arguments: Sequence[Pattern], bound: Bound) -> bool:
        if name == "alike":
            return self._shape(arguments[0], bound) == self._shape(arguments[1], bound) is not None
        values = [_value(a, bound) for a in arguments]
        match name:
            case "one":
                return self._size(values[0], values[1]) == 1
            case "flat":
                return self._is_flat(values[0], values[1], values[2])
            case "same":
                return self._size(values[0], values[2]) == self._size(values[1], values[2])
            case "differ":
                return values[0] != values[1]
            case "below":
                return int(values[0] or 0) < int(values[1] or 0)
            case "moves":
                return _moves(str(values[0]), values[1], arguments[2], bound)
        raise ValueError(f"unknown precondition '{name}'")

    def _is_flat(self, name: int | Attr | None, d: int | Attr | None, other: int | Attr | None) -> bool:
        assert isinstance(name, int) and isinstance(d, int) and isinstance(other, int)
        flat, shape = self.graph.type_of(name).shape, self.graph.type_of(other).shape
        return d < len(shape) and flat == (*shape[:d], 1, *shape[d + 1 :])

    def _size(self, name: int | Attr | None, d: int | Attr | None) -> int | None:
        assert isinstance(name, int) and isinstance(d, int)
        shape = self.graph.type_of(name).shape
        return shape[d] if d < len(shape) else None

    def _shape(self, pattern: Pattern, bound: Bound) -> tuple[int, ...] | None:
        """Shape of a pattern whose variables are bound; ``None`` where the e-graph does not hold it yet, as in egglog."""
        name = self._lookup(pattern, bound)
        return None if name is None else self.graph.type_of(name).shape

    def _lookup(self, pattern: Pattern, bound: Bound) -> int | None:
        if isinstance(pattern, str):
            value = bound[pattern]
            assert isinstance(value, int)
            return self.graph.find(value)
        operands, attrs = _arguments(pattern)
        found = [self._lookup(o, bound) for o in operands]
        if any(f is None for f in found):
            return None
        return self.graph.lookup(str(pattern[0]), [f for f in found if f is not None], [_attr(a, bound) for a in attrs])

    def _apply(self, e: Equation, name: int, bound: Bound) -> bool:
        known = self._lookup(e.right, bound)
        if known is not None and known == self.graph.find(name):
            return False
        left, right = (self._build(p, bound) for p in (e.left, e.right))
        filled = tuple(sorted((v, self._filled(v, k, e)) for v, k in bound.items()))
        try:
            return self.graph.unite(Instance(e.rule.name, filled, left, right))
        except InputError:
            return False  # the right side makes no sense for these tiles

    def _filled(self, variable: str, value: int | Attr, e: Equation) -> Expr | Attr:
        if variable in _tensors(e):
            assert isinstance(value, int)
            return self.graph.smallest(self.graph.find(value))
        return value

    def _build(self, pattern: Pattern, bound: Bound) -> Expr:
        if isinstance(pattern, str):
            value = bound[pattern]
            assert isinstance(value, int)
            return self.graph.smallest(self.graph.find(value))
        operands, attrs = _arguments(pattern)
        return term(str(pattern[0]), [self._build(o, bound) for o in operands], [_attr(a, bound) for a in attrs])


def _tensors(e: Equation) -> frozenset[str]:
    return frozenset(_tensor_variables(e.left)) | frozenset(_tensor_variables(e.right))


def _tensor_variables(pattern: Pattern) -> Iterator[str]:
    if isinstance(pattern, str):
        yield pattern
        return
    for operand in _arguments(pattern)[0]:
        yield from _tensor_variables(operand)


def _arguments(pattern: tuple[Pattern, ...]) -> tuple[tuple[Pattern, ...], tuple[Pattern, ...]]:
    count = sum(s is Sort.TENSOR for s in SIGNATURES[str(pattern[0])])
    return pattern[1 : 1 + count], pattern[1 + count :]


def _bind_attrs(patterns: Sequence[Pattern], attrs: Sequence[Attr], bound: Bound) -> Bound | None:
    for pattern, attr in zip(patterns, attrs, strict=True):
        assert isinstance(pattern, str)
        if (literal := _literal(pattern)) is not None:
            if literal != attr:
                return None
        elif pattern not in bound:
            bound = {**bound, pattern: attr}
        elif bound[pattern] != attr:
            return None
    return bound


def _literal(text: str) -> Attr | None:
    if text.startswith('"'):
        return text.strip('"')
    return int(text) if text.isdigit() else None


def _attr(pattern: Pattern, bound: Bound) -> Attr:
    assert isinstance(pattern, str)
    literal = _literal(pattern)
    return bound[pattern] if literal is None else literal


def _value(pattern: Pattern, bound: Bound) -> Attr | None:
    assert isinstance(pattern, str)
    literal = _literal(pattern)
    return bound.get(pattern) if literal is None else literal


def _moves(move: str, d: Attr | None, target: Pattern, bound: Bound) -> bool:
    assert isinstance(d, int) and isinstance(target, str)
    to = dict(carried_dims(move)).get(d)
    if to is None:
        return False
    return bound.setdefault(target, to) == to
