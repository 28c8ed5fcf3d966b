"""The software pipeline of the chosen kernels: which tile is copied and which is used in which iteration, stage by stage.

With ``S`` stages, tile ``j`` lies in copy ``j mod S`` of its buffer. It is requested in iteration ``j - (S - 1)``, or before the
loop, and is there when iteration ``j`` begins, which uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prism_mlir.graph.errors import InputError
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.words import number, plural, size

MOST_ITERATIONS, MOST_STAGES = 10, 8
LEFT, TOP, ROW, WIDTH = 96, 34, 34, 900


@dataclass(frozen=True, slots=True)
class Bar:
    """A tile in one copy of the buffers. kind: ``copy`` (requested and under way), ``use``."""

    x: float
    y: float
    width: float
    kind: str
    name: str
    tip: str


@dataclass(frozen=True, slots=True)
class Span:
    """When something happens to a tile, in iterations: 0 is before the loop, iteration i is from i + 1 to i + 2."""

    tile: int
    slot: int
    kind: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One kernel. columns, rows: where they are, and their names; ``height``: of the drawing."""

    name: str
    iterations: int
    stages: int
    shown: int
    bytes_an_iteration: str
    in_flight: str
    bars: tuple[Bar, ...]
    columns: tuple[tuple[float, float, str], ...]
    rows: tuple[tuple[float, str], ...]
    height: int
    said: str


@dataclass(frozen=True, slots=True)
class Pipelines:
    kernels: tuple[Pipeline, ...]
    without: tuple[str, ...]


def view(contents: Contents, k: int) -> Pipelines:
    """The kernels of part ``k``; those without a loop are named."""
    detailed = contents.detailed_part(k)
    blocks = [n["block"] for n in detailed["code"]["nodes"].list() if n.get("block") is not None]
    found, without = [], []
    for n, kernel in enumerate(detailed["kernels"].list()):
        if n >= len(blocks):
            raise InputError(f"{detailed['code'].place} has no kernel {n}")
        loop = kernel.get("loop")
        turns = 1 if loop is None else next((v.count() for _, v in loop.items()), 1)
        if loop is None or turns < 2:
            without.append(f"kernel {n}")
        else:
            found.append(_pipeline(n, kernel, blocks[n], turns))
    return Pipelines(tuple(found), tuple(without))


def spans(stages: int, iterations: int) -> Iterator[Span]:
    """What happens to each tile.

    >>> [(s.tile, s.slot, s.kind, s.begin, s.end) for s in spans(2, 2)]
    [(0, 0, 'copy', 0.0, 1.0), (0, 0, 'use', 1.0, 2.0), (1, 1, 'copy', 1.0, 2.0), (1, 1, 'use', 2.0, 3.0)]
    """
    for j in range(iterations):
        slot, start = j % stages, j + 1.0
        if stages == 1:
            yield Span(j, slot, "copy", start, start + 0.5)
            yield Span(j, slot, "use", start + 0.5, start + 1)
            continue
        yield Span(j, slot, "copy", max(0.0, start - (stages - 1)), start)
        yield Span(j, slot, "use", start, start + 1)


def _pipeline(n: int, kernel: Data, block: Data, turns: int) -> Pipeline:
    stages = kernel["stages"].count()
    if not 1 <= stages <= 32:
        raise InputError(f"{kernel.place} has {stages} stages")
    body = {
        str(v) for v, row in enumerate(block["nodes"].list()) if row["op"].text() == "load" and not row.get("invariant")
    }
    moved = sum(bytes_.count() for v, bytes_ in kernel["copies"].items() if v in body)
    shown = min(turns, max(MOST_ITERATIONS, stages + 2))
    step = (WIDTH - LEFT - 16) / (shown + 1)
    bars = tuple(_bar(s, step) for s in spans(stages, shown))
    before = [(round(LEFT + step / 2, 1), LEFT, "before" if stages > 1 else "")]
    columns = [(round(LEFT + (i + 1.5) * step, 1), round(LEFT + (i + 1) * step, 1), str(i)) for i in range(shown)]
    rows = tuple((TOP + s * ROW + ROW / 2 + 4, f"copy {s}") for s in range(stages))
    return Pipeline(
        f"kernel {n}",
        turns,
        stages,
        shown,
        size(moved),
        size(moved * (stages - 1)),
        bars,
        tuple(before + columns),
        rows,
        TOP + stages * ROW + 26,
        _said(stages, turns),
    )


def _bar(span: Span, step: float) -> Bar:
    verb = "is on its way" if span.kind == "copy" else "is used"
    at = f"from before iteration {span.begin - 1:g}" if span.begin >= 1 else "from before the loop"
    tip = f"Tile {span.tile} {verb} in copy {span.slot},\n{at} until before iteration {span.end - 1:g}"
    return Bar(
        round(LEFT + span.begin * step + 1, 1),
        TOP + span.slot * ROW + 4,
        round((span.end - span.begin) * step - 2, 1),
        span.kind,
        f"{'cp.async ' if span.kind == 'copy' and (span.end - span.begin) * step > 90 else ''}{span.tile}",
        tip,
    )


def _said(stages: int, turns: int) -> str:
    if stages == 1:
        return "One stage: a tile is requested, waited for, and used; copying and computing take turns."
    ahead = plural(min(stages - 1, turns), "iteration")
    return f"{number(stages)} stages: tiles are requested {ahead} ahead, so that copies are under way while the block computes."
