"""``prism report``: one page about a compilation, from the folder that ``prism compile`` wrote."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_mlir.graph.errors import InputError, Location
from prism_mlir.tools import options as opt
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal
from prism_mlir.tools.usage import UsageError

if TYPE_CHECKING:
    from prism_mlir.report.contents import Contents

STDOUT = "-"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", epilog="Example: prism report out/rms_norm -o rms_norm.html")(flat(report_command))


def report_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that prism compile -o wrote.", parser=opt.path)],
    *,
    terminal: Terminal,
    output: Annotated[Path | None, opt.output("The page; DIR/report.html if not given, - is standard output.")] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="Certificate to show; DIR/certificate.json if not given and there.",
            parser=opt.path,
        ),
    ] = None,
    counters: Annotated[
        bool,
        typer.Option(
            "--counters/--no-counters", help="Run blocks of the kernels and count what each line of PTX does."
        ),
    ] = True,
) -> None:
    """Make one self-contained HTML page of what a compilation found, proved, chose, emitted and checked.

    The page loads nothing from elsewhere. A section whose data the folder lacks says so.
    """
    printed = str(output) == STDOUT
    if printed and terminal.as_json:
        raise UsageError("--json and -o - both want standard output", None, "give one of the two")
    path = folder / "report.html" if output is None else output
    with terminal.working("loading") as show:
        from prism_mlir.tools.files import check_file, write_atomically
        from prism_mlir.tools.report_folder import read_folder

        contents = read_folder(folder, certificate, count=counters, progress=show)
        if not printed:
            check_file(path)
        show("drawing")
        page = _page(folder, contents)
        if not printed:
            write_atomically(path, page)
    if printed:
        sys.stdout.write(page)
        return
    for text in contents.absent.values():
        terminal.console.print(f"missing  {text}", markup=False)
    size = len(page.encode())
    terminal.console.print(f"wrote    {path} ({size / 1e6:.2f} MB)", markup=False)
    terminal.result("report", {"output": str(path), "bytes": size, "missing": dict(contents.absent)})


def _page(folder: Path, contents: Contents) -> str:
    from prism_mlir.report.page import render

    try:
        return render(contents)
    except InputError as error:
        place = error.location or Location(str(folder / "report.json"), 1, 1)
        raise InputError(error.message, place, "compile the program again") from None
