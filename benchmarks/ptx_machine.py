"""Speed of the PTX machine's engines on a tensor-core GEMM, 8 × 4096 by 4096 × 4096 in f16, compiled by upstream MLIR.

Thread-instructions a second of processor time, the best of several runs that take turns; the ratio is to the reference engine
with the same checks. "all": every check of the reference engine. The GEMM reads W once, 32 MB in pieces of 128 bytes, so
that the machine's memory counts; "cached" is the same code on the same 64 rows of W again and again. The first run of the fast
engine also compiles; its time is listed apart.

    python benchmarks/ptx_machine.py [--runs N] [--json FILE]
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from harness.report import show, write

from prism_mlir.runtime.ptx import Checks, Module
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

ROOT = Path(__file__).resolve().parents[1]
GEMM = ROOT / "test" / "unit" / "ptx" / "data" / "skinny_gemm.ptx"
COLUMNS = ("kernel", "checks", "engine", "ms", "G thread-instructions/s", "ratio", "compile s")
CHECKS = {"none": Checks.none(), "bounds and races": FAST_CHECKS, "all": Checks()}


@dataclass
class Case:
    """One engine on one kernel with some checks; ``best`` is its best time so far in seconds."""

    kernel: str
    checks: str
    engine: str
    handle: Any
    compile_seconds: float = 0.0
    best: float = float("inf")
    instructions: int = 0

    def run(self) -> None:
        x, w = ARRAYS
        out = np.full((8, 4096), np.nan, np.float16)
        started = time.thread_time()
        result = self.handle.run(
            grid=(64,), block=(128,), args=[x, w, out], engine=self.engine, checks=CHECKS[self.checks]
        )
        seconds = time.thread_time() - started
        assert result.engine == self.engine, result.fallback_reason
        self.compile_seconds = self.compile_seconds or seconds
        self.best = min(self.best, seconds)
        self.instructions = result.counters.thread_instructions

    @property
    def speed(self) -> float:
        return self.instructions / self.best / 1e9


def arrays() -> tuple[Any, Any]:
    rng = np.random.default_rng(23)
    x = (rng.standard_normal((8, 4096)) / 4).astype(np.float16)
    return x, (rng.standard_normal((4096, 4096)) / 8).astype(np.float16)


ARRAYS = arrays()


def cases() -> list[Case]:
    text = GEMM.read_text()
    block = "mov.u32 \t%r1, %ctaid.x;"
    assert block in text
    step = "add.s64 \t%rd117, %rd117, 524288;"
    assert step in text
    kernels = {"GEMM": text, "GEMM, cached": text.replace(block, "mov.u32 \t%r1, 0;").replace(step, "")}
    found: list[Case] = []
    for name, source in kernels.items():
        handle = Module.load(source, name).kernel("k")
        # Blocks that all compute the same columns do conflict.
        usable = ("none", "bounds and races", "all") if source is text else ("none",)
        for checks in usable:
            for engine in ("reference", "fast") if checks != "all" else ("reference",):
                found.append(Case(name, checks, engine, handle))
    return found


def main(
    runs: Annotated[int, typer.Option(help="How often each case is run.")] = 5,
    json: Annotated[Path | None, typer.Option(help="Write the rows to this file.")] = None,
) -> None:
    """Measure and print a table."""
    every = cases()
    for _ in range(runs):
        for case in every:
            case.run()
    slow = {(c.kernel, c.checks): c.speed for c in every if c.engine == "reference"}
    rows = [
        {
            "kernel": c.kernel,
            "checks": c.checks,
            "engine": c.engine,
            "ms": 1e3 * c.best,
            "G thread-instructions/s": c.speed,
            "ratio": c.speed / slow[c.kernel, c.checks],
            "compile s": max(0.0, c.compile_seconds - c.best) if c.engine == "fast" else None,
        }
        for c in every
    ]
    show("PTX machine", rows, COLUMNS)
    write(rows, json)


if __name__ == "__main__":
    typer.run(main)
