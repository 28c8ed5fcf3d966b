"""The search funnel: from partial graphs to proved graphs, and from schedules to the one that was built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data

WIDTH = 1000  # of the widest bar


@dataclass(frozen=True, slots=True)
class Step:
    """A step: how many were left; ``width``: of its bar, logarithmic; ``share``: of the step before, where there is one."""

    name: str
    note: str
    count: int
    width: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some were left behind."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Funnel:
    graphs: tuple[Step, ...]
    rejected: tuple[Reason, ...]
    schedules: tuple[Step, ...]
    refused: tuple[Reason, ...]
    complete: bool
    stopped_by: tuple[str, ...]
    left: tuple[str, ...]


def view(contents: Contents, k: int) -> Funnel:
    """The funnel of part ``k``."""
    part = contents.parts[k]
    funnel, space = part["funnel"], part["space"]
    counts = {name: n.count() for name, n in funnel["counts"].items()}
    graphs = [
        ("partial graphs", "visited by the generator", funnel["counts"]["states"].count()),
        ("structures", "whole graphs, every size and mapping a symbol", funnel["counts"]["structures"].count()),
        ("candidates", "with concrete mappings that are not refuted", funnel["counts"]["mappings"].count()),
        ("proved", "equal to the program for all sizes", funnel["counts"]["proved"].count()),
    ]
    schedules = [
        ("schedules", "of all proved graphs, before any rule", space["raw"].count()),
        ("looked at", "all of them" if space["exhaustive"].flag() else "drawn evenly", space["examined"].count()),
        ("fit the chip", "ranked by the cost model", space["valid"].count()),
        ("chosen", "built, run and checked", 1),
    ]
    rejected = {name.removeprefix("rejected: "): n for name, n in counts.items() if name.startswith("rejected: ")}
    rejected |= {
        name: counts[name] for name in ("structures without a mapping", "refuted", "unknown") if counts.get(name)
    }
    return Funnel(
        steps(graphs),
        _reasons(rejected),
        steps(schedules),
        _reasons({name: n.count() for name, n in space["rejected"].items()}),
        funnel["complete"].flag(),
        funnel["stopped_by"].texts(),
        _left(funnel),
    )


def steps(rows: Sequence[tuple[str, str, int]]) -> tuple[Step, ...]:
    """Bars on a logarithmic scale: one unit is a bar too, none is not."""
    most = max(1.0, max(_size(n) for _, _, n in rows))
    found, before = [], 0
    for name, note, n in rows:
        share = n / before if before and n <= before else None
        found.append(Step(name, note, n, round(WIDTH * _size(n) / most), share))
        before = n
    return tuple(found)


def _size(count: int) -> float:
    """1 for one, 2 for ten, and so on; 0 for none."""
    return 1 + log10(count) if count else 0.0


def _reasons(counts: dict[str, int]) -> tuple[Reason, ...]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Reason(name, n) for name, n in ordered)


def _left(funnel: Data) -> tuple[str, ...]:
    return funnel["left"].texts()
