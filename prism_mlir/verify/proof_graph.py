"""A small e-graph that remembers why: any two terms of one class are connected by a chain of rule applications.

egglog decides quickly, but cannot say how it got there. So a proved candidate is proved once more here, alone, and the chain
is read off: every union leaves an edge in a forest over terms, labelled with the rule instance that made it or with
"congruence" (the operands are equal); the path between two terms, with congruences unfolded, is the proof (Nieuwenhuis and
Oliveras, "Proof-producing congruence closure", RTA 2005).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism_mlir.verify.expr import Attr, Expr, TileType, infer, term

Substitution = tuple[tuple[str, Expr | Attr], ...]
"""What the variables of a rule stand for, sorted by name."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A rule with its variables filled; ``left`` and ``right`` are the two sides it makes equal."""

    rule: str
    filled: Substitution
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Step:
    """One rewrite of a whole term: at ``position`` (operand indices from the root), a side of a rule instance becomes the
    other; ``forward`` is left to right."""

    instance: Instance
    forward: bool
    position: tuple[int, ...]

    @property
    def result(self) -> Expr:
        """What stands at ``position`` afterwards."""
        return self.instance.right if self.forward else self.instance.left


class ChainTooLong(Exception):
    """A proof was found, but written out it exceeds the limit."""


class ExplainedGraph:
    """Terms in classes of equals. Numbers stand for terms; a class is named by one of its terms."""

    def __init__(self, inputs: Sequence[TileType], sizes: Mapping[str, int]) -> None:
        self._inputs, self._sizes = inputs, sizes
        self._number: dict[Expr, int] = {}
        self.terms: list[Expr] = []
        self.types: list[TileType] = []
        self._weight: list[int] = []
        self._children: list[tuple[int, ...]] = []
        self._up: list[int] = []
        self._edge: list[tuple[int, Instance | None] | None] = []  # None as a reason: congruence
        self._node: dict[tuple[object, ...], int] = {}
        self._members: dict[int, dict[str, list[int]]] = {}
        self._users: dict[int, list[int]] = {}
        self._best: dict[int, int] = {}
        self._repair: list[int] = []
        self.touched: set[int] = set()

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def classes(self) -> Sequence[int]:
        return list(self._members)

    def find(self, k: int) -> int:
        while self._up[k] != k:
            self._up[k] = k = self._up[self._up[k]]
        return k

    def members(self, name: int, symbol: str) -> Sequence[tuple[Expr, tuple[int, ...]]]:
        """Terms of a class that start with ``symbol``, with the classes of their operands."""
        found = self._members[name].get(symbol, ())
        return [(self.terms[k], tuple(map(self.find, self._children[k]))) for k in found]

    def smallest(self, name: int) -> Expr:
        """The shortest term of a class."""
        return self.terms[self._best[name]]

    def type_of(self, name: int) -> TileType:
        return self.types[name]

    def users(self, name: int) -> set[int]:
        """Classes that hold a term with an operand in this class."""
        return {self.find(k) for k in self._users.get(name, ())}

    def lookup(self, symbol: str, operands: Sequence[int], attrs: Sequence[Attr]) -> int | None:
        """The class of ``symbol(operands, attrs)``, if there is one."""
        found = self._node.get((symbol, tuple(attrs), tuple(operands)))
        return None if found is None else self.find(found)

    def add(self, expr: Expr) -> int:
        """The number of a term, inserted with its subterms. Raises :class:`InputError` for an ill-typed one."""
        known = self._number.get(expr)
        if known is not None:
            return known
        children = tuple(self.add(o) for o in expr.operands)
        kind = infer(expr, [self.types[c] for c in children], self._inputs, self._sizes)
        k = self._number[expr] = len(self.terms)
        self.terms.append(expr)
        self.types.append(kind)
        self._weight.append(1 + sum(self._weight[c] for c in children))
        self._children.append(children)
        self._up.append(k)
        self._edge.append(None)
        key = self._key(k)
        same = self._node.setdefault(key, k)
        self._members[k], self._best[k] = {}, k
        if same == k:
            self._members[k] = {expr.symbol: [k]}
            for c in children:
                self._users.setdefault(self.find(c), []).append(k)
            self.touched.add(k)
        else:
            self._unite(k, same, None)
        return k

    def _key(self, k: int) -> tuple[object, ...]:
        expr = self.terms[k]
        return (expr.symbol, expr.attrs, tuple(map(self.find, self._children[k])))

    def unite(self, instance: Instance) -> bool:
        """Make the two sides of an instance equal; whether that was news. Call :meth:`rebuild` when done."""
        return self._unite(self.add(instance.left), self.add(instance.right), instance)

    def _unite(self, a: int, b: int, why: Instance | None) -> bool:
        into, gone = self.find(a), self.find(b)
        if into == gone:
            return False
        if self._size(into) < self._size(gone):
            into, gone, a, b = gone, into, b, a
        self._reroot(b)
        self._edge[b] = (a, why)
        self._up[gone] = into
        for symbol, found in self._members.pop(gone).items():
            self._members[into].setdefault(symbol, []).extend(found)
        moved = self._users.pop(gone, [])
        self._users.setdefault(into, []).extend(moved)
        self._repair += moved
        best = self._best.pop(gone)
        if self._weight[best] < self._weight[self._best[into]]:
            self._best[into] = best
        self.touched.add(into)
        return True

    def _size(self, name: int) -> int:
        return sum(map(len, self._members[name].values())) + len(self._users.get(name, ()))

    def _reroot(self, k: int) -> None:
        """Turn the edges from ``k`` to the root of its tree around."""
        edge = self._edge[k]
        self._edge[k] = None
        while edge is not None:
            above, why = edge
            edge, self._edge[above] = self._edge[above], (k, why)
            k = above

    def rebuild(self) -> None:
        """Close under congruence."""
        while self._repair:
            waiting, self._repair = dict.fromkeys(self._repair), []
            for k in waiting:
                same = self._node.setdefault(self._key(k), k)
                self._unite(k, same, None)
        self.touched = {self.find(k) for k in self.touched}
        for name in self.touched:
            for symbol, found in self._members[name].items():
                self._members[name][symbol] = list({self._key(k): k for k in reversed(found)}.values())[::-1]

    def equal(self, a: Expr, b: Expr) -> bool:
        return self.find(self._number[a]) == self.find(self._number[b])

    def explain(self, a: Expr, b: Expr, limit: int = 5_000) -> list[Step]:
        """The steps that turn ``a`` into ``b``; empty where they are the same. Raises :class:`ChainTooLong`."""
        steps: list[Step] = []
        todo: list[tuple[int, int, tuple[int, ...]] | Step] = [(self._number[a], self._number[b], ())]
        while todo:
            if len(steps) > limit:
                raise ChainTooLong(f"a chain of more than {limit} steps")
            job = todo.pop()
            if isinstance(job, Step):
                steps.append(job)
                continue
            start, end, position = job
            todo += reversed(
                [part for x, y, why in self._path(start, end) for part in self._unfold(x, y, why, position)]
            )
        return _without_loops(a, steps)

    def _unfold(
        self, x: int, y: int, why: Instance | None, position: tuple[int, ...]
    ) -> list[tuple[int, int, tuple[int, ...]] | Step]:
        if why is not None:
            return [Step(why, self.terms[x] is why.left, position)]
        pairs = zip(self._children[x], self._children[y], strict=True)
        return [(c, d, (*position, k)) for k, (c, d) in enumerate(pairs) if c != d]

    def _path(self, start: int, end: int) -> list[tuple[int, int, Instance | None]]:
        """Edges of the forest from one term to another, each as (from, to, why)."""
        if start == end:
            return []
        up, down = self._to_root(start), self._to_root(end)
        while up and down and up[-1][:2] == down[-1][:2]:
            up.pop()
            down.pop()
        return up + [(b, a, why) for a, b, why in reversed(down)]

    def _to_root(self, k: int) -> list[tuple[int, int, Instance | None]]:
        path: list[tuple[int, int, Instance | None]] = []
        while (edge := self._edge[k]) is not None:
            path.append((k, edge[0], edge[1]))
            k = edge[0]
        return path


def rewrite(whole: Expr, position: Sequence[int], part: Expr) -> Expr:
    """``whole`` with the subterm at ``position`` replaced."""
    if not position:
        return part
    k, *rest = position
    operands = list(whole.operands)
    operands[k] = rewrite(operands[k], rest, part)
    return term(whole.symbol, operands, whole.attrs)


def _without_loops(start: Expr, steps: Sequence[Step]) -> list[Step]:
    """The steps without detours that come back to a term already seen."""
    seen, kept, whole = {start: 0}, list[Step](), start
    for step in steps:
        whole = rewrite(whole, step.position, step.result)
        kept.append(step)
        if whole in seen:
            del kept[seen[whole] :]
            seen = {t: n for t, n in seen.items() if n <= len(kept)}
        seen[whole] = len(kept)
    return kept
