"""``prism explain``: what the search did, and what became of given graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from prism_mlir.tools import options as opt
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.search_options import with_advice
from prism_mlir.tools.terminal import Terminal, new_table, print_table
from prism_mlir.tools.usage import Interrupted

if TYPE_CHECKING:
    from prism_mlir.compiler.discover import Discovery
    from prism_mlir.compiler.explain import Answer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", epilog="Example: prism explain examples/rms_norm.mlir --why graphs.mlir")(
        flat(explain_command)
    )


def explain_command(
    source: opt.SourceOrProgram,
    *,
    search: opt.Search,
    workers: opt.Workers,
    terminal: Terminal,
    why: Annotated[
        list[Path] | None,
        typer.Option(
            "--why", metavar="FILE", help="File with sgraph.graph ops: would the search find them?", parser=opt.path
        ),
    ] = None,
    function: opt.Function = None,
    time_limit: opt.SearchTimeLimit = None,
    seed: opt.Seed = 0,
    output: opt.JsonFile = None,
) -> None:
    """Search a program, and say what became of every candidate, and of given graphs.

    Exit code 0, also where a graph of --why is not found. Ctrl-C ends the search, and what it did so far is printed.
    """
    limits = search.limits(time_limit)
    opt.check_source(source)
    with terminal.working("loading") as show:
        from prism_mlir.compiler.discover import discover
        from prism_mlir.compiler.explain import why as answer
        from prism_mlir.compiler.task_pool import open_pool
        from prism_mlir.compiler.workers import Judge
        from prism_mlir.tools.files import check_file
        from prism_mlir.tools.problem import read_graphs, read_program

        check_file(output)
        program = read_program(source, function)
        graphs = [(f"@{g.name}", g.graph) for path in why or [] for g in read_graphs(path)]
        with open_pool(workers.executor, workers.jobs) as pool:
            discovery = discover(program, limits, seed=seed, pool=pool, progress=show)
        show("looking for the given graphs")
        answers = answer(program, graphs, limits, discovery, Judge(program, seed)) if graphs else []
    _print(terminal.console, program.name, discovery, answers)
    data = {"program": program.name, "funnel": discovery.to_dict(), "why": [a.to_dict() for a in answers]}
    terminal.result("explain", data, output)
    if discovery.interrupted:
        raise Interrupted("what the search did so far is printed")


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
    console.print(f"search of {name}", markup=False)
    table: Table = new_table("stage", "count")
    table.columns[1].justify = "right"
    for what, count in funnel_rows(discovery):
        table.add_row(what, f"{count:,}")
    print_table(console, table)
    funnel = discovery.funnel
    for reason in funnel.stopped_by:
        console.print(f"stopped  {with_advice(reason)}", markup=False)
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
