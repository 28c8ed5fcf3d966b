"""How search time grows: with the block operators allowed, and with the grid dims.

The second series also has concrete mode, which multiplies its choices with every grid dim where symbolic mode does not. A series
ends at the first point that exceeds the time limit. With matplotlib (``pip install prism-mlir[bench]``) a plot is drawn.

    python benchmarks/scaling.py [--max-operators N] [--time-limit S] [--plot FILE] [--json FILE]
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from harness.measure import cpu_seconds, isolated
from harness.report import Row, show, write
from harness.workloads import WORKLOADS
from rich.console import Console

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


def measure(path: str, mode: str, operators: int, grid_dims: int, seconds: float) -> Row:
    """Search without proof of the program in a file, once."""
    from prism_mlir.frontend import import_file
    from prism_mlir.search.concrete import FAMILIES, search_concrete
    from prism_mlir.search.limits import Funnel, SearchLimits
    from prism_mlir.verify.refute import Refuter

    program, funnel = import_file(path), Funnel()
    refuter, limits = Refuter(program), SearchLimits(operators=operators, grid_dims=grid_dims, seconds=seconds)
    families = frozenset(FAMILIES) if mode == CONCRETE else frozenset[str]()

    def accept(graph: object, dim: str) -> bool:
        return refuter.refute_alone(graph, dim) is None  # type: ignore[arg-type]

    spent, found = cpu_seconds(lambda: list(search_concrete(program, limits, funnel, accept, families, time.monotonic)))
    return {
        "mode": mode,
        "operators": operators,
        "grid dims": grid_dims,
        "cpu s": spent,
        "states": funnel.counts["states"],
        "structures": funnel.counts["structures"],
        "graphs": len(found),
        "stopped by": "; ".join(funnel.stopped_by) or None,
    }


def series(name: str, workload: int, mode: str, points: Iterable[tuple[int, int]], seconds: float) -> list[Row]:
    """Points of (operators, grid dims) until one takes too long."""
    rows: list[Row] = []
    for operators, grid_dims in points:
        row = isolated(measure, str(WORKLOADS[workload].path), mode, operators, grid_dims, seconds)
        rows.append({"series": name, "workload": WORKLOADS[workload].name, **row})
        if row["stopped by"] is not None:
            break
    return rows


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
        axis.legend(fontsize="small")
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
        rows += series("operators", k, SYMBOLIC, ((n, 3) for n in range(7, max_operators + 1, 2)), time_limit)
    for k in range(len(WORKLOADS)):
        rows += series("grid dims", k, SYMBOLIC, ((11, g) for g in range(4)), time_limit)
    rows += series("grid dims", 0, CONCRETE, ((9, g) for g in range(4)), time_limit)
    show("Search time, without proof", rows, COLUMNS)
    write(rows, output)
    if find_spec("matplotlib") is None:
        Console().print("no plot: matplotlib is not installed (pip install prism-mlir\\[bench])")
        return
    draw(rows, plot)
    Console().print(f"plot: {plot}")


if __name__ == "__main__":
    typer.run(main)
