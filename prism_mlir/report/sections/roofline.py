"""The roofline (Williams, Waterman, Patterson 2009): operations a second against operations a byte of DRAM, both logarithmic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prism_mlir.graph.errors import InputError
from prism_mlir.report.axes import Axis, log_ticks, logarithmic
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.sections.schedules import Tick
from prism_mlir.report.words import number, operator, percent, rate, size, time

LEFT, RIGHT, TOP, BOTTOM = 84, 884, 16, 386
FLOPS_PER_FMA = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A roof: its path, its name, where the name stands, and which end of it (as SVG anchors text)."""

    path: str
    name: str
    kind: str
    x: float
    y: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel. kind: ``kernel`` (chosen) or ``alone`` (an operator by itself)."""

    x: float
    y: float
    kind: str
    name: str
    tip: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Roofline:
    """share: of the least time in the modelled one; terms: what the least time is made of."""

    lines: tuple[Line, ...]
    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    terms: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Work:
    """What a kernel does: operations and bytes of DRAM, in so many microseconds without its launch."""

    name: str
    kind: str
    flops: float
    bytes: float
    us: float
    limiter: str

    @property
    def intensity(self) -> float:
        return self.flops / self.bytes

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.flops / self.us * 1e6


@dataclass(frozen=True, slots=True)
class Chip:
    """Operations and bytes a second. sustained: the bandwidth that kernels reach."""

    tensor: float
    f32: float
    dram: float
    sustained: float

    @staticmethod
    def of(target: Data) -> Chip:
        clocks = target["sms"].count() * target["clock_ghz"].number() * 1e9 * FLOPS_PER_FMA
        dram = target["dram_gbs"].number() * 1e9
        found = Chip(
            clocks * target["tensor_fma"].count(),
            clocks * target["f32_fma"].count(),
            dram,
            dram * target["dram_sustained"].number(),
        )
        if min(found.tensor, found.f32, found.dram, found.sustained) <= 0:
            raise InputError(f"{target.place} has a rate that is not positive")
        return found

    def attainable(self, intensity: float, tensor: bool = True) -> float:
        """The most operations a second at so many operations a byte, at the bandwidth of the data sheet."""
        return min(self.tensor if tensor else self.f32, intensity * self.dram)


def view(contents: Contents) -> Roofline:
    """All kernels of all parts, and each operator by itself."""
    details = contents.detailed()
    chip = Chip.of(details["target"])
    works = [w for w in _works(details) if w.flops > 0 and w.bytes > 0 and w.us > 0]
    if not works:
        raise InputError("no kernel of the program computes anything and moves anything")
    ridge = chip.tensor / chip.dram
    across = logarithmic(
        min([*(w.intensity for w in works), 0.1]), max([*(w.intensity for w in works), 4 * ridge]), LEFT, RIGHT
    )
    down = logarithmic(min(w.rate for w in works), chip.tensor, BOTTOM, TOP, room=1.6)
    return Roofline(
        tuple(_roofs(chip, across, down)),
        tuple(_point(w, chip, across, down) for w in works),
        tuple(Tick(across.at(t), number(t)) for t in log_ticks(across.low, across.high)),
        tuple(Tick(down.at(t), rate(t)) for t in log_ticks(down.low, down.high)),
        tuple(_terms(details, contents)),
    )


def _works(details: Data) -> Iterator[Work]:
    parts = details["parts"].list()
    for part in parts:
        prefix = f"{part['name'].text()}: " if len(parts) > 1 else ""
        for alone in part["unfused"].list():
            name = f"{prefix}{operator(alone['op'].text())} by itself"
            yield _work(name, "alone", alone, alone["kernel_us"].number())
    for part in parts:
        prefix = f"{part['name'].text()}: " if len(parts) > 1 else ""
        for k, kernel in enumerate(part["kernels"].list()):
            yield _work(f"{prefix}kernel {k}", "kernel", kernel["cost"], kernel["cost"]["total_us"].number())


def _work(name: str, kind: str, cost: Data, us: float) -> Work:
    flops = FLOPS_PER_FMA * (cost["tensor_fma"].count() + cost["f32_fma"].count())
    return Work(name, kind, flops, cost["dram_bytes"].count(), us, cost["limiter"].text())


def _roofs(chip: Chip, across: Axis, down: Axis) -> Iterator[Line]:
    low, high = across.low, across.high
    for bandwidth, name, kind in ((chip.dram, "DRAM", "roof"), (chip.sustained, "DRAM, sustained", "reached")):
        start, end = max(low, down.low / bandwidth), chip.tensor / bandwidth
        path = f"M{across.at(start)} {down.at(start * bandwidth)}L{across.at(end)} {down.at(chip.tensor)}"
        middle = (start * end) ** 0.5
        x, y, words = across.at(middle), down.at(middle * bandwidth), f"{name} {bandwidth / 1e9:,.0f} GB/s"
        above = kind == "roof"
        yield Line(
            path, words, kind, x - 10 if above else x + 14, y - 6 if above else y + 14, "end" if above else "start"
        )
    for top, name in ((chip.tensor, "tensor cores"), (chip.f32, "f32 cores")):
        path = f"M{across.at(top / chip.dram)} {down.at(top)}H{across.at(high)}"
        yield Line(path, f"{name} {rate(top)}", "roof", across.at(high) - 4, down.at(top) - 6, "end")


def _point(w: Work, chip: Chip, across: Axis, down: Axis) -> Point:
    share = w.rate / chip.attainable(w.intensity)
    cells = (
        w.name,
        number(w.flops),
        size(w.bytes),
        f"{w.intensity:.3g}",
        time(w.us),
        rate(w.rate),
        percent(share),
        w.limiter,
    )
    lines = (
        w.name,
        f"{number(w.flops)} operations, {size(w.bytes)} of DRAM: {w.intensity:.3g} operations a byte",
        f"{time(w.us)} without the launch: {rate(w.rate)}, {percent(share)} of the roof above it",
        f"limited by {w.limiter}",
    )
    return Point(across.at(w.intensity), down.at(w.rate), w.kind, w.name, "\n".join(lines), cells)


def _terms(details: Data, contents: Contents) -> Iterator[tuple[str, str]]:
    floor = details["roofline"]
    total = sum(p["cost"]["total_us"].number() for p in contents.parts)
    least = floor["total_us"].number()
    yield "every argument and result once", f"{size(floor['bytes'].count())} of DRAM: {time(floor['dram_us'].number())}"
    yield "every product once", f"{number(floor['fma'].count())} multiply-adds: {time(floor['tensor_us'].number())}"
    yield "one launch", time(floor["launch_us"].number())
    yield "least time: a launch, and the longer of both", time(least)
    yield (
        "modelled time, launches included",
        f"{time(total)}: {percent(least / total) if total > 0 else '-'} of the roofline",
    )
