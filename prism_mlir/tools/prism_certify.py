"""``prism certify``: a second opinion on what was proved, by a checker that shares no code with the prover."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from prism_mlir.graph.errors import InputError, Location
from prism_mlir.tools import options as opt
from prism_mlir.tools.files import read_json
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal, new_table, print_table
from prism_mlir.tools.usage import Exit

if TYPE_CHECKING:
    from prism_mlir.certify.check import Checked


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("certify", epilog="Example: prism certify proof.json graphs.mlir")(flat(certify_command))


def certify_command(
    certificate: Annotated[
        Path,
        typer.Argument(metavar="PROOF.json", help="File written by prism verify --certificate.", parser=opt.path),
    ],
    source: opt.SourceWithGraphs,
    *,
    terminal: Terminal,
    graph: opt.Graphs = None,
    function: opt.Function = None,
    trials: Annotated[
        int, typer.Option(min=1, max=12, metavar="N", help="Sizes to try in exact arithmetic, for each graph.")
    ] = 12,
    seed: opt.Seed = 1,
) -> None:
    """Check a certificate with a checker that shares no code with the prover.

    It follows the chain of rule applications step by step, and compares graph and program in exact arithmetic at many sizes.
    Exit code 0 only if every graph has a certificate, and every claim in it holds.
    """
    opt.check_source(source)
    with terminal.working("loading") as show:
        from prism_mlir.certify.check import check_certificate
        from prism_mlir.certify.sizes import Refused
        from prism_mlir.tools.problem import read_problem
        from prism_mlir.verify.explain import graph_data, program_data

        data = read_json(certificate)
        problem = read_problem(source, graph or [], function)
        graphs = {g.name: graph_data(g.graph) for g in problem.graphs}
        show(f"checking {len(graphs)} graphs")
        try:
            checked = check_certificate(data, program_data(problem.program), graphs, trials=trials, seed=seed)
        except Refused as error:
            place = Location(str(certificate), 1, 1)
            raise InputError(error.message, place, "the certificate does not hold") from None
    print_table(terminal.console, _certified_table(checked))
    counted = f"{len(checked)} of {len(problem.graphs)} graphs have a certificate"
    terminal.console.print(f"{counted}, and every claim in it holds")
    rows = [_checked_data(c) for c in checked]
    terminal.result("certify", {"program": problem.name, "given": len(problem.graphs), "graphs": rows})
    raise typer.Exit(Exit.OK if len(checked) == len(problem.graphs) else Exit.FAILED)


def _certified_table(checked: Sequence[Checked]) -> Table:
    table = new_table("graph", "chain", "axioms used", "sizes tried", "error bound", "note", wrap="note")
    for c in checked:
        chain = "none" if c.chain is None else f"{c.chain} steps"
        tried = 0 if c.evidence is None else len(c.evidence.trials)
        bound = _bound(None if c.evidence is None else c.evidence.log10_bound)
        table.add_row(f"@{c.name}", chain, str(len(c.rules)), str(tried), bound, c.note)
    return table


def _checked_data(c: Checked) -> dict[str, Any]:
    return {
        "graph": c.name,
        "chain_steps": c.chain,
        "rules_used": list(c.rules),
        "sizes_tried": 0 if c.evidence is None else len(c.evidence.trials),
        "log10_error_bound": None if c.evidence is None else c.evidence.log10_bound,
        "note": c.note,
    }


def _bound(log10: float | None) -> str:
    return "" if log10 is None else f"1e{round(log10)}"
