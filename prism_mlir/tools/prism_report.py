"""``prism report``: one page about a compilation, from the folder that ``prism compile`` wrote."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from prism_mlir.graph.errors import InputError, Location


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report_command)


def report_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that prism compile -o wrote.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The page; DIR/report.html if not given, - is standard output."
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Certificate to show; DIR/certificate.json if there is one.", show_default=False
        ),
    ] = None,
    counters: Annotated[
        bool, typer.Option(help="Run blocks of the kernels on the PTX machine and count what each line does.")
    ] = True,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Make one self-contained HTML page of everything that a compilation found, proved, chose and checked.

    The page loads nothing from elsewhere.

    Example: prism report out/rms_norm -o rms_norm.html
    """
    from prism_mlir.report.page import render
    from prism_mlir.tools.files import write_atomically
    from prism_mlir.tools.report_folder import read_folder

    contents = read_folder(folder, certificate, count=counters)
    try:
        page = render(contents)
    except InputError as error:
        raise InputError(
            error.message, error.location or Location(str(folder / "report.json"), 1, 1), "compile the program again"
        ) from None
    if output is not None and str(output) == "-":
        sys.stdout.write(page)
        return
    path = output or folder / "report.html"
    write_atomically(path, page)
    if not quiet:
        for text in contents.absent.values():
            print(f"note     {text}")
        print(f"wrote    {path} ({len(page.encode()) / 1e6:.2f} MB)")
