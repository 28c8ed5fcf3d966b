"""``prism cost``: what the model says of one schedule, term by term, and of the best schedules side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from prism_mlir.tools import options as opt
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal, new_table, print_table
from prism_mlir.tools.usage import UsageError
from prism_mlir.tune.targets import DEFAULT_TARGET

if TYPE_CHECKING:
    from prism_mlir.compiler.costing import CostReport
    from prism_mlir.tune.explain_cost import Explanation, Term, Value


def register(app: typer.Typer) -> None:
    """Add the command."""
    example = "prism cost examples/rms_norm.mlir --graph 8 --schedule x=2,y=32,i=2,warps=2,stages=2 --counters"
    app.command("cost", epilog=f"Example: {example}")(flat(cost_command))


def cost_command(
    source: opt.SourceOrProgram,
    *,
    search: opt.Search,
    workers: opt.Workers,
    terminal: Terminal,
    graph: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of a proved graph, from 1; by default the chosen one.", show_default=False
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(help="Sizes and choices of a schedule; by default the chosen one.", metavar="x=2,i=2,warps=2,..."),
    ] = None,
    compare: Annotated[
        int | None, typer.Option(min=1, help="Rank the best K schedules side by side.", metavar="K", show_default=False)
    ] = None,
    counters: Annotated[bool, typer.Option("--counters", help="Also from counts of the emitted code.")] = False,
    target: opt.Target = DEFAULT_TARGET,
    function: opt.Function = None,
    time_limit: opt.SearchTimeLimit = None,
    samples: opt.Samples = opt.SAMPLES,
    seed: opt.Seed = 0,
    output: opt.JsonFile = None,
) -> None:
    """Explain the modelled time of one schedule of a program, cold and warm; or rank schedules.

    The program is searched as a whole, as compile does with programs that need no cutting.
    """
    if compare is not None and schedule is not None:
        raise UsageError("--compare ranks schedules, and --schedule names one", None, "give one of the two")
    given = None if schedule is None else parse_schedule(schedule)
    limits = search.limits(time_limit)
    opt.check_source(source)
    with terminal.working("loading") as show:
        from prism_mlir.compiler.costing import compare as compared
        from prism_mlir.compiler.costing import proved_graphs, report
        from prism_mlir.compiler.options import CompileOptions
        from prism_mlir.tools.files import check_file
        from prism_mlir.tools.problem import read_program

        check_file(output)
        told = CompileOptions(
            target=target, limits=limits, samples=samples, seed=seed, jobs=workers.jobs, executor=workers.executor
        )
        found = proved_graphs(read_program(source, function), told, show)
        show("ranking schedules")
        if compare is None:
            explained = report(found, graph, given, counters=counters)
        else:
            rows = compared(found, graph, compare, counters=counters)
    if compare is None:
        _print(terminal.console, explained)
        terminal.result("cost", explained.to_dict(), output)
    else:
        _print_rows(terminal.console, rows)
        data = {"program": found.program.name, "target": target, "candidates": rows}
        terminal.result("cost.compare", data, output)


def parse_schedule(text: str) -> Mapping[str, str]:
    """Names and values of ``x=2,y=32,warps=2``. Raises :class:`UsageError` for other text.

    >>> parse_schedule("x=2, warps=4")
    {'x': '2', 'warps': '4'}
    """
    found: dict[str, str] = {}
    for pair in filter(None, (p.strip() for p in text.split(","))):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or not value:
            raise UsageError(f"'{pair}' is no part of a schedule", None, "write x=2,i=4,warps=2,stages=2")
        if name in found:
            raise UsageError(f"the schedule names {name} twice", None, "give each name once")
        found[name] = value
    return found


def _print(console: Console, explained: CostReport) -> None:
    lines = [
        f"{explained.program} on {explained.target}",
        f"graph {explained.number} of {explained.proved}: {explained.graph}",
        f"schedule {explained.schedule}",
    ]
    for text in lines:
        console.print(text, markup=False)
    for explanation in filter(None, (explained.model, explained.counters)):
        _print_explanation(console, explanation)
    console.print("roofline")
    _print_terms(console, explained.floor)


def _print_explanation(console: Console, explanation: Explanation) -> None:
    for kernel in explanation.kernels:
        cold, warm = kernel.limiter
        by = cold if cold == warm else f"{cold}, when warm by {warm}"
        console.print(f"{explanation.source}: {kernel.title}, limited by {by}", markup=False)
        _print_terms(console, kernel.terms)
    console.print(f"{explanation.source}: {_kernels(len(explanation.kernels))}", markup=False)
    _print_terms(console, explanation.totals)


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count} kernels"


def _print_terms(console: Console, terms: Sequence[Term]) -> None:
    table = new_table("term", "cold", "warm", "unit", "", wrap="")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for term in terms:
        table.add_row(
            term.name, cell(term.cold), "" if term.warm == term.cold else cell(term.warm), term.unit, term.note
        )
    print_table(console, table)


def _print_rows(console: Console, rows: Sequence[Mapping[str, Value]]) -> None:
    table = new_table("rank", *rows[0])
    for rank, row in enumerate(rows, 1):
        table.add_row(str(rank), *(cell(value) for value in row.values()))
    print_table(console, table)


def cell(value: Value) -> str:
    """A number as people read it.

    >>> cell(1048576), cell(5.4567), cell(1234.5), cell("dram")
    ('1,048,576', '5.46', '1,234', 'dram')
    """
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value
