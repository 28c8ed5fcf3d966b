"""``prism explain``: what the search did, and what became of given graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from prism_mlir.compiler.executors import PROCESSES
from prism_mlir.tools import search_options as options

if TYPE_CHECKING:
    from prism_mlir.compiler.discover import Discovery
    from prism_mlir.compiler.explain import Answer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain_command)


def explain_command(
    source: Annotated[Path, typer.Argument(help="MLIR file with a linalg function or an sgraph.program.")],
    why: Annotated[
        list[Path] | None, typer.Option("--why", help="File with sgraph.graph ops: would the search find them?")
    ] = None,
    function: Annotated[str | None, typer.Option(help="Which program or function, where the file has several.")] = None,
    limit: options.Limit = None,
    time_limit: options.SearchTimeLimit = None,
    max_operators: options.MaxOperators = None,
    max_second_operators: options.MaxSecondOperators = None,
    max_kernels: options.MaxKernels = None,
    max_grid_dims: options.MaxGridDims = None,
    max_states: options.MaxStates = None,
    max_structures: options.MaxStructures = None,
    max_candidates: options.MaxCandidates = None,
    jobs: options.Jobs = 1,
    executor: options.Executor = PROCESSES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
    output: Annotated[Path | None, typer.Option("--json", help="Also write what is printed to this file.")] = None,
) -> None:
    """Search a program, and say what became of every candidate, and of given graphs.

    Ctrl-C ends the search; what it did so far is printed. Exit code 0, also where a graph of --why is not found.

    Example: prism explain examples/rms_norm.mlir --why graphs.mlir
    """
    from prism_mlir.compiler.discover import discover
    from prism_mlir.compiler.explain import why as answer
    from prism_mlir.compiler.task_pool import open_pool
    from prism_mlir.compiler.workers import Judge
    from prism_mlir.tools.files import write_atomically
    from prism_mlir.tools.problem import read_graphs, read_program

    limits = options.search_limits(
        limit,
        seconds=time_limit,
        operators=max_operators,
        second_operators=max_second_operators,
        kernels=max_kernels,
        grid_dims=max_grid_dims,
        states=max_states,
        structures=max_structures,
        candidates=max_candidates,
    )
    program = read_program(source, function)
    graphs = [(f"@{g.name}", g.graph) for path in why or [] for g in read_graphs(path)]
    with open_pool(executor, jobs) as pool:
        discovery = discover(program, limits, seed=seed, pool=pool)
    answers = answer(program, graphs, limits, discovery, Judge(program, seed)) if graphs else []
    console = Console(highlight=False, soft_wrap=True)
    _print(console, program.name, discovery, answers)
    if output is not None:
        data = {"program": program.name, "funnel": discovery.to_dict(), "why": [a.to_dict() for a in answers]}
        write_atomically(output, json.dumps(data, indent=2) + "\n")


def funnel_rows(discovery: Discovery) -> list[tuple[str, int]]:
    """The funnel from top to bottom: (what, how many). Stages that a search does not have are left out."""
    counts: dict[str, Any] = dict(discovery.to_dict()["counts"])  # type: ignore[call-overload]
    known = [name for name in _STAGES if name in counts]
    rejected = sorted(name for name in counts if name.startswith("rejected: "))
    rest = sorted(set(counts) - set(known) - set(rejected))
    rows = [*known[:1], *rejected, *known[1:]]
    rows[len(rows) - len(_VERDICTS) : len(rows) - len(_VERDICTS)] = rest
    return [(name, counts[name]) for name in rows]


_VERDICTS = ("refuted", "unknown", "proved")
_STAGES = (
    "states",
    "structures",
    "structures without a mapping",
    "first kernels",
    "saved sets",
    "two-kernel structures",
    "pairs tested at size 1",
    "pairs refuted at size 1",
    "cuts tested alone",
    "cuts refuted alone",
    "mappings",
    "mappings with a loop",
    "mappings with two kernels",
    *_VERDICTS,
)


def _print(console: Console, name: str, discovery: Discovery, answers: list[Answer]) -> None:
    table = Table("stage", "count", box=SIMPLE_HEAD, title=f"search of {name}", title_justify="left")
    table.columns[1].justify = "right"
    for what, count in funnel_rows(discovery):
        table.add_row(what, f"{count:,}")
    console.print(table)
    funnel = discovery.funnel
    for reason in funnel.stopped_by:
        console.print(f"stopped  {reason}", markup=False)
    for what in funnel.left:
        console.print(f"left     {what}", markup=False)
    for reason in _unknown_reasons(discovery):
        console.print(f"unknown  {reason}", markup=False)
    if funnel.complete:
        console.print("complete: everything within the limits was searched", markup=False)
    for answer in answers:
        rule = f" [{answer.rule}]" if answer.rule else ""
        console.print(f"{answer.name}: {'found' if answer.found else 'not found'}{rule}: {answer.text}", markup=False)


def _unknown_reasons(discovery: Discovery) -> list[str]:
    reasons = discovery.to_dict().get("unknown because", [])
    return [str(r) for r in reasons] if isinstance(reasons, list) else []
