"""Branches of the depth-first search: parts that can be searched by themselves, in any process.

A branch is everything below the first ``CUT`` operators of a partial graph. What is above the branches is little, and everybody
walks it: whoever searches branches to find where they begin, whoever puts the parts together to keep the order. So the parts may
be searched anywhere and by any number of processes, and the result is that of one walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.search.generate import Generator, Move, _State
from prism_mlir.search.limits import Funnel

CUT = 2

Use = Callable[[Generator, KernelGraph], Iterator[Any]]
"""What is made of a structure, at once: graphs with concrete mappings, say. Counts go to the generator's funnel."""


@dataclass(frozen=True, slots=True)
class Part:
    """What was found in one branch, in order, and what was counted on the way."""

    found: tuple[Any, ...]
    funnel: Funnel


Hand = Callable[[int, Callable[[], Iterator[Any]]], Iterator[Any]]
"""Called for each branch, with its number and what would search it here; yields structures, or parts found elsewhere."""


class Walk(Generator):
    """A generator whose branches can be handed to somebody else, and that knows how far it came."""

    hand: Hand | None = None
    branches = 0
    _load_sets_begun = 0
    _first: Sequence[Move] = ()
    _first_begun = 0

    def _extend(self, state: _State, moves: Sequence[Move], left: int) -> Iterator[Any]:
        depth = self.limits.operators - left
        if depth == 0:
            self._load_sets_begun, self._first, self._first_begun = self._load_sets_begun + 1, moves, 0
        elif depth == 1:
            newest = state.nodes[-1]
            self._first_begun = 1 + next((k for k, move in enumerate(self._first) if move[1] is newest), 0)
        if depth != CUT or self.hand is None:
            return super()._extend(state, moves, left)
        self.branches += 1
        search = super()._extend
        return self.hand(self.branches - 1, lambda: search(state, moves, left))

    def renew(self) -> None:
        """Make ready for another walk, which will be faster: what can be given to which tiles is known."""
        self.hand, self.branches, self.funnel = None, 0, Funnel()
        self._load_sets_begun, self._first, self._first_begun = 0, (), 0

    def leave(self, prefix: str = "") -> None:
        """Tell the funnel what was not explored; to be called after a limit ended the walk."""
        sets = len(self._load_sets())
        if (rest := sets - self._load_sets_begun) > 0:
            self.funnel.leave(f"{prefix}{rest} of {sets} load sets")
        if (rest := len(self._first) - self._first_begun) > 0:
            self.funnel.leave(
                f"{prefix}{rest} of {len(self._first)} first operators of load set {self._load_sets_begun}"
            )

    def results(self, use: Use) -> Iterator[Any]:
        """What ``use`` makes of every structure, parts that come from elsewhere included."""
        for item in self.run():
            if isinstance(item, Part):
                yield from item.found
            else:
                yield from use(self, item)
        if not self.funnel.complete:
            self.leave()


def count_branches(walk: Walk) -> int:
    """How many branches there are. The walk is used up, until it is renewed."""
    walk.hand = lambda number, search: iter(())
    for _ in walk.run():
        pass
    return walk.branches


def search_branches(walk: Walk, start: int, end: int, use: Use) -> list[Part]:
    """Branches ``start`` to ``end`` (exclusive), each with a funnel of its own. The walk is used up, until it is renewed."""
    parts: list[Part] = []
    above = walk.funnel

    def hand(number: int, search: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        if number >= end:
            above.stop("not in this range")
        elif number >= start:
            walk.funnel = own = Funnel()
            found = [item for graph in search() for item in use(walk, graph)]
            parts.append(Part(tuple(found), own))
            walk.funnel = above
        return iter(())

    walk.hand = hand
    for _ in walk.run():
        pass
    return parts


def take_branches(walk: Walk, parts: Iterator[Part]) -> None:
    """Let the walk take its branches from ``parts``, in order; those that a limit would have ended early it searches itself."""

    def hand(number: int, search: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        part = next(parts, None)
        if part is None or not walk.funnel.takes(part.funnel, walk.limits):
            return search() if walk.funnel.complete else iter(())
        walk.funnel.add(part.funnel)
        return iter((part,))

    walk.hand = hand
