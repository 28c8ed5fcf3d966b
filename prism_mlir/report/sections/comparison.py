"""The result beside the unfused program: each operator as a kernel by itself, with everything between in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prism_mlir.graph.errors import InputError
from prism_mlir.report.axes import even_ticks, linear
from prism_mlir.report.contents import Contents
from prism_mlir.report.sections.schedules import Tick
from prism_mlir.report.words import operator, percent, shortened, size, time, times

LEFT, RIGHT, TOP, ROW = 84, 884, 8, 40


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar. kind: ``fused`` or ``alone``; every other one is shaded."""

    x: float
    y: float
    width: float
    kind: str
    shaded: bool
    name: str
    tip: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Two bars: the unfused program and the result."""

    title: str
    pieces: tuple[Piece, ...]
    ticks: tuple[Tick, ...]
    rows: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    part: str
    us: str
    dram: str
    limiter: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """faster: how many times as fast; ``moved``: share of the unfused program's traffic; in words"""

    charts: tuple[Chart, ...]
    alone: tuple[Row, ...]
    fused: tuple[Row, ...]
    alone_sum: tuple[str, str]
    fused_sum: tuple[str, str]
    faster: str
    moved: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch: in microseconds with its launch, and bytes of DRAM."""

    name: str
    part: str
    us: float
    dram: int
    limiter: str


def view(contents: Contents) -> Comparison:
    """The whole program, modelled both times by the same model."""
    details = contents.detailed()
    launch = details["target"]["launch_us"].number()
    alone: list[Kernel] = []
    fused: list[Kernel] = []
    for part in details["parts"].list():
        name = part["name"].text()
        for u in part["unfused"].list():
            alone.append(
                Kernel(operator(u["op"].text()), name, u["us"].number(), u["dram_bytes"].count(), u["limiter"].text())
            )
        for n, kernel in enumerate(part["kernels"].list()):
            cost = kernel["cost"]
            us = cost["total_us"].number() + launch
            fused.append(Kernel(f"kernel {n}", name, us, cost["dram_bytes"].count(), cost["limiter"].text()))
    spent = (sum(k.us for k in alone), sum(k.us for k in fused))
    moved = (sum(k.dram for k in alone), sum(k.dram for k in fused))
    if min(spent) <= 0 or not fused:
        raise InputError("there are no kernels to compare")
    return Comparison(
        (
            _chart("Time", alone, fused, lambda k: k.us, time),
            _chart("DRAM", alone, fused, lambda k: float(k.dram), size),
        ),
        tuple(map(_row, alone)),
        tuple(map(_row, fused)),
        (time(spent[0]), size(moved[0])),
        (time(spent[1]), size(moved[1])),
        times(spent[0] / spent[1]),
        percent(moved[1] / moved[0]) if moved[0] else "-",
    )


def _row(k: Kernel) -> Row:
    return Row(k.name, k.part, time(k.us), size(k.dram), k.limiter)


def _chart(
    title: str,
    alone: Sequence[Kernel],
    fused: Sequence[Kernel],
    value: Callable[[Kernel], float],
    words: Callable[[float], str],
) -> Chart:
    most = max(sum(map(value, alone)), sum(map(value, fused)), 1e-9)
    across = linear(0, most, LEFT, RIGHT)
    pieces = []
    for line, (kind, kernels) in enumerate((("alone", alone), ("fused", fused))):
        before = 0.0
        for n, k in enumerate(kernels):
            x, end = across.at(before), across.at(before + value(k))
            before += value(k)
            width = round(max(end - x - 1, 0.5), 1)
            name = shortened(k.name, int(width / 7)) if width > 34 else ""
            pieces.append(Piece(x, TOP + line * ROW, width, kind, n % 2 == 1, name, f"{k.name}: {words(value(k))}"))
    rows = tuple((TOP + line * ROW + 19, name) for line, name in enumerate(("unfused", "result")))
    ticks = [t * _unit(most, title) for t in even_ticks(most / _unit(most, title))]
    return Chart(title, tuple(pieces), tuple(Tick(across.at(t), words(t)) for t in ticks), rows)


def _unit(most: float, title: str) -> float:
    """What ticks count: microseconds, or the largest power of 1,024 bytes that fits."""
    unit = 1.0
    while title == "DRAM" and unit * 1024 <= most:
        unit *= 1024
    return unit
