"""How search time grows: with the block operators allowed, and with the grid dims.

The second series also has concrete mode, which multiplies its choices with every grid dim where symbolic mode does not. A series
ends at the first point that exceeds the time limit. With matplotlib (``pip install prism-mlir[bench]``) a plot is drawn.

    python benchmarks/scaling.py [--max-operators N] [--time-limit S] [--plot FILE] [--json FILE]
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from harness.measure import cpu_seconds, isolated
from harness.report import Row, show, write
from harness.workloads import WORKLOADS
from rich.console import Console

from prism_mlir.graph.kernel import KernelGraph

COLUMNS = (
    "series",
    "workload",
    "mode",
    "operators",
    "grid dims",
    "cpu s",
    "states",
    "structures",
    "graphs",
    "stopped by",
)
SYMBOLIC, CONCRETE = "symbolic", "concrete"


def measure(path: str, mode: str, points: Sequence[tuple[int, int]], seconds: float) -> list[Row]:
    """Search without proof of the program in a file, for each (operators, grid dims) until one takes too long."""
    from prism_mlir.frontend import import_file
    from prism_mlir.search.concrete import FAMILIES, search_concrete
    from prism_mlir.search.limits import Funnel, SearchLimits
    from prism_mlir.verify.refute import Refuter

    program = import_file(path)
    families = frozenset(FAMILIES) if mode == CONCRETE else frozenset[str]()

    def search(limits: SearchLimits) -> tuple[int, Funnel]:
        refuter, funnel = Refuter(program), Funnel()

        def accept(graph: KernelGraph, dim: str) -> bool:
            return refuter.refute_alone(graph, dim) is None

        found = search_concrete(program, limits, funnel, accept, families, time.monotonic)
        return sum(1 for _ in found), funnel

    rows: list[Row] = []
    search(SearchLimits(operators=points[0][0], grid_dims=points[0][1], seconds=1))  # tables that are made once
    for operators, grid_dims in points:
        limits = SearchLimits(operators=operators, grid_dims=grid_dims, seconds=seconds)
        spent, (graphs, funnel) = cpu_seconds(lambda limits=limits: search(limits))
        rows.append(
            {
                "mode": mode,
                "operators": operators,
                "grid dims": grid_dims,
                "cpu s": spent,
                "states": funnel.counts["states"],
                "structures": funnel.counts["structures"],
                "graphs": graphs,
                "stopped by": "; ".join(funnel.stopped_by) or None,
            }
        )
        if not funnel.complete:
            break
    return rows


def series(name: str, workload: int, mode: str, points: Sequence[tuple[int, int]], seconds: float) -> list[Row]:
    """One line of the plot, from a process of its own."""
    rows = isolated(measure, str(WORKLOADS[workload].path), mode, points, seconds)
    return [{"series": name, "workload": WORKLOADS[workload].name, **row} for row in rows]


def draw(rows: list[Row], path: Path) -> None:
    """Seconds on a logarithmic axis: one panel for operators, one for grid dims. Points that were stopped are left out."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for axis, name in zip(axes, ("operators", "grid dims"), strict=True):
        lines: dict[str, list[Row]] = {}
        for row in rows:
            if row["series"] == name and row["stopped by"] is None:
                lines.setdefault(f"{row['workload']}, {row['mode']}", []).append(row)
        for label, line in lines.items():
            axis.plot([r[name] for r in line], [r["cpu s"] for r in line], marker="o", label=label)
        axis.set(xlabel=f"{name} allowed", ylabel="CPU seconds of search", yscale="log")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small", loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main(
    max_operators: Annotated[int, typer.Option(help="The most block operators to allow.")] = 13,
    time_limit: Annotated[float, typer.Option(help="Seconds that one search may take.")] = 10,
    plot: Annotated[Path, typer.Option(help="Where to draw (.png or .svg).")] = Path("out/bench/scaling.png"),
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print one row for each point, and draw them."""
    rows: list[Row] = []
    for k in range(len(WORKLOADS)):
        rows += series("operators", k, SYMBOLIC, [(n, 3) for n in range(7, max_operators + 1, 2)], time_limit)
    for k in range(len(WORKLOADS)):
        rows += series("grid dims", k, SYMBOLIC, [(11, g) for g in range(4)], time_limit)
    rows += series("grid dims", 0, CONCRETE, [(9, g) for g in range(4)], time_limit)
    note = (
        "Where no graph with a loop is found (RMSNorm-MLP and QK-Attention below 11 operators) "
        "loads outside the loop are searched too, which takes longer."
    )
    show("Search time, without proof", rows, COLUMNS, note)
    write(rows, output)
    if find_spec("matplotlib") is None:
        Console().print("no plot: matplotlib is not installed (pip install prism-mlir\\[bench])")
        return
    draw(rows, plot)
    Console().print(f"plot: {plot}")


if __name__ == "__main__":
    typer.run(main)
