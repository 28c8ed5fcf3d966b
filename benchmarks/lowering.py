"""Every proved graph to PTX: how many of the graphs that the search finds can be built, and how long building takes.

Each program of ``test/inputs/paper`` is searched for graphs of one kernel, of one kernel with loads outside the loop, and of two
kernels. Every proved graph is built at the best of a few schedules. ``no fit``: no schedule fits the GPU at these sizes (mostly
whole matrices in one block). ``no code``: there is no code for the graph. ``s/kernel``: processor time from the proved graph and
its schedule to PTX, for each kernel of it, without ptxas.

    python benchmarks/lowering.py [--only TEXT] [--samples N] [--json FILE]

Exit code 1 if there is a graph for which there is no code.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from harness.measure import cpu_seconds
from harness.report import Row, show, write

from prism_mlir.codegen.compile import compile_graph
from prism_mlir.compiler.discover import discover
from prism_mlir.frontend import import_file
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tune.choose import choose
from prism_mlir.tune.targets import find_target

PAPER = Path(__file__).resolve().parents[1] / "test" / "inputs" / "paper"
SPACES = {
    "one kernel": SearchLimits(),
    "loads outside": SearchLimits(invariant_loads=True),
    "two kernels": SearchLimits(kernels=2),
}
TARGET = find_target("sm_80")


NO_FIT = "no fit"


def build(program: Program, graph: KernelGraph, samples: int) -> tuple[float, str]:
    """Processor seconds of building the best schedule that can be built, for each kernel; and why none can, or ""."""
    made, refused = code_graphs(program, [graph])
    if refused:
        return 0.0, refused[0][1]
    try:
        ranked = choose(list(made), TARGET, program, samples=samples).ranked
    except PrismError:
        return 0.0, NO_FIT
    reason = ""
    for candidate in ranked[:8]:
        scheduled = candidate.scheduled
        try:
            took, _ = cpu_seconds(lambda s=scheduled: compile_graph(program, s.graph, s.schedule))
        except (PrismError, ScheduleError) as error:
            reason = getattr(error, "message", str(error))
            continue
        return took / len(scheduled.graph.nodes), ""
    return 0.0, reason


def row(path: Path, space: str, samples: int) -> Row:
    """A row: one program and one space of graphs."""
    program = import_file(path)
    graphs = discover(program, SPACES[space]).proved
    results = [build(program, g, samples) for g in graphs]
    reasons = Counter(reason for _, reason in results if reason)
    times = sorted(took for took, reason in results if not reason)
    return {
        "program": path.name.split(".")[0],
        "space": space,
        "graphs": len(graphs),
        "built": len(times),
        "s/kernel": median(times) if times else None,
        "slowest": times[-1] if times else None,
        "no fit": reasons.pop(NO_FIT, 0),
        "no code": sum(reasons.values()),
        "reasons": dict(reasons),
    }


def main(
    only: Annotated[str, typer.Option(help="Programs with this in their name.")] = "",
    space: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(SPACES)}.")] = None,
    samples: Annotated[int, typer.Option(help="Schedules to rank of each graph.")] = 40,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print a row for each program and space."""
    rows: list[Row] = []
    for path in sorted(PAPER.glob("*.mlir")):
        for name in space or SPACES:
            if only in path.name:
                rows.append(row(path, name, samples))
                write(rows, output)
    show(
        "Proved graphs that are built", rows, ("program", "space", "graphs", "built", "s/kernel", "slowest", "reasons")
    )
    raise typer.Exit(int(any(r["no code"] for r in rows)))


if __name__ == "__main__":
    typer.run(main)
