"""Which operations of a block go together, and in which order: numbers only, no IR.

Operations that cannot become part of a kernel (the *rest*) stand between those that can (*candidates*). A candidate's phase is
how many changes from candidates to the rest and back lie before it on any way; all of one phase can run together, after what
they read and before what reads them. So islands are never too small for an order that the source just happens to have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import networkx as nx


class Part(StrEnum):
    """What a step can be.

    SOURCE:    needs sources alone (constants, empty tensors, tables): everybody who reads it has a copy
    CANDIDATE: may become part of a kernel
    REST:      stays
    """

    SOURCE = "source"
    CANDIDATE = "candidate"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of a block.

    needs: numbers of earlier steps of the block whose results it reads
    fixed: whether it may not change places with others that are fixed, as its effects may meet theirs
    """

    part: Part
    needs: frozenset[int]
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """islands: their steps, ascending; order: all steps, such that each island's lie together."""

    islands: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]


def plan(steps: Sequence[Step]) -> Plan:
    """Put candidates together. The last step, which ends the block, stays the last.

    >>> A, R = Part.CANDIDATE, Part.REST
    >>> both = [Step(A, frozenset()), Step(R, frozenset()), Step(A, frozenset({0, 1})), Step(R, frozenset({2}), True)]
    >>> plan(both)
    Plan(islands=((0, 2),), order=(1, 0, 2, 3))
    """
    phases = _sunk(steps, _phases(steps))
    islands = _together(steps, phases)
    later = defaultdict[int, list[int]](list)
    for k, step in enumerate(steps[:-1]):
        if step.part is not Part.CANDIDATE:
            later[phases[k]].append(k)
    ordered = list(later[_SOURCES])
    for phase in range(max(phases, default=0) + 1):
        ordered += later[phase]
        ordered += [k for island in islands if phases[island[0]] == phase for k in island]
    return Plan(tuple(islands), (*ordered, *range(len(steps) - 1, len(steps))))


def _together(steps: Sequence[Step], phases: Sequence[int]) -> list[tuple[int, ...]]:
    """Candidates of one phase that are connected."""
    graph = nx.Graph()
    for k, step in enumerate(steps):
        if step.part is Part.CANDIDATE:
            graph.add_node(k)
            same = (n for n in step.needs if steps[n].part is Part.CANDIDATE and phases[n] == phases[k])
            graph.add_edges_from((k, n) for n in same)
    return sorted(tuple(sorted(c)) for c in nx.connected_components(graph))


def _sunk(steps: Sequence[Step], phases: Sequence[int]) -> list[int]:
    """Phases where what only later islands read runs with the first of them."""
    found = list(phases)
    users: dict[int, list[int]] = defaultdict(list)
    for k, step in enumerate(steps):
        for n in step.needs:
            users[n].append(k)
    for island in sorted(_together(steps, phases), key=lambda i: -phases[i[0]]):
        readers = {u for k in island for u in users[k]} - set(island)
        if readers and all(steps[u].part is Part.CANDIDATE for u in readers):
            for k in island:
                found[k] = min(found[u] for u in readers)
    return found


_SOURCES = -1


def _phases(steps: Sequence[Step]) -> list[int]:
    found: list[int] = []
    barrier = 0
    for step in steps:
        if step.part is Part.SOURCE:
            found.append(_SOURCES)
            continue
        after = int(step.part is Part.REST)
        before = (found[n] + (after if steps[n].part is Part.CANDIDATE else 0) for n in step.needs)
        phase = max(0, *before) if step.needs else 0
        if step.fixed:
            phase = barrier = max(phase, barrier)
        found.append(phase)
    return found
