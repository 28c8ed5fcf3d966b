"""Search and proof of the paper's workloads: wall clock, sizes, memory.

Each workload runs in a process of its own; the clock starts after imports and after reading the file. Peak memory is that of
the whole process, libraries included.

    python benchmarks/search.py [--inputs DIR] [--operators N] [--json FILE]
"""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import typer
from harness.measure import peak_mb
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = (
    "workload",
    "seconds",
    "search s",
    "proof s",
    "states",
    "structures",
    "mappings",
    "proved",
    "unknown",
    "peak MB",
)


def measure(path: str, operators: int | None) -> dict[str, Any]:
    """One row: search and prove the program of a file."""
    from prism_mlir.compiler.discover import discover
    from prism_mlir.frontend import import_file
    from prism_mlir.search.limits import SearchLimits

    program = import_file(path)
    found = discover(program, SearchLimits() if operators is None else SearchLimits(operators=operators))
    counts = found.funnel.counts
    statuses = [v.status.value for v in found.verdicts]
    return {
        "workload": Path(path).name.removesuffix(".linalg.mlir"),
        "seconds": found.search_seconds + found.proof_seconds,
        "search s": found.search_seconds,
        "proof s": found.proof_seconds,
        "states": counts["states"],
        "structures": counts["structures"],
        "mappings": len(found.candidates),
        "proved": statuses.count("proved"),
        "unknown": statuses.count("unknown"),
        "peak MB": peak_mb(),
        "complete": found.funnel.complete,
    }


def main(
    inputs: Annotated[Path, typer.Option(help="Folder of .linalg.mlir files.")] = ROOT / "test" / "inputs" / "paper",
    operators: Annotated[int | None, typer.Option(help="Block operators allowed (default: the search's own).")] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print one row for each file."""
    rows = []
    table = Table(*COLUMNS)
    for path in sorted(inputs.glob("*.linalg.mlir")):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            rows.append(pool.submit(measure, str(path), operators).result())
        table.add_row(*(f"{v:.2f}" if isinstance(v := rows[-1][c], float) else str(v) for c in COLUMNS))
    Console(width=140).print(table)
    if output is not None:
        output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
