"""The table of the paper's Figure 6 from measured results: how fast each peer is, relative to the best baseline of its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import exp, inf, log
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from prism_mlir.graph.errors import InputError, Location
from prism_mlir.runtime.bundle.command import FORMAT
from prism_mlir.tools.files import read_json
from prism_mlir.tools.terminal import new_table, print_table

NAMES = {"torch": "PyTorch eager", "compile": "PyTorch compiled", "triton": "Triton", "prism": "Prism"}
OURS = "prism"
STATES = {"cold": "L2 flushed before every run", "warm": "L2 not flushed"}


@dataclass(frozen=True, slots=True)
class Cell:
    """The fastest that a peer has: median and interquartile range in microseconds."""

    median_us: float
    iqr_us: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table. cells: by peer; paper: speed-up over Mirage that the paper reports."""

    workload: str
    size: str
    cells: Mapping[str, Cell]
    paper: float | None

    @property
    def baseline_us(self) -> float | None:
        """The best time of what is not ours."""
        return min((c.median_us for peer, c in self.cells.items() if peer != OURS), default=None)

    def relative(self, peer: str) -> float | None:
        """1 for the best baseline, higher is better; ``None`` where there is no baseline, or the peer was not measured."""
        if self.baseline_us is None or peer not in self.cells:
            return None
        return self.baseline_us / self.cells[peer].median_us


def read_result(path: Path) -> dict[str, Any]:
    """Results of a run. Raises a located :class:`InputError` for a file that holds none."""
    data = read_json(path)
    place = Location(str(path), 1, 1)
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("rows"), list):
        raise InputError("the file holds no results of a measurement", place, "name what run.py or prism bench wrote")
    if not data["rows"]:
        raise InputError("the results have no row: nothing was measured", place, "measure again, for longer")
    try:
        for row in data["rows"]:
            _check_row(row)
        print_result(Console(file=StringIO()), data)
    except KeyError as error:
        raise InputError(f"the results are damaged: {error} is missing", place, "measure again") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the results are damaged: {error}", place, "measure again") from None
    return data


def _check_row(row: Mapping[str, Any]) -> None:
    """Raises :class:`ValueError` for a row of which a table would say nothing, or something else."""
    if not row["results"]:
        raise ValueError(f"row '{row['name']}' has no result")
    for peer in (str(result["peer"]) for result in row["results"]):
        if peer not in NAMES:
            raise ValueError(f"row '{row['name']}' has a peer '{peer}', known are {', '.join(NAMES)}")


def lines_of(data: Mapping[str, Any], state: str) -> list[Line]:
    """Rows of the table for ``cold`` or ``warm``."""
    return [
        Line(str(row["workload"]), str(row["size"]), _cells(row["results"], state), row.get("paper"))
        for row in data["rows"]
    ]


def _cells(results: Sequence[Mapping[str, Any]], state: str) -> dict[str, Cell]:
    """Of each peer the candidate with the best cold median: that is the one which would be chosen."""
    best: dict[str, Mapping[str, Any]] = {}
    for result in results:
        peer = str(result["peer"])
        if result["status"] != "ok":
            continue
        for time in (float(result[s]["median_us"]) for s in STATES):
            if not 0 < time < inf:
                raise ValueError(f"a time of {time:g} us")
        if peer not in best or result["cold"]["median_us"] < best[peer]["cold"]["median_us"]:
            best[peer] = result
    return {
        peer: Cell(float(r[state]["median_us"]), float(r[state]["iqr_us"]), str(r["label"])) for peer, r in best.items()
    }


def geometric_mean(values: Sequence[float]) -> float | None:
    return exp(sum(map(log, values)) / len(values)) if values else None


def print_result(console: Console, data: Mapping[str, Any]) -> None:
    """Both tables, what they were measured on, and what is not in them."""
    console.print(_about(data), markup=False)
    for state, title in STATES.items():
        console.print()
        console.print(
            f"{title}: median us (relative performance, 1 is the best baseline, higher is better)", markup=False
        )
        _print_lines(console, lines_of(data, state))
    troubles = [(row["name"], r) for row in data["rows"] for r in row["results"] if r["status"] != "ok"]
    for name, result in troubles:
        if result["status"] != "skipped":
            text = f"{result['status']:<8} {name}: {NAMES[result['peer']]} {result['label']}: {result['reason']}"
            console.print(text, markup=False)
    skipped = sum(result["status"] == "skipped" for _, result in troubles)
    if skipped:
        console.print(f"skipped  {skipped} candidates: the time was up", markup=False)


def _print_lines(console: Console, lines: Sequence[Line]) -> None:
    peers = [peer for peer in NAMES if any(peer in line.cells for line in lines)]
    table = new_table("workload", "size", *(NAMES[p] for p in peers), "spread", "Prism to best", "paper to Mirage")
    for column in table.columns[2:]:
        column.justify = "right"
    for line in lines:
        ours = line.cells.get(OURS)
        table.add_row(
            escape(line.workload),
            escape(line.size),
            *(_cell(line, peer) for peer in peers),
            "-" if ours is None else f"{ours.iqr_us:.2f}",
            _ratio(line.relative(OURS)),
            _ratio(line.paper),
        )
    print_table(console, table, keys=2)
    ours_to_best = [r for line in lines if (r := line.relative(OURS)) is not None]
    mean = geometric_mean(ours_to_best)
    if mean is not None:
        console.print(f"geometric mean of Prism to best, {len(ours_to_best)} rows: {mean:.2f}x", markup=False)


def _cell(line: Line, peer: str) -> str:
    if peer not in line.cells:
        return "-"
    relative = line.relative(peer)
    return f"{line.cells[peer].median_us:.2f}" + ("" if relative is None else f" ({relative:.2f})")


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _about(data: Mapping[str, Any]) -> str:
    device, settings = data["device"], data["settings"]
    clocks = next((r["clocks"]["after"] for row in data["rows"] for r in row["results"] if r["status"] == "ok"), None)
    parts = [
        f"{device['name']} (sm_{str(device['capability']).replace('.', '')}), code for {data['target']}",
        f"CUDA {device['cuda']}" + (f", driver {device['driver']}" if device["driver"] else ""),
        f"{settings['repeats']} runs each",
    ]
    if clocks is not None:
        parts.append(f"SM {clocks['sm_mhz']} MHz, memory {clocks['memory_mhz']} MHz ({clocks['source']})")
    return "measured on " + "; ".join(parts) + ("" if data["complete"] else "; not complete")
