"""Search time of RMSNorm when families of maps are enumerated during generation, beside the paper's Table 4.

All rows find the same graphs. "Choices" are tuples of tiles that loads may bring in: what symbolic maps save. Times are CPU
seconds of search without proof, in one process, each row after the tables that rows share are warm.

    python benchmarks/table4_ablation.py [--operators N] [--grid-dims N] [--time-limit S] [--json FILE]
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from harness.measure import cpu_seconds, isolated
from harness.report import Row, show, write
from harness.workloads import WORKLOADS

COLUMNS = (
    "imap",
    "fmap",
    "omap",
    "cpu s",
    "ratio",
    "paper s",
    "paper ratio",
    "choices",
    "states",
    "states ratio",
    "graphs",
    "same",
    "stopped by",
)
PAPER_SECONDS = {
    (): 0.3,
    ("omap",): 2.5,
    ("fmap",): 5.5,
    ("imap",): 20.5,
    ("fmap", "omap"): 5.5,
    ("imap", "omap"): 22.5,
    ("imap", "fmap"): None,
    ("imap", "fmap", "omap"): 312.0,
}


def measure(path: str, operators: int, grid_dims: int, seconds: float) -> list[Row]:
    """One row for each set of enumerated families; symbolic mode first."""
    from prism_mlir.frontend import import_file
    from prism_mlir.graph.kernel import KernelGraph
    from prism_mlir.search.concrete import search_concrete
    from prism_mlir.search.limits import Funnel, SearchLimits
    from prism_mlir.verify.refute import Refuter

    program = import_file(path)
    limits = SearchLimits(operators=operators, grid_dims=grid_dims, states=10**9, seconds=seconds)

    def search(families: tuple[str, ...]) -> tuple[list[KernelGraph], Funnel]:
        funnel, refuter = Funnel(), Refuter(program)
        found = search_concrete(
            program,
            limits,
            funnel,
            lambda graph, dim: refuter.refute_alone(graph, dim) is None,
            frozenset(families),
            time.monotonic,
        )
        return list(found), funnel

    search(())
    rows: list[Row] = []
    expected: set[KernelGraph] = set()
    for families, paper in PAPER_SECONDS.items():
        runs = [cpu_seconds(lambda families=families: search(families)) for _ in range(1 if families else 5)]
        spent = median(s for s, _ in runs)
        found, funnel = runs[-1][1]
        expected = expected or set(found)
        symbolic = rows[0]["cpu s"] if rows else spent
        rows.append(
            {
                **{f: "C" if f in families else "S" for f in ("imap", "fmap", "omap")},
                "cpu s": spent,
                "ratio": spent / symbolic,
                "paper s": paper,
                "paper ratio": None if paper is None else paper / 0.3,
                "choices": funnel.counts["choices at loading"],
                "states": funnel.counts["states"],
                "states ratio": funnel.counts["states"] / (rows[0]["states"] if rows else funnel.counts["states"]),
                "graphs": len(found),
                "same": "yes" if set(found) == expected else "no" if funnel.complete else "not finished",
                "stopped by": "; ".join(funnel.stopped_by) or None,
            }
        )
    return rows


def main(
    operators: Annotated[int, typer.Option(help="Block operators allowed.")] = 11,
    grid_dims: Annotated[int, typer.Option(help="Parallel dims of the grid.")] = 3,
    time_limit: Annotated[float, typer.Option(help="Seconds that one row may take.")] = 120,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print one row for each set of families."""
    rows = isolated(measure, str(WORKLOADS[0].path), operators, grid_dims, time_limit)
    note = "S: symbolic until instantiation, C: enumerated during generation. The paper does not report imap with fmap."
    show(f"Table 4: RMSNorm, {operators} operators, {grid_dims} grid dims", rows, COLUMNS, note)
    write(rows, output)


if __name__ == "__main__":
    typer.run(main)
