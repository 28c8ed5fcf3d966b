"""Time of search and proof, beside the paper's Table 2.

One process for each workload; the clock starts after imports and after reading the file, the first run is not counted. Both
wall clock and CPU time are the median of the runs. Peak memory is that of the whole process, libraries included; what the
libraries and the file take before the search begins stands beside it.

    python benchmarks/table2_search_time.py [--runs N] [--kernels 2] [--operators N] [--time-limit S] [--jobs N] [--json FILE]
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from harness.measure import cpu_seconds, isolated, machine_seconds, peak_mb
from harness.report import Row, show, write
from harness.workloads import WORKLOADS

COLUMNS = (
    "workload",
    "s",
    "cpu s",
    "search s",
    "proof s",
    "target s",
    "paper s",
    "Mirage s",
    "C++ s",
    "graphs",
    "unproved",
    "MB",
    "MB before",
    "stopped by",
)


def measure(path: str, runs: int, kernels: int, operators: int, seconds: float, jobs: int) -> Row:
    """The median of ``runs`` searches with proof of the program in a file."""
    from prism_mlir.compiler.discover import Discovery, discover
    from prism_mlir.frontend import import_file
    from prism_mlir.search.limits import SearchLimits

    program = import_file(path)
    before, machine = peak_mb(), machine_seconds()
    limits = SearchLimits(operators=operators, kernels=kernels, seconds=seconds)
    wall: list[float] = []
    cpu: list[float] = []
    found: list[Discovery] = []
    for _ in range(1 + runs):
        started = time.perf_counter()
        spent, discovery = cpu_seconds(lambda: discover(program, limits, jobs=jobs))
        wall.append(time.perf_counter() - started)
        cpu.append(spent)
        found.append(discovery)
        if sum(wall) > 3 * seconds:
            break
    counted = slice(1, None) if len(wall) > 1 else slice(None)
    last = found[-1]
    return {
        "s": median(wall[counted]),
        "cpu s": median(cpu[counted]),
        "search s": median(d.search_seconds for d in found[counted]),
        "proof s": median(d.proof_seconds for d in found[counted]),
        "runs": len(wall[counted]),
        "first s": wall[0],
        "states": last.funnel.counts["states"],
        "structures": last.funnel.counts["structures"],
        "candidates": len(last.candidates),
        "graphs": len(last.proved),
        "unproved": len(last.candidates) - len(last.proved),
        "MB": peak_mb(),
        "MB before": before,
        "stopped by": "; ".join(last.funnel.stopped_by) or None,
        "fixed loop s": machine,
    }


def main(
    runs: Annotated[int, typer.Option(help="Runs that count, after one that does not.")] = 5,
    kernels: Annotated[int, typer.Option(help="Graph-defined operators of a graph: 1 is the paper's space.")] = 1,
    operators: Annotated[int, typer.Option(help="Block operators allowed.")] = 11,
    time_limit: Annotated[float, typer.Option(help="Seconds that one search may take.")] = 60,
    jobs: Annotated[int, typer.Option(help="Processes of one search.")] = 1,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print one row for each workload."""
    rows: list[Row] = []
    for workload in WORKLOADS:
        row = isolated(measure, str(workload.path), runs, kernels, operators, time_limit, jobs)
        published = workload.published
        mirage = " / ".join("×" if s is None else f"{s:g}" for s in published.mirage_seconds)
        beside = {
            "target s": workload.target if kernels == 1 else None,
            "paper s": published.prism_seconds,
            "Mirage s": mirage,
            "C++ s": published.implementation_seconds,
            "C++ MB": published.implementation_mb,
        }
        rows.append(
            {"workload": workload.name, "kernels": kernels, "operators": operators, "jobs": jobs, **row, **beside}
        )
    note = (
        "paper: 96 threads, search only. C++: the open implementation, 2 cores. "
        "Mirage: two configurations, one search each; ×: not finished after an hour."
    )
    show(f"Table 2: search and proof, {kernels} graph-defined operator(s), {jobs} process(es)", rows, COLUMNS, note)
    write(rows, output)


if __name__ == "__main__":
    typer.run(main)
