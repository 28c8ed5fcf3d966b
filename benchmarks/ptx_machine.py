"""Speed of the PTX machine's engines on tensor-core GEMMs in f16.

``8``: 8 × 4096 by 4096 × 4096, compiled by upstream MLIR. It reads W once, 32 MB in pieces of 128 bytes, so that the machine's
memory counts; ``8, cached`` is the same code on the same 64 rows of W again and again. ``16``: 16 × 4096 by 4096 × 4096, as this
project's code generator emits it.

Thread-instructions a second of processor time, the best of several runs that take turns; the ratio is to the reference engine
with the same checks. "all": every check of the reference engine. The first run of the fast engine also compiles: "first s" is
that run, "compile s" what it took longer than the best. Functions that kernels share count in the row that needs them first.

The second table has rates of the GEMM of 8 rows (fast engine, bounds and races) by the clock on the wall, when several
processes, or threads of one process, run it at once for a second: it says something only on an idle machine.

    python benchmarks/ptx_machine.py [--runs N] [--workers N] [--json FILE]
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from harness.report import show, write

from prism_mlir.runtime.ptx import Checks, Module
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

DATA = Path(__file__).resolve().parents[1] / "test" / "unit" / "ptx" / "data"
COLUMNS = ("kernel", "checks", "engine", "ms", "G thread-instructions/s", "ratio", "first s", "compile s")
CHECKS = {"none": Checks.none(), "bounds and races": FAST_CHECKS, "all": Checks()}


@dataclass
class Case:
    """One engine on one kernel with some checks; ``best`` is its best time so far in seconds."""

    kernel: str
    checks: str
    engine: str
    handle: Any
    rows: int
    shared: int
    first: float = 0.0
    best: float = float("inf")
    instructions: int = 0

    def run(self) -> None:
        x, w = arrays(self.rows)
        out = np.full((self.rows, 4096), np.nan, np.float16)
        started = time.thread_time()
        result = self.handle.run(
            grid=(64,),
            block=(128,),
            args=[x, w, out],
            shared_bytes=self.shared,
            engine=self.engine,
            checks=CHECKS[self.checks],
        )
        seconds = time.thread_time() - started
        assert result.engine == self.engine, result.fallback_reason
        self.first = self.first or seconds
        self.best = min(self.best, seconds)
        self.instructions = result.counters.thread_instructions

    @property
    def speed(self) -> float:
        return self.instructions / self.best / 1e9


_ARRAYS: dict[int, tuple[Any, Any]] = {}


def arrays(rows: int) -> tuple[Any, Any]:
    if rows not in _ARRAYS:
        rng = np.random.default_rng(23)
        x = (rng.standard_normal((rows, 4096)) / 4).astype(np.float16)
        _ARRAYS[rows] = x, (rng.standard_normal((4096, 4096)) / 8).astype(np.float16)
    return _ARRAYS[rows]


def cases() -> list[Case]:
    text = (DATA / "skinny_gemm.ptx").read_text()
    block = "mov.u32 \t%r1, %ctaid.x;"
    assert block in text
    step = "add.s64 \t%rd117, %rd117, 524288;"
    assert step in text
    small = Module.load(text, "8").kernel("k")
    # Blocks that all compute the same columns do conflict, so that the cached one runs without checks only.
    cached = Module.load(text.replace(block, "mov.u32 \t%r1, 0;").replace(step, ""), "8, cached").kernel("k")
    emitted = Module.load((DATA / "emitted_gemm_16.ptx").read_text(), "16").kernel("gemm")
    kernels = [("8", small, 8, 0, CHECKS), ("8, cached", cached, 8, 0, ("none",)), ("16", emitted, 16, 40960, CHECKS)]
    found: list[Case] = []
    for name, handle, rows, shared, usable in kernels:
        for checks in usable:
            for engine in ("reference", "fast") if checks != "all" else ("reference",):
                found.append(Case(name, checks, engine, handle, rows, shared))
    return found


# -- several at once ------------------------------------------------------------------------------------------------------


def _keep_running(ready: Any, count: Callable[[int], None], seconds: float = 1.0) -> None:
    """Run the GEMM again and again once all are ready, and tell how often."""
    case = next(c for c in cases() if (c.kernel, c.checks, c.engine) == ("8", "bounds and races", "fast"))
    case.run()
    ready.wait()
    runs, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        case.run()
        runs += 1
    count(runs)


def rates(workers: int) -> list[dict[str, Any]]:
    """Runs a second of one, of several processes, and of several threads."""
    rows: list[dict[str, Any]] = []
    spawn = multiprocessing.get_context("spawn")
    for kind, number in (("process", 1), ("process", workers), ("thread", workers)):
        if kind == "process":
            ready, queue = spawn.Barrier(number), spawn.Queue()
            jobs: list[Any] = [spawn.Process(target=_keep_running, args=(ready, queue.put)) for _ in range(number)]
        else:
            counts: list[int] = []
            local = threading.Barrier(number)
            jobs = [threading.Thread(target=_keep_running, args=(local, counts.append)) for _ in range(number)]
        for job in jobs:
            job.start()
        total = sum(queue.get() for _ in jobs) if kind == "process" else 0
        for job in jobs:
            job.join()
        total = total if kind == "process" else sum(counts)
        label = f"{number} {kind}{'es' if kind == 'process' and number > 1 else 's' if number > 1 else ''}"
        rows.append({"at once": label, "runs/s": float(total)})
    for row in rows:
        row["speedup"] = row["runs/s"] / max(rows[0]["runs/s"], 1.0)
    return rows


def main(
    runs: Annotated[int, typer.Option(help="How often each case is run.")] = 5,
    workers: Annotated[int, typer.Option(help="Processes and threads that run at once; 0 leaves the table out.")] = 2,
    json: Annotated[Path | None, typer.Option(help="Write the rows to this file.")] = None,
) -> None:
    """Measure and print tables."""
    every = cases()
    for _ in range(runs):
        for case in every:
            case.run()
    slow = {(c.kernel, c.checks): c.speed for c in every if c.engine == "reference"}
    rows: list[dict[str, Any]] = [
        {
            "kernel": c.kernel,
            "checks": c.checks,
            "engine": c.engine,
            "ms": 1e3 * c.best,
            "G thread-instructions/s": c.speed,
            "ratio": c.speed / slow[c.kernel, c.checks],
            "first s": c.first if c.engine == "fast" else None,
            "compile s": max(0.0, c.first - c.best) if c.engine == "fast" else None,
        }
        for c in every
    ]
    show("PTX machine", rows, COLUMNS)
    if workers:
        several = rates(workers)
        show("At once", several, ("at once", "runs/s", "speedup"))
        rows += several
    write(rows, json)


if __name__ == "__main__":
    typer.run(main)
