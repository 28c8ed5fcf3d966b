"""The emitted PTX with what each line did beside it, folded by basic blocks; the lines that were executed most stand out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from prism_mlir.graph.errors import InputError
from prism_mlir.report.contents import Contents, Counted, LineCounts, launch_kernels
from prism_mlir.report.data import Data
from prism_mlir.report.highlight import ptx_lines
from prism_mlir.report.words import number, percent, shortened, size

MOST_LINES = 4000  # of one file, and twice that of a page
MOST_CHARACTERS = 400  # of a line
MOST_OPEN = 0.10  # share of the issued instructions from which on a block of lines is open
_LABEL = re.compile(r"^(\$?[\w$]+):")
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")


@dataclass(frozen=True, slots=True)
class Row:
    """A line. heat: 0 (not executed) to 4; counts in words, empty for none."""

    number: int
    code: Markup
    heat: int
    issued: str
    moved: str
    waves: str
    conflicts: str


@dataclass(frozen=True, slots=True)
class Fold:
    """A basic block, or what stands between blocks. share: of the issued instructions."""

    name: str
    rows: tuple[Row, ...]
    share: str
    open: bool


@dataclass(frozen=True, slots=True)
class Hot:
    """One of the most expensive lines. what: in which respect."""

    number: int
    text: str
    what: str


@dataclass(frozen=True, slots=True)
class Listing:
    """lines: of the file; ``left_out``: those beyond what is shown; ``totals``: of a mean block, where it was counted."""

    file: str
    launches: tuple[str, ...]
    note: str
    counted: bool
    lines: int
    left_out: int
    totals: tuple[tuple[str, str, str], ...]
    hot: tuple[Hot, ...]
    folds: tuple[Fold, ...]


def view(contents: Contents, k: int) -> Listing:
    """The PTX of part ``k``."""
    if contents.launch is None:
        raise InputError(contents.absent.get("launch.json", "the folder has no launch.json"))
    kernels = launch_kernels(contents.launch)
    names = list(dict.fromkeys(row["ptx"].text() for row in kernels))
    if k >= len(names):
        raise InputError(f"launch.json names {len(names)} PTX files, and this is part {k + 1}")
    name = names[k]
    if name not in contents.ptx:
        raise InputError(contents.absent.get(name, f"the folder has no {name}"))
    launches = tuple(_launch(row) for row in kernels if row["ptx"].text() == name)
    counted = contents.counted.get(name, Counted({}, "Not counted"))
    return listing(name, contents.ptx[name], counted, launches, min(MOST_LINES, 2 * MOST_LINES // len(names)))


def listing(
    name: str, text: str, counted: Counted, launches: Sequence[str] = (), most_lines: int = MOST_LINES
) -> Listing:
    """A file, with its counts where there are any."""
    whole = [
        line.replace("\r", "") for line in text.removesuffix("\n").split("\n")
    ]  # lines as the PTX machine counts them
    shown = [shortened(line, MOST_CHARACTERS) for line in whole[:most_lines]]
    code = ptx_lines("\n".join(shown) + "\n")
    issued = sum(c.warps for c in counted.lines.values())
    most = max((c.warps for c in counted.lines.values()), default=0.0)
    return Listing(
        name,
        tuple(launches),
        counted.note,
        bool(counted.lines),
        len(whole),
        len(whole) - len(shown),
        tuple(_totals(counted.lines)) if counted.lines else (),
        tuple(_hottest(shown, counted.lines)),
        tuple(_fold(s, code, counted.lines, issued, most) for s in sections(shown)),
    )


class Span(NamedTuple):
    """Lines ``first .. last - 1``, counted from 0."""

    name: str
    first: int
    last: int


def sections(lines: Sequence[str]) -> list[Span]:
    """The head of the file, the head of each kernel, and basic blocks, which begin at labels.

    >>> sections([".version 8.0", ".visible .entry k(", ")", "{", "L1:", "  ret;", "}"])
    [Span(name='module', first=0, last=1), Span(name='k', first=1, last=4), Span(name='L1', first=4, last=7)]
    """
    starts = [(0, "module")]
    for n, line in enumerate(lines):
        found = _ENTRY.search(line) or _LABEL.match(line)
        if found:
            starts.append((n, found[1]))
    ends = [*(n for n, _ in starts[1:]), len(lines)]
    return [Span(name, first, last) for (first, name), last in zip(starts, ends, strict=True) if last > first]


def _fold(span: Span, code: Sequence[Markup], counts: Mapping[int, LineCounts], issued: float, most: float) -> Fold:
    own = sum(counts[n].warps for n in range(span.first + 1, span.last + 1) if n in counts)
    share = own / issued if issued else 0.0
    rows = tuple(
        _row(n + 1, code[n] if n < len(code) else Markup(""), counts.get(n + 1), most)
        for n in range(span.first, span.last)
    )
    return Fold(span.name, rows, percent(share) if issued else "", share >= MOST_OPEN or not issued)


def _row(n: int, code: Markup, c: LineCounts | None, most: float) -> Row:
    if c is None or not c.warps:
        return Row(n, code, 0, "", "", "", "")
    extra = c.wavefronts - c.ideal
    moved = c.global_bytes or c.shared_bytes
    return Row(
        n,
        code,
        heat(c.warps / most),
        number(c.warps),
        size(moved) if moved else "",
        number(c.wavefronts) if c.wavefronts else "",
        f"+{number(extra)}" if extra > 0 else "",
    )


def heat(share: float) -> int:
    """From 1, executed, to 4, executed as often as any line or nearly so.

    >>> [heat(s) for s in (0.001, 0.05, 0.2, 0.6, 1.0)]
    [1, 2, 3, 4, 4]
    """
    return 1 + sum(share >= bound for bound in (0.03, 0.15, 0.5))


def _totals(counts: Mapping[int, LineCounts]) -> Iterator[tuple[str, str, str]]:
    """Name, value and remark of what a block did in all."""

    def total(name: str) -> float:
        return sum(float(getattr(c, name)) for c in counts.values())

    warps, waves, ideal, sectors = total("warps"), total("wavefronts"), total("ideal"), total("sectors")
    yield (
        "instructions of warps",
        number(warps),
        f"{total('threads') / warps:.1f} of 32 threads active" if warps else "",
    )
    asked = f", {total('global_bytes') / sectors:.1f} bytes asked for in each" if sectors else ""
    yield "global memory", size(total("global_bytes")), f"{number(sectors)} sectors of 32 bytes{asked}"
    yield "shared memory", size(total("shared_bytes")), f"{number(waves)} wavefronts"
    yield (
        "bank conflicts",
        number(waves - ideal),
        f"{percent((waves - ideal) / waves) if waves else '0%'} of the wavefronts",
    )
    if total("flops"):
        yield "tensor cores", number(total("flops")), "operations"


def _hottest(lines: Sequence[str], counts: Mapping[int, LineCounts]) -> Iterator[Hot]:
    """The lines that move most, that take most passes over shared memory, that conflict most, and that are issued most."""

    def best(what: Callable[[LineCounts], float], words: Callable[[float], str], most: int) -> None:
        ranked = sorted(counts, key=lambda n: (-what(counts[n]), n))
        for n in ranked[:most]:
            if what(counts[n]) > 0 and n <= len(lines):
                found.setdefault(n, []).append(words(what(counts[n])))

    found: dict[int, list[str]] = {}
    best(lambda c: c.global_bytes, lambda v: f"{size(v)} of global memory", 3)
    best(lambda c: c.wavefronts, lambda v: f"{number(v)} wavefronts", 3)
    best(lambda c: c.wavefronts - c.ideal, lambda v: f"{number(v)} added by bank conflicts", 2)
    best(lambda c: c.warps, lambda v: f"issued {number(v)} times", 2)
    return (Hot(n, lines[n - 1].strip(), ", ".join(words)) for n, words in found.items())


def _launch(row: Data) -> str:
    """How a kernel is launched. Numbers that depend on sizes at launch stand as they are."""

    def triple(name: str) -> str:
        return " × ".join(str(v.value) if isinstance(v.value, int) else "…" for v in row[name].list())

    shared = row["shared_bytes"].count()
    return f"{row['entry'].text()}: grid {triple('grid')}, block {triple('block')}, {size(shared)} of dynamic shared memory"
