"""Code for dynamic sizes: one variant for each range of sizes, and how it was checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prism_mlir.graph.errors import InputError
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.sections.schedules import sizes_in_words
from prism_mlir.report.sections.summary import Summary, Tile
from prism_mlir.report.words import number, percent, plural, size, time

WIDTH = 100


@dataclass(frozen=True, slots=True)
class Kernel:
    """The code of one part of a variant."""

    name: str
    verdict: str
    schedule: str
    us: str
    dram: str
    limiter: str
    fingerprint: str
    text: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """Sizes that are served, in words; ``width``: of the bar of its modelled time at the largest of them."""

    sizes: str
    us: str
    width: float
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """A check of one variant at some sizes; ``used``: the largest share of what is allowed, empty where it was not run."""

    variant: str
    at: str
    used: str
    width: float
    note: str


@dataclass(frozen=True, slots=True)
class Variants:
    names: tuple[tuple[str, str], ...]
    variants: tuple[Variant, ...]
    unserved: tuple[tuple[str, str], ...]
    checks: tuple[Check, ...]


def is_dynamic(contents: Contents) -> bool:
    """Whether the folder is of a function with dynamic sizes."""
    return contents.report.get("variants") is not None


def summary(contents: Contents) -> Summary:
    """The head of the page. Raises :class:`InputError` where ``report.json`` is not the report of a compilation."""
    report, rows = contents.report, contents.report["variants"].list()
    statuses = [p["verdict"]["status"].text() for v in rows for p in v["parts"].list()]
    if not statuses:
        raise InputError(f"{report.place}variants is empty")
    proved = all(s == "proved" for s in statuses)
    verdict = "proved" if proved else next(s for s in statuses if s != "proved")
    name, target = report["function"].text(), report["target"].text()
    used = [a["used"].any_number() for c in report["checks"].list() for a in _results(c)]
    tiles = (
        Tile("Verdict", verdict, "for all sizes"),
        Tile("Variants", str(len(rows)), f"for {plural(len(report['sizes'].list()), 'dynamic size')}"),
        Tile("Operators", str(len(report["operators"].list())), "of the program"),
        Tile("Largest error", percent(max(used)) if used else "-", "of what is allowed" if used else "not checked"),
    )
    return Summary(
        name,
        report["source"].text(),
        target,
        contents.written,
        report["versions"]["prism-mlir"].text(),
        verdict,
        proved,
        tiles,
        tuple(_story(report, name, target, len(rows), used)),
    )


def _story(report: Data, name: str, target: str, variants: int, used: list[float]) -> Iterator[str]:
    sizes = ", ".join(s["name"].text() for s in report["sizes"].list())
    yield f"Prism compiled {name} for {target}. Sizes that are known only at launch: {sizes}."
    yield (
        f"It wrote {plural(variants, 'variant')}, each of a proved graph with a schedule for its range of sizes, and host code "
        "that chooses between them."
    )
    if used:
        checks = sum(bool(_results(c)) for c in report["checks"].list())
        yield (
            f"The emitted PTX was run on the PTX machine at {plural(checks, 'size')} in all; its largest error was "
            f"{percent(max(used))} of what is allowed."
        )
    else:
        yield "The emitted code was not run."


def view(contents: Contents) -> Variants:
    """Variants, what is not served by one of its own, and checks."""
    report = contents.report
    names = [s["name"].text() for s in report["sizes"].list()]
    rows = report["variants"].list()
    times = [sum(p["cost"]["total_us"].number() for p in v["parts"].list()) for v in rows]
    most = max([*times, 1e-9])
    variants = tuple(
        Variant(_range(v, names), time(us), round(WIDTH * us / most, 1), tuple(map(_kernel, v["parts"].list())))
        for v, us in zip(rows, times, strict=True)
    )
    places = tuple((s["name"].text(), _places(s)) for s in report["sizes"].list())
    unserved = tuple((_range(u, names), u["reason"].text()) for u in report["unserved"].list())
    return Variants(places, variants, unserved, tuple(_check(c) for c in report["checks"].list()))


def _places(row: Data) -> str:
    pairs = [d.counts() for d in row["dims"].list()]
    return ", ".join(f"dim {p[1]} of argument {p[0]}" for p in pairs if len(p) == 2)


def _range(row: Data, names: list[str]) -> str:
    low, high = row["from"].counts(), row["to"].counts()
    ranges = [str(a) if a == b else f"{a} to {b}" for a, b in zip(low, high, strict=False)]
    return ", ".join(f"{name} {r}" for name, r in zip(names, ranges, strict=False))


def _kernel(part: Data) -> Kernel:
    cost, schedule, verdict = part["cost"], part["schedule"], part["verdict"]
    sizes = sizes_in_words(schedule["sizes"])
    return Kernel(
        part["name"].text(),
        verdict["status"].text(),
        f"{sizes}, {plural(schedule['warps'].count(), 'warp')}, {plural(schedule['stages'].count(), 'stage')}",
        time(cost["total_us"].number()),
        size(cost["dram_bytes"].count()),
        cost["limiter"].text(),
        part["graph"]["fingerprint"].text(),
        part["graph"]["text"].text(),
        verdict["rules_fired"].texts(),
    )


def _results(check: Data) -> list[Data]:
    found = check.get("accuracy")
    return [] if found is None else found.list()


def _check(check: Data) -> Check:
    used = [a["used"].any_number() for a in _results(check)]
    worst = max(used, default=0.0)
    note = "some blocks" if check["in_part"].flag() else ""
    return Check(
        " × ".join(map(number, check["variant"].counts())),
        " × ".join(map(number, check["sizes"].counts())),
        percent(worst) if used else "",
        round(WIDTH * min(max(worst, 0.0), 1.0), 1) if worst == worst else WIDTH,
        note if used else "not run, too much for the PTX machine",
    )
