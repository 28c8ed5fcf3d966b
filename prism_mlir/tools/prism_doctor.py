"""``prism doctor``: what is installed, what is missing, and what each missing part costs."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from prism_mlir.tools.terminal import new_table, plain_console, step_status


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor_command)


def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Try every part of Prism on this machine; say what is missing, what that costs, and what to do.

    Exit code 1 where something that is needed does not work.

    Example: prism doctor --json
    """
    from prism_mlir.tools.doctor import State, examine

    console = plain_console()
    with step_status(console) as progress:
        findings = []
        for finding in examine():
            progress(f"tried {finding.part}")
            findings.append(finding)
    broken = [f for f in findings if f.state is State.BROKEN and f.group != "optional"]
    if as_json:
        print(json.dumps([f.to_dict() for f in findings], indent=2))
    else:
        table = new_table("", "part", "state", "found")
        group = ""
        for f in findings:
            table.add_row(f.group if f.group != group else "", f.part, f.state.value, f.found)
            group = f.group
        console.print(table)
        for f in findings:
            if f.state is not State.OK:
                console.print(f"{f.part}: without it, {f.cost}; {f.advice}", markup=False)
        if not broken:
            console.print("all that is needed works")
    if broken:
        raise typer.Exit(1)
