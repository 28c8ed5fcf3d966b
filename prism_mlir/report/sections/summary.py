"""The head of the page: what was compiled, for what, how it ended; and the whole story in a few plain sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prism_mlir.graph.errors import InputError
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.words import percent, plural, size, time, times


@dataclass(frozen=True, slots=True)
class Tile:
    """A number that matters, with its name and what it is made of."""

    name: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Summary:
    """verdict: the worst of all parts; ``proved``: whether all of them are."""

    program: str
    source: str
    target: str
    written: str
    version: str
    verdict: str
    proved: bool
    tiles: tuple[Tile, ...]
    story: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Speed:
    """What the model, or a GPU, says of the whole program. Microseconds and bytes, launches included.

    floor:   least time of any implementation; ``unfused``: each operator a kernel by itself; where known
    """

    us: float
    measured: bool
    dram_bytes: int
    floor: float | None = None
    unfused: float | None = None


def view(contents: Contents) -> Summary:
    """Raises :class:`InputError` where ``report.json`` is not the report of a compilation."""
    report = contents.report
    statuses = [p["verdict"]["status"].text() for p in contents.parts]
    if not statuses:
        raise InputError(f"{report.place}parts is empty")
    proved = all(s == "proved" for s in statuses)
    verdict = "proved" if proved else next(s for s in statuses if s != "proved")
    spent = speed(contents)
    return Summary(
        report["program"]["name"].text(),
        report["source"].text(),
        _target(contents),
        contents.written,
        report["versions"]["prism-mlir"].text(),
        verdict,
        proved,
        tuple(_tiles(contents, spent, verdict)),
        tuple(_story(contents, spent)),
    )


def speed(contents: Contents) -> Speed:
    """Modelled times, or measured ones where a GPU timed every part."""
    us, dram, measured = 0.0, 0, True
    for part in contents.parts:
        timed = part.get("profile")
        known = [t["us"].number() for t in timed.list()] if timed is not None else []
        us += min(known) if known else part["cost"]["total_us"].number()
        measured &= bool(known)
        dram += part["cost"]["dram_bytes"].count()
    if us <= 0:
        raise InputError(f"{contents.report.place}parts take no time")
    try:
        details = contents.detailed()
        alone = [u["us"].number() for p in details["parts"].list() for u in p["unfused"].list()]
        return Speed(us, measured, dram, details["roofline"]["total_us"].number(), sum(alone))
    except InputError:
        return Speed(us, measured, dram)


def _target(contents: Contents) -> str:
    name = contents.report["target"].text()
    try:
        return f"{name} ({contents.detailed()['target']['description'].text()})"
    except InputError:
        return name


def _tiles(contents: Contents, spent: Speed, verdict: str) -> Iterator[Tile]:
    parts = contents.parts
    graphs = sum(p["funnel"]["counts"]["proved"].count() for p in parts)
    kernels = contents.report["kernels"].count()
    yield Tile("Verdict", verdict, f"{plural(graphs, 'graph')} proved for all sizes")
    limiters = dict.fromkeys(p["cost"]["limiter"].text() for p in parts)
    yield Tile("Time", time(spent.us), "measured" if spent.measured else f"modelled, limited by {', '.join(limiters)}")
    if spent.floor:
        yield Tile("Roofline", percent(spent.floor / spent.us), f"no implementation is below {time(spent.floor)}")
    if spent.unfused and spent.us:
        yield Tile("Against unfused", times(spent.unfused / spent.us), f"one kernel an operator: {time(spent.unfused)}")
    yield Tile("Kernels", str(kernels), f"for {plural(_operators(contents), 'operator')}")
    yield Tile("DRAM", size(spent.dram_bytes), "read and written, modelled")


def _operators(contents: Contents) -> int:
    return len(contents.report["program"]["operators"].list())


def _story(contents: Contents, spent: Speed) -> Iterator[str]:
    report, parts = contents.report, contents.parts
    name, operators = report["program"]["name"].text(), plural(_operators(contents), "operator")
    cut = f" It was cut into {len(parts)} parts, each of which was searched by itself." if len(parts) > 1 else ""
    yield f"Prism compiled {name}, a program of {operators}, for {_target(contents)}.{cut}"
    yield _found(parts)
    kernels = plural(report["kernels"].count(), "kernel")
    word = "A GPU measured" if spent.measured else "The cost model gives"
    share = f", which is {percent(spent.floor / spent.us)} of what the roofline allows" if spent.floor else ""
    ratio = ""
    if spent.unfused and spent.us:
        longer = times(spent.unfused / spent.us)
        ratio = f" A kernel for each operator by itself would take {time(spent.unfused)}, {longer} as long."
    yield f"What was chosen runs as {kernels}. {word} {time(spent.us)}{share}.{ratio}"
    yield _checked(report)


def _found(parts: list[Data]) -> str:
    def total(name: str) -> int:
        return sum(p["funnel"]["counts"][name].count() for p in parts)

    ranked = sum(p["space"]["valid"].count() for p in parts)
    candidates, proved = total("mappings"), total("proved")
    all_of = f"all {proved:,}" if proved == candidates else f"{proved:,} of {candidates:,}"
    return (
        f"It visited {plural(total('states'), 'partial graph')}, found {plural(total('structures'), 'structure')} whose "
        f"sizes are symbols, and proved {all_of} candidates with concrete mappings equal to the program, for every size at once. "
        f"Then it ranked {plural(ranked, 'schedule')} that fit the chip."
    )


def _checked(report: Data) -> str:
    results = report["accuracy"].list()
    if not results:
        return "The emitted code was not run (--no-check)."
    worst = max(r["used"].any_number() for r in results)
    sets = len({r["inputs"].text() for r in results})
    before = " in an earlier compilation" if report["checked before"].flag() else ""
    return (
        f"The emitted PTX was run{before} on a PTX machine that watches for races and accesses out of bounds, on "
        f"{plural(sets, 'set of inputs', 'sets of inputs')}; its largest error was {percent(worst)} of what is allowed."
    )
