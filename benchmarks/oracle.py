"""The search against brute force on windows of the paper's workloads: every connected part of up to so many operators.

Both list the proved graphs of one kernel within the same limits; brute force cuts nothing off on the way (see
``prism_mlir/search/exhaustive.py``). "listed" counts the graphs with concrete mappings that brute force judged, "unproved" those
that are neither refuted nor proved, such as x * x for the program's x**2. A difference is a fault of one of the two.

    python benchmarks/oracle.py [--most N] [--least N] [--more N] [--grid-dims N] [--queries N] [--arithmetic]
                                [--invariant-loads] [--only TEXT] [--json FILE]

Exit code 1 if there is a difference. A window of 5 operators may take minutes and some GB.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from harness.measure import cpu_seconds, isolated
from harness.report import Row, show, write
from rich.console import Console

COLUMNS = (
    "window",
    "operators",
    "listed",
    "search",
    "brute force",
    "unproved",
    "lost",
    "extra",
    "search cpu s",
    "brute cpu s",
)


@dataclass(frozen=True, slots=True)
class Options:
    """As the options of the command line."""

    most: int
    least: int
    more: int
    grid_dims: int
    queries: int
    arithmetic: bool
    invariant_loads: bool
    only: str


def workloads(queries: int) -> list[str]:
    """Names of the workloads."""
    from prism_mlir.compiler.oracle import small_workloads

    return [program.name for program in small_workloads(queries)]


def measure(workload: str, options: Options) -> list[Row]:
    """One row for each window of a workload that no earlier workload has."""
    from prism_mlir.compiler.oracle import Oracle, small_workloads
    from prism_mlir.graph.ops import ADD, DIV, MATMUL, MUL, SUB
    from prism_mlir.search.limits import SearchLimits
    from prism_mlir.search.windows import windows

    also = (MATMUL, ADD, SUB, MUL, DIV) if options.arithmetic else (MATMUL, MUL)
    rows: list[Row] = []
    for window in windows(small_workloads(options.queries), options.most):
        count, mine = len(window.nodes), window.name.split()[0] == workload
        if not mine or count < options.least or options.only not in window.name:
            continue
        limits = SearchLimits(
            operators=count + options.more, grid_dims=options.grid_dims, invariant_loads=options.invariant_loads
        )
        brute_seconds, oracle = cpu_seconds(lambda limits=limits, window=window: Oracle(window, limits, also))
        search_seconds, found = cpu_seconds(oracle.compare)
        rows.append(
            {
                "window": window.name,
                "program": ", ".join(str(n.op) for n in window.nodes),
                "operators": limits.operators,
                "listed": found.listed,
                "search": found.search,
                "brute force": found.brute,
                "unproved": found.unproved,
                "lost": len(found.lost),
                "extra": len(found.extra),
                "search cpu s": search_seconds,
                "brute cpu s": brute_seconds,
                "lost graphs": [str(g) for g in found.lost],
                "extra graphs": [str(g) for g in found.extra],
            }
        )
    return rows


def main(
    most: Annotated[int, typer.Option(help="Operators of the largest windows.")] = 4,
    least: Annotated[int, typer.Option(help="Operators of the smallest windows.")] = 1,
    more: Annotated[int, typer.Option(help="Operators that graphs may have beyond the window's.")] = 1,
    grid_dims: Annotated[int, typer.Option(help="Parallel dims of the grid.")] = 2,
    queries: Annotated[int, typer.Option(help="Rows of the attention workloads' query (1: decoding).")] = 1,
    arithmetic: Annotated[bool, typer.Option(help="Brute force adds, subtracts and divides in any program.")] = False,
    invariant_loads: Annotated[bool, typer.Option(help="Loads outside the loop from the start.")] = False,
    only: Annotated[str, typer.Option(help="Windows with this in their name, such as 'swiglu' or '3+4'.")] = "",
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print one row for each window."""
    options = Options(most, least, more, grid_dims, queries, arithmetic, invariant_loads, only)
    rows: list[Row] = []
    for workload in workloads(queries):
        rows += isolated(measure, workload, options)
    total = sum(row["search cpu s"] + row["brute cpu s"] for row in rows)
    graphs = sum(row["brute force"] for row in rows)
    note = f"{len(rows)} windows, {graphs} proved graphs, {total:.0f} CPU s. The search's seconds include the proof of both."
    show("Search against brute force", rows, COLUMNS, note)
    write(rows, output)
    for row in rows:
        for kind in ("lost", "extra"):
            for graph in row[f"{kind} graphs"]:
                Console().print(f"{row['window']}: {kind}: {graph}", markup=False, soft_wrap=True)
    raise typer.Exit(int(any(row["lost"] or row["extra"] for row in rows)))


if __name__ == "__main__":
    typer.run(main)
