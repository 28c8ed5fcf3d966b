"""Quality of the emitted sm_80 kernels: exact counts of the PTX machine, what ptxas says, and modelled times. No GPU.

Each program of ``test/inputs`` stands in up to four rows: the kernels that ``prism compile`` chooses (``ours``), the same
program with each operator as a kernel of its own, by the same code generator (``unfused``), kernels written by hand in Triton
(``triton``, the fastest of a few configurations), and what IREE makes of it (``iree``); the last two with the extras of those
names. All rows of a table are made in one run, and their times come from one yardstick (``prism_mlir.tune.counted``).

global/min: bytes between the SMs and L2 over inputs once and outputs once. dram/min: the same of DRAM, each buffer once unless
L2 still holds it. sectors/request, conflicts (bank-conflict wavefronts of all), warp instructions in thousands, mma operations
over those of the program's products; registers, shared memory, spills and occupancy of the worst kernel. cold us, warm us: the
yardstick, launches included, with L2 empty before each kernel, and with what earlier kernels of the row left there; /floor:
cold over the roofline, one launch included; cost us: what the compiler's own cost model said of the kernels it chose. issue us,
shared us: what the busiest SM needs only to issue the counted instructions, and for the counted shared-memory wavefronts.

    python benchmarks/kernel_quality.py [--only WORD ...] [--set paper|programs|frameworks ...] [--no-unfused] [--no-triton]
                                        [--no-iree] [--json FILE]
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from harness.quality import GROUPS, compare, summary, verdict
from harness.report import Row, show, write
from peers.iree import COMPILE, CONFIGURATIONS, IreeLaunch, compile_program

from prism_mlir.codegen.external import ptxas_check
from prism_mlir.compiler.counting import Launch, Resources, count, emitted, held, zeros
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.parts import BuiltPart, join_launches
from prism_mlir.compiler.pipeline import compile_file
from prism_mlir.compiler.select import select
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.program import Program
from prism_mlir.runtime.ptx import Module, PtxError
from prism_mlir.search.partition import part_of
from prism_mlir.tune.counted import Buffer
from prism_mlir.tune.roofline import Roofline, roofline
from prism_mlir.tune.targets import Target, find_target

if TYPE_CHECKING:
    from peers.table import PeerLaunch

INPUTS = Path(__file__).resolve().parents[1] / "test" / "inputs"
SETS = ("paper", "programs", "frameworks")
WORK = ("kernels", "global/min", "dram/min", "sectors/request", "conflicts", "narrow", "flops/needed", "misses")
HELD = ("registers", "shared", "spills", "occupancy", "issue us", "shared us")
TIMES = ("cold us", "/floor", "limiter", "warm us", "cost us", "ratio", "warm ratio", "best other")
THOUSANDS = (*GROUPS, "other")


def main(
    only: Annotated[list[str] | None, typer.Option(help="Only programs whose name holds this word.")] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", help="Folders of test/inputs; by default all.")] = None,
    unfused: Annotated[bool, typer.Option(help="Also each operator as a kernel of its own.")] = True,
    triton: Annotated[bool, typer.Option(help="Also the peers in Triton.")] = True,
    iree: Annotated[bool, typer.Option(help="Also what IREE makes of each program.")] = True,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Compile, count, and print the table."""
    if triton and importlib.util.find_spec("triton") is None:
        print("triton rows are skipped: install the `triton` extra", file=sys.stderr)
        triton = False
    if iree and not COMPILE.exists():
        print("iree rows are skipped: install the `iree` extra", file=sys.stderr)
        iree = False
    options = CompileOptions(check=False)
    target = find_target(options.target)
    rows: list[Row] = []
    for folder in sets or SETS:
        for path in sorted((INPUTS / folder).glob("*.mlir")):
            if not only or any(word in path.name for word in only):
                rows += rows_of(path, options, target, Others(unfused, triton, iree))
                write(rows, output)  # what is there already, should the run be stopped
                print(f"{len(rows)} rows, {path.name}", file=sys.stderr)
    note = "narrow: instructions of the text × bytes that access fewer than 16 bytes of global memory a thread"
    show("Kernel quality: what is moved and computed", display(rows), ("program", "by", *WORK), note)
    show("Kernel quality: thousands of warp instructions", display(rows), ("program", "by", *THOUSANDS))
    show("Kernel quality: resources", display(rows), ("program", "by", *HELD))
    show("Kernel quality: modelled time", display(rows), ("program", "by", *TIMES))
    print("\n".join(verdict(rows)))


@dataclass(frozen=True, slots=True)
class Others:
    """Which rows there are beside ours."""

    unfused: bool
    triton: bool
    iree: bool


def rows_of(path: Path, options: CompileOptions, target: Target, others: Others) -> list[Row]:
    """The rows of one program."""
    compiled = compile_file(path, options)
    floor, name = roofline(compiled.program, target), path.name.split(".")[0]
    rows = [{"program": name, "by": "ours", **built(compiled.program, compiled.built.parts, floor, target)}]
    if others.unfused:
        try:
            singles = operator_by_operator(compiled.program, options)
            rows.append({"program": name, "by": "unfused", **built(compiled.program, singles, floor, target)})
        except PrismError as error:
            print(f"{name}: no unfused row: {error.message}", file=sys.stderr)
    if others.triton and (found := peer(name, floor, target)) is not None:
        rows.append({"program": name, "by": "triton", **found})
    if others.iree and (found := iree_row(path, floor, target)) is not None:
        rows.append({"program": name, "by": "iree", **found})
    return compare(rows)


def operator_by_operator(program: Program, options: CompileOptions) -> list[BuiltPart]:
    """Each operator of a program searched, chosen and built by itself.

    Raises :class:`~prism_mlir.graph.errors.CodegenError` for an operator for which there is no kernel.
    """
    found = []
    for k in range(len(program.nodes)):
        part = part_of(program, k, k + 1)
        discovery = discover(part.program, options.limits, seed=options.seed)
        found.append(BuiltPart(part, discovery, select(part.program, discovery.proved, options)))
    return found


def built(program: Program, parts: Sequence[BuiltPart], floor: Roofline, target: Target) -> Row:
    """Columns of kernels that this project emitted."""
    kernels = iter(join_launches(program, parts).kernels)
    launches, resources = [], []
    for part in (p.selection for p in parts):
        for modelled in part.ranked.cost.kernels:
            kernel = next(kernels)
            launches.append(emitted(kernel, part.kernel.ptx))
            resources.append(held(kernel, part.kernel.ptx, target.arch, modelled.registers))
    return {
        **summary(launches, [count(launch) for launch in launches], resources, floor, target),
        "cost us": sum(p.selection.ranked.cost.total_us for p in parts),
        "schedules": [str(p.selection.ranked.scheduled.schedule) for p in parts],
    }


def peer(name: str, floor: Roofline, target: Target) -> Row | None:
    """Columns of the fastest configuration of the kernels in Triton for a program; ``None`` where there are none."""
    from peers.table import peers_of

    found: list[Row] = []
    for label, launches in peers_of(name):
        ready = [peer_launch(one) for one in launches]
        found.append(others_row(ready, label, floor, target))
    return fastest(found)


def iree_row(path: Path, floor: Roofline, target: Target) -> Row | None:
    """Columns of what IREE makes of a program; ``None``, and the reason on stderr, where it makes nothing that can be counted."""
    found: list[Row] = []
    for label, flags in CONFIGURATIONS.items():
        try:
            ready = [iree_launch(one) for one in compile_program(path, flags)]
            found.append(others_row(ready, label, floor, target))
        except (ValueError, PtxError) as error:
            print(f"{path.name}: no iree row ({label}): {error}", file=sys.stderr)
    return fastest(found)


def fastest(rows: Sequence[Row]) -> Row | None:
    """The row of least time, of those that do not spill; of equals, the one with the least work beside memory."""
    fit = [row for row in rows if row["cold us"] is not None]
    return min(fit, key=lambda row: (round(row["cold us"], 3), sum(sum(k[:2]) for k in row["terms"])), default=None)


def others_row(launches: Sequence[Launch], label: str, floor: Roofline, target: Target) -> Row:
    """Columns of kernels that another compiler made, in a configuration of that name."""
    counted = [count(launch) for launch in launches]
    resources = [others_resources(launch, target) for launch in launches]
    return {**summary(launches, counted, resources, floor, target), "schedules": [label]}


def peer_launch(one: PeerLaunch) -> Launch:
    """A launch of a peer on buffers of its own."""
    arguments: list[Any] = [zeros(a[1], a[2]) if isinstance(a, tuple) else a for a in one.arguments]
    hidden = [zeros((1,), "uint8")] * one.compiled.hidden
    buffers = tuple(Buffer(a[0], prod(a[1]) * np.dtype(a[2]).itemsize) for a in one.arguments if isinstance(a, tuple))
    c = one.compiled
    return Launch(c.ptx, c.entry, one.grid, c.block, c.shared_bytes, (*arguments, *hidden), buffers)


def iree_launch(one: IreeLaunch) -> Launch:
    """A launch of IREE's on buffers of its own."""
    arguments = (*(zeros((size,), "uint8") for _, size in one.buffers), *one.numbers)
    buffers = tuple(Buffer(name, size) for name, size in one.buffers)
    return Launch(one.ptx, one.entry, one.grid, one.block, one.shared_bytes, arguments, buffers)


def others_resources(launch: Launch, target: Target) -> Resources:
    """What ptxas says of a kernel that is the only one of its text."""
    report = ptxas_check(launch.ptx, target.arch)
    static = Module.load(launch.ptx).kernel(launch.entry).static_shared
    registers, spills = (report.registers, report.spills) if report else (LARGEST, None)
    return Resources(registers, static + launch.shared_bytes, spills, prod(launch.block))


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
