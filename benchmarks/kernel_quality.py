"""Quality of the emitted sm_80 kernels: exact counts of the PTX machine, what ptxas says, and the cost model. No GPU.

Each program of ``test/inputs`` stands in up to three rows: the kernels that ``prism compile`` chooses (``ours``), the same
program with each operator as a kernel of its own, by the same code generator (``unfused``), and kernels written by hand in
Triton (``triton``, with the extra of that name). All rows of a table are made in one run.

global/min: bytes between the SMs and L2 over inputs once and outputs once. dram/min: the same of DRAM, by the cost model, in
which L2 holds what it can. sectors/request, conflicts (bank-conflict wavefronts of all), warp instructions in thousands, mma
operations over those of the program's products; registers, shared memory, spills and occupancy of the worst kernel. model us:
by the cost model, launches included; /floor: over the roofline, one launch included. issue us, shared us: what the busiest SM
needs only to issue the counted instructions, and for the counted shared-memory wavefronts.

    python benchmarks/kernel_quality.py [--only WORD ...] [--set paper|programs|frameworks ...] [--no-unfused] [--no-triton]
                                        [--json FILE]
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from harness.quality import (
    BYTES_TARGET,
    CONFLICT_TARGET,
    GROUPS,
    WIDE,
    Launch,
    Resources,
    count,
    summary,
    zeros,
)
from harness.report import Row, show, write

from prism_mlir.codegen.external import ptxas_check
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file
from prism_mlir.compiler.select import Selection, select
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.launch_info import KernelLaunch
from prism_mlir.graph.program import Program
from prism_mlir.runtime.ptx import Module
from prism_mlir.search.partition import part_of
from prism_mlir.tune.roofline import Roofline, roofline
from prism_mlir.tune.targets import Target, find_target

INPUTS = Path(__file__).resolve().parents[1] / "test" / "inputs"
SETS = ("paper", "programs", "frameworks")
WORK = ("kernels", "global/min", "dram/min", "sectors/request", "conflicts", "narrow", "flops/needed", "misses")
HELD = ("registers", "shared", "spills", "occupancy", "model us", "/floor", "issue us", "shared us", "limiter")
THOUSANDS = (*GROUPS, "other")


def main(
    only: Annotated[list[str] | None, typer.Option(help="Only programs whose name holds this word.")] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", help="Folders of test/inputs; by default all.")] = None,
    unfused: Annotated[bool, typer.Option(help="Also each operator as a kernel of its own.")] = True,
    triton: Annotated[bool, typer.Option(help="Also the peers in Triton.")] = True,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Compile, count, and print the table."""
    if triton and importlib.util.find_spec("triton") is None:
        print("triton rows are skipped: install the `triton` extra", file=sys.stderr)
        triton = False
    options = CompileOptions(check=False)
    target = find_target(options.target)
    rows: list[Row] = []
    for folder in sets or SETS:
        for path in sorted((INPUTS / folder).glob("*.mlir")):
            if not only or any(word in path.name for word in only):
                rows += rows_of(path, options, target, unfused, triton)
                write(rows, output)  # what is there already, should the run be stopped
                print(f"{len(rows)} rows, {path.name}", file=sys.stderr)
    note = (
        f"targets: global/min <= {BYTES_TARGET} for a single kernel (bytes), no spills, bank conflicts <= {CONFLICT_TARGET:.0%} "
        f"(banks), global accesses of {WIDE} bytes a thread (narrow: how many instructions of the text × bytes are not)"
    )
    show("Kernel quality: what is moved and computed", display(rows), ("program", "by", *WORK), note)
    show("Kernel quality: thousands of warp instructions", display(rows), ("program", "by", *THOUSANDS))
    show("Kernel quality: resources and time", display(rows), ("program", "by", *HELD))


def rows_of(path: Path, options: CompileOptions, target: Target, unfused: bool, triton: bool) -> list[Row]:
    """The rows of one program."""
    compiled = compile_file(path, options)
    floor, name = roofline(compiled.program, target), path.name.split(".")[0]
    chosen = [p.selection for p in compiled.built.parts]
    rows = [{"program": name, "by": "ours", **selected(chosen, floor, target)}]
    if unfused:
        try:
            singles = operator_by_operator(compiled.program, options)
            rows.append({"program": name, "by": "unfused", **selected(singles, floor, target)})
        except PrismError as error:
            print(f"{name}: no unfused row: {error.message}", file=sys.stderr)
    if triton and (found := peer(name, floor, target)) is not None:
        rows.append({"program": name, "by": "triton", **found})
    return rows


def operator_by_operator(program: Program, options: CompileOptions) -> list[Selection]:
    """Each operator of a program searched, chosen and built by itself.

    Raises :class:`~prism_mlir.graph.errors.CodegenError` for an operator for which there is no kernel.
    """
    found = []
    for k in range(len(program.nodes)):
        part = part_of(program, k, k + 1).program
        found.append(select(part, discover(part, options.limits, seed=options.seed).proved, options))
    return found


def selected(parts: list[Selection], floor: Roofline, target: Target) -> Row:
    """Columns of kernels that this project emitted."""
    launches, resources, texts = [], [], []
    for part in parts:
        for kernel, modelled in zip(part.kernel.launch.kernels, part.ranked.cost.kernels, strict=True):
            launches.append(emitted(kernel, part.kernel.ptx))
            registers = part.ptxas.registers if part.ptxas else modelled.registers
            spills = part.ptxas.spills if part.ptxas else None
            resources.append(Resources(registers, kernel.shared_bytes, spills, kernel.block[0]))
        texts.append(part.kernel.ptx)
    costs = [p.ranked.cost for p in parts]
    total = sum(c.total_us for c in costs)
    slowest = max(costs, key=lambda c: c.total_us)
    return {
        **summary([count(launch) for launch in launches], resources, texts, (floor.bytes, 2 * floor.fma), target),
        "dram/min": sum(c.dram_bytes for c in costs) / floor.bytes,
        "model us": total,
        "/floor": total / floor.total_us,
        "limiter": slowest.limiter,
        "schedules": [str(p.ranked.scheduled.schedule) for p in parts],
        "grids": [launch.grid for launch in launches],
    }


def emitted(kernel: KernelLaunch, ptx: str) -> Launch:
    """A launch of emitted code on buffers of its own."""
    arguments = tuple(zeros(a.shape, a.dtype.storage) for a in kernel.arguments)
    return Launch(ptx, kernel.entry, kernel.grid, kernel.block, kernel.shared_bytes, arguments)


def peer(name: str, floor: Roofline, target: Target) -> Row | None:
    """Columns of the kernels in Triton for a program; ``None`` where there are none."""
    from peers.table import PeerLaunch, peer_of

    found = peer_of(name)
    if found is None:
        return None

    def launch(one: PeerLaunch) -> Launch:
        given: list[Any] = [zeros(a[1], a[2]) if isinstance(a, tuple) else a for a in one.arguments]
        hidden = [zeros((1,), "uint8")] * one.compiled.hidden
        c = one.compiled
        return Launch(c.ptx, c.entry, one.grid, c.block, c.shared_bytes, (*given, *hidden))

    def held(one: PeerLaunch) -> Resources:
        c = one.compiled
        report = ptxas_check(c.ptx, target.arch)
        static = Module.load(c.ptx).kernel(c.entry).static_shared
        registers, spills = (report.registers, report.spills) if report else (LARGEST, None)
        return Resources(registers, static + c.shared_bytes, spills, c.block[0])

    texts = [one.compiled.ptx for one in found]
    counts = [count(launch(one)) for one in found]
    return {
        **summary(counts, [held(one) for one in found], texts, (floor.bytes, 2 * floor.fma), target),
        "grids": [one.grid for one in found],
    }


LARGEST = 255  # registers of a thread, where ptxas is missing and nothing else is known


def display(rows: list[Row]) -> list[Row]:
    """Rows as the tables show them."""
    shown = []
    for row in rows:
        counts = {name: row[name] / 1e3 for name in THOUSANDS}
        approximate = "" if row["even"] else " ≈"
        shown.append({**row, **counts, "by": row["by"] + approximate, "misses": " ".join(row["misses"])})
    return shown


if __name__ == "__main__":
    typer.run(main)
