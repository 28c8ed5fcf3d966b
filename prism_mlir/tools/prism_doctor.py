"""``prism doctor``: what is installed, what is missing, and what each missing part costs."""

from __future__ import annotations

import typer

from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal, new_table, print_table
from prism_mlir.tools.usage import Exit


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", epilog="Example: prism doctor --json")(flat(doctor_command))


def doctor_command(*, terminal: Terminal) -> None:
    """Try every part of Prism on this machine; say what is missing, what that costs, and what to do.

    Exit code 1 where something that is needed does not work.
    """
    with terminal.working("starting") as progress:
        from prism_mlir.tools.doctor import State, examine

        findings = []
        for finding in examine():
            findings.append(finding)
            progress(f"tried {finding.part}")
    broken = [f for f in findings if f.state is State.BROKEN and f.group in ("needed", "works")]
    console = terminal.console
    table = new_table("", "part", "state", "found", wrap="found")
    group = ""
    for f in findings:
        table.add_row(f.group if f.group != group else "", f.part, f.state.value, f.found)
        group = f.group
    print_table(console, table)
    for f in findings:
        if f.state is not State.OK:
            console.print(f"{f.part}: without it, {f.cost}; {f.advice}", markup=False)
    if not broken:
        console.print("all that is needed works")
    terminal.result("doctor", {"works": not broken, "parts": [f.to_dict() for f in findings]})
    if broken:
        raise typer.Exit(Exit.FAILED)
