"""One process against several: wall clock of search and proof, or of a whole compilation with its check, and whether the results
are the same, byte for byte.

Each measurement is a process of its own, one after the other, so that nothing is warm; the clock includes starting the workers.
The load of the machine before each is printed: where others compute as well, several processes cannot show what they can do. So
the CPU seconds of the busiest process are measured too (Linux): a machine with a core for each needs about as long as that.

    python benchmarks/parallel.py [--program NAME | --file IN.mlir] [--jobs N] [--repeat N] [--json FILE]
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from prism_mlir.compiler.discover import Discovery

LIMITS = {"operators": 11, "kernels": 2}


class BusiestProcess:
    """CPU seconds of this process and of all it started, read from /proc while a ``with`` block runs."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> BusiestProcess:
        self._read()
        self._before = dict(self.seconds)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._read()
        self.seconds = {pid: s - self._before.get(pid, 0) for pid, s in self.seconds.items()}

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            self._read()

    def _read(self) -> None:
        parents: dict[int, int] = {}
        used: dict[int, float] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = path.read_text().rsplit(")", 1)[1].split()
                pid = int(path.parent.name)
                parents[pid], used[pid] = int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for pid in used:
            above: int | None = pid
            while above not in (None, os.getpid()):
                above = parents.get(above or 0)
            if above is not None:
                self.seconds[pid] = used[pid]


def search(program: str, jobs: int) -> tuple[Discovery, object]:
    """Search and prove a program of ``prism_mlir.graph.examples``."""
    from prism_mlir.compiler.discover import discover
    from prism_mlir.graph import examples
    from prism_mlir.search.limits import SearchLimits

    return discover(getattr(examples, program)(), SearchLimits(**LIMITS), jobs=jobs), ()  # type: ignore[arg-type]


def compile_whole(path: str, jobs: int) -> tuple[Discovery, object]:
    """Compile and check a file, as ``prism compile`` does without records."""
    from prism_mlir.compiler.options import CompileOptions
    from prism_mlir.compiler.pipeline import compile_file

    done = compile_file(path, CompileOptions(jobs=jobs))
    return done.discovery, (done.built.ptx, done.launch.to_dict(), done.host, [a.to_dict() for a in done.accuracy])


def measure(what: str, jobs: int) -> dict[str, Any]:
    """What it takes to search a program, or to compile a file."""
    load = os.getloadavg()[0]
    started = perf_counter()
    with BusiestProcess() as cpu:
        found, code = (compile_whole if what.endswith(".mlir") else search)(what, jobs)
    seconds = perf_counter() - started
    told = repr([[g.sort_key for g in found.candidates], [v.to_dict() for v in found.verdicts], found.to_dict(), code])
    return {
        "jobs": jobs,
        "seconds": seconds,
        "busiest cpu s": max(cpu.seconds.values()),
        "all cpu s": sum(cpu.seconds.values()),
        "candidates": len(found.candidates),
        "proved": len(found.proved),
        "result": hashlib.sha256(told.encode()).hexdigest()[:12],
        "load before": load,
    }


def main(
    program: Annotated[str, typer.Option(help="Function of prism_mlir.graph.examples.")] = "rms_norm_mlp",
    file: Annotated[Path | None, typer.Option(help="Compile this instead.")] = None,
    jobs: Annotated[int, typer.Option(min=2, help="Processes to compare with one.")] = 2,
    repeat: Annotated[int, typer.Option(min=1, help="Measurements of each; the median counts.")] = 1,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print a row for each measurement, and the ratio of the medians."""
    rows, what = [], program if file is None else str(file)
    for _ in range(repeat):
        for count in (1, jobs):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                rows.append(pool.submit(measure, what, count).result())
    table = Table(*rows[0], title=what if file is not None else f"{program}, {LIMITS}")
    for row in rows:
        table.add_row(*(f"{v:.2f}" if isinstance(v, float) else str(v) for v in row.values()))
    console = Console(width=140)
    console.print(table)
    wall, busy = (
        [median(r[key] for r in rows if r["jobs"] == n) for n in (1, jobs)] for key in ("seconds", "busiest cpu s")
    )
    same = len({r["result"] for r in rows}) == 1
    console.print(
        f"{wall[0] / wall[1]:.2f} times faster with {jobs} processes by wall clock, {busy[0] / busy[1]:.2f} times by the CPU "
        f"seconds of the busiest; results {'the same' if same else 'DIFFER'}"
    )
    if output is not None:
        output.write_text(json.dumps(rows, indent=2) + "\n")
    if not same:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
