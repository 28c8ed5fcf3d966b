"""Schedules as points: modelled time against shared memory, and measured times where a GPU took some; the chosen one marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.graph.errors import InputError
from prism_mlir.report.axes import Axis, even_ticks, linear, log_ticks, logarithmic
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.words import KIB, number, size, time

WIDTH, HEIGHT = 900, 430
LEFT, RIGHT, TOP, BOTTOM = 64, 884, 16, 386
LISTED = 12
MOST = 2000

NAMES = (
    "rank",
    "time",
    "graph",
    "grid",
    "warps",
    "stages",
    "shared memory",
    "blocks",
    "blocks an SM",
    "registers",
    "DRAM",
    "limited by",
)


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Point:
    """kind: ``other``, ``same`` (a schedule of the chosen graph), ``chosen`` or ``measured``."""

    x: float
    y: float
    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """A schedule, in words, in the order of ``NAMES``."""

    chosen: bool
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Schedules:
    """points: from the worst to the best, so that the best are drawn on top; ``tips``: for each of them, in words.

    shown of ranked: how many are drawn; ``limit``: where the chip's shared memory for a block ends
    """

    ranked: int
    points: tuple[Point, ...]
    names: tuple[str, ...]
    tips: tuple[tuple[str, ...], ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    limit: Tick | None
    rows: tuple[Row, ...]
    measured: bool
    refused: tuple[tuple[str, str], ...]

    @property
    def shown(self) -> int:
        return sum(p.kind != "measured" for p in self.points)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row of the ranking, read."""

    graph: str
    schedule: Data
    us: float
    dram: int
    shared: int
    registers: int
    blocks: int
    resident: int
    limiter: str


def view(contents: Contents, k: int) -> Schedules:
    """The ranking of part ``k``."""
    part, detailed = contents.parts[k], contents.detailed_part(k)
    ranking = detailed.get("ranking")
    if ranking is None:
        raise InputError(
            "the choice was on record without its ranking; prune the records (prism cache) and compile again"
        )
    ranked = [_read(row) for row in ranking["rows"].list()[:MOST]]
    if not ranked:
        raise InputError(f"{ranking.place} holds no schedule")
    names = _named(detailed)
    chosen = _chosen(ranked, part["schedule"].value, part["graph"]["fingerprint"].text(), detailed)
    measured = _measured(ranked, detailed)
    times = [r.us for r in ranked] + [us for _, us in measured]
    most = max(*(r.shared for r in ranked), 1) / KIB
    chip = contents.detailed()["target"]["shared_per_block"].count() / KIB
    across = linear(0, max(most * 1.05, min(chip, most * 1.4)), LEFT, RIGHT)
    down = logarithmic(min(times), max(times), BOTTOM, TOP)
    order = sorted(range(len(ranked)), key=lambda n: (n == chosen, -n))
    same = ranked[chosen].graph
    points = [
        _point(ranked[n], "chosen" if n == chosen else "same" if ranked[n].graph == same else "other", across, down)
        for n in order
    ]
    points += [Point(across.at(ranked[n].shared / KIB), down.at(us), "measured") for n, us in measured]
    tips = [_cells(n, ranked[n], names) for n in order]
    tips += [(f"{n + 1}", f"{time(us)} measured", *_cells(n, ranked[n], names)[2:]) for n, us in measured]
    return Schedules(
        ranking["ranked"].count(),
        tuple(points),
        NAMES,
        tuple(tips),
        tuple(Tick(across.at(t), number(t)) for t in even_ticks(across.high)),
        tuple(Tick(down.at(t), time(t)) for t in log_ticks(down.low, down.high)),
        Tick(across.at(chip), size(chip * KIB)) if chip <= across.high else None,
        tuple(Row(n == chosen, _cells(n, ranked[n], names)) for n in _listed(len(ranked), chosen)),
        bool(measured),
        tuple((r["schedule"].text(), r["reason"].text()) for r in part["refused"].list()),
    )


def _read(row: Data) -> Ranked:
    graph, schedule, us, dram, shared, registers, blocks, resident, limiter = _nine(row)
    counts = (dram.count(), shared.count(), registers.count(), blocks.count(), resident.count())
    if us.number() <= 0:
        raise InputError(f"{us.place} is no time")
    return Ranked(graph.text(), schedule, us.number(), *counts, limiter.text())


def _nine(row: Data) -> list[Data]:
    cells = row.list()
    if len(cells) != 9:
        raise InputError(f"{row.place} has {len(cells)} cells and should have 9")
    return cells


def _chosen(ranked: Sequence[Ranked], schedule: Any, proved: str, detailed: Data) -> int:
    """The place of the chosen schedule in the ranking."""
    codes = [g["code"].text() for g in detailed["graphs"].list() if g["fingerprint"].text() == proved and g.get("code")]
    for n, r in enumerate(ranked):
        if r.schedule.value == schedule and r.graph in codes:
            return n
    raise InputError(f"{detailed.place}.ranking does not hold the chosen schedule")


def _measured(ranked: Sequence[Ranked], detailed: Data) -> list[tuple[int, float]]:
    """Places in the ranking, and measured microseconds."""
    found = []
    for row in detailed["measured"].list():
        key, us = (row["graph"].text(), row["schedule"].value), row["us"].number()
        places = [n for n, r in enumerate(ranked) if (r.graph, r.schedule.value) == key]
        if us <= 0:
            raise InputError(f"{row['us'].place} is no time")
        found += [(n, us) for n in places]
    return found


def _point(r: Ranked, kind: str, across: Axis, down: Axis) -> Point:
    return Point(across.at(r.shared / KIB), down.at(r.us), kind)


@dataclass(frozen=True, slots=True)
class Named:
    """A graph by the number that it has on the page, and the dims of its loops."""

    number: int
    loops: frozenset[str]


def _named(detailed: Data) -> dict[str, Named]:
    """The listed graphs by the fingerprint of their code."""
    found = {}
    for number_, row in enumerate(detailed["graphs"].list(), 1):
        blocks = [n["block"] for n in row["graph"]["nodes"].list() if n.get("block") is not None]
        loops = frozenset(b["loop"].text() for b in blocks if b.get("loop") is not None)
        if row.get("code") is not None:
            found[row["code"].text()] = Named(number_, loops)
    return found


def sizes_in_words(sizes: Data, loops: frozenset[str] = frozenset()) -> str:
    """Blocks along each dim of the grid, and turns of the loop."""
    grid = " ".join(f"{p}={v.count()}" for p, v in sizes.items() if p not in loops) or "one block"
    turns = " ".join(f"{p}={v.count()}" for p, v in sizes.items() if p in loops)
    return f"{grid}, loop {turns}" if turns else grid


def _cells(n: int, r: Ranked, names: Mapping[str, Named]) -> tuple[str, ...]:
    schedule, graph = r.schedule, names.get(r.graph)
    sizes = sizes_in_words(schedule["sizes"], frozenset() if graph is None else graph.loops)
    known = {"sizes", "warps", "stages"}
    more = "".join(f", {name} {v.value}" for name, v in schedule.items() if name not in known)
    return (
        str(n + 1),
        time(r.us),
        r.graph[:8] if graph is None else str(graph.number),
        sizes,
        str(schedule["warps"].count()),
        f"{schedule['stages'].count()}{more}",
        size(r.shared),
        number(r.blocks),
        str(r.resident),
        str(r.registers),
        size(r.dram),
        r.limiter,
    )


def _listed(count: int, chosen: int) -> list[int]:
    best = list(range(min(LISTED, count)))
    return best if chosen in best else [*best, chosen]
