"""Whole optimisations, cold and warm: search, proof, schedule, PTX and check, as ``prism compile`` does them.

Two tables. First RMSNorm at all sizes of a grid, one after the other with one set of tuning records: only the first one searches
and proves. Then the paper's ten configurations with no records, and again with those of the first time. Every compilation is a
process of its own; ``process s`` is its wall clock with start-up and all imports, ``cpu s`` what it computed, without what
processes it started did (``--jobs 1`` starts none); the other columns are its own steps. Times of a busy machine are long.

    python benchmarks/tuning.py [--grid/--no-grid] [--paper/--no-paper] [--jobs N] [--only TEXT] [--json FILE]
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from harness.report import Row, show, write
from harness.workloads import INPUTS

EXAMPLE = INPUTS.parents[2] / "examples" / "rms_norm.mlir"
WIDTHS, BATCHES = (1024, 2048, 4096, 8192), (1, 4, 8, 16)
GRID = ("n", "d", "process s", "cpu s", "search and proof s", "searched", "choice and code s", "check s", "model us")
PAPER = ("program", "records", "process s", "cpu s", "import s", "choice and code s", "check s", "own s", "model us")


def rms_norm(n: int, d: int) -> str:
    """RMSNorm of n x d by d x d in f16, as the example has it at 16 x 1024."""
    text = EXAMPLE.read_text()
    text = text.replace("1.024000e+03", f"{d:.6e}").replace("1024x", f"{d}x")
    return re.sub(r"\b16x", f"{n}x", text)


def compiled(path: Path, folder: Path, jobs: int, records: Path) -> Row:
    """One compilation in a process of its own; its report and times."""
    command = [sys.executable, "-m", "prism_mlir.tools.prism", "compile", str(path), "-o", str(folder), "-q"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PRISM_CACHE_DIR": str(records)}
    subprocess.run([*command, "--jobs", str(jobs)], check=True, env=environment)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads((folder / "report.json").read_text())
    seconds, parts = report["seconds"], report["parts"]
    return {
        "process s": wall,
        "cpu s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "import s": seconds["import"],
        "search and proof s": seconds["search and proof alone"],
        "searched": len([p for p in parts if not p["on record"]["proof"]]),
        "choice and code s": seconds["search, proof, choice and code"],
        "check s": seconds["check"],
        "own s": sum(s for step, s in seconds.items() if step != "search and proof alone"),
        "checked before": report["checked before"],
        "model us": sum(p["cost"]["total_us"] for p in parts),
    }


def grid(folder: Path, jobs: int) -> list[Row]:
    rows = []
    for d in WIDTHS:
        for n in BATCHES:
            path = folder / f"rms_norm_n{n}_d{d}.mlir"
            path.write_text(rms_norm(n, d))
            rows.append({"n": n, "d": d, **compiled(path, folder / path.stem, jobs, folder / "grid-records")})
    return rows


def paper(folder: Path, jobs: int, only: str) -> list[Row]:
    rows: list[Row] = []
    for k, records in enumerate(("cold", "warm")):
        for path in sorted(INPUTS.glob("*.linalg.mlir")):
            if only in path.name:
                output = folder / f"{path.stem}-{k}"
                rows.append({"program": path.name.split(".")[0], "records": records})
                rows[-1] |= compiled(path, output, jobs, folder / "paper-records")
        own = [r for r in rows if r["records"] == records and r["program"] != "all together"]
        sums = {c: sum(r[c] for r in own) for c in PAPER[2:]}
        rows.append({"program": "all together", "records": records, **sums})
    return rows


def main(
    with_grid: Annotated[bool, typer.Option("--grid/--no-grid", help="RMSNorm at sixteen sizes.")] = True,
    with_paper: Annotated[bool, typer.Option("--paper/--no-paper", help="The ten configurations.")] = True,
    jobs: Annotated[int, typer.Option(help="Processes of each compilation.")] = 2,
    only: Annotated[str, typer.Option(help="Configurations with this in their name.")] = "",
    output: Annotated[Path | None, typer.Option("--json", help="File for the numbers.")] = None,
) -> None:
    """Measure and print; exit code 1 where the grid searched more than once or a warm run did anything again."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        sizes = grid(Path(scratch), jobs) if with_grid else []
        if sizes:
            show("RMSNorm, one set of records", sizes, GRID)
        programs = paper(Path(scratch), jobs, only) if with_paper else []
        if programs:
            show("The paper's configurations, without records and with them", programs, PAPER)
    rows = [*sizes, *programs]
    write(rows, output)
    again = [r for r in programs if r["records"] == "warm" and not r.get("checked before", True)]
    raise typer.Exit(int(sum(r["searched"] for r in sizes[1:]) > 0 or bool(again)))


if __name__ == "__main__":
    typer.run(main)
