"""``prism bundle``: kernels, checks and a program that measures them, for a GPU machine without Prism or network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_mlir.tools import bench_rows as rows
from prism_mlir.tools import options as opt
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal

if TYPE_CHECKING:
    from prism_mlir.compiler.measured_row import MeasuredRow


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bundle", epilog="Example: prism bundle bundle.tar.gz examples/rms_norm.mlir")(flat(bundle_command))


def bundle_command(
    output: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Folder, or file that ends in .tar.gz, .tgz or .zip.", parser=opt.path),
    ],
    files: opt.Sources = None,
    *,
    rows_wanted: rows.Rows,
    workers: opt.Workers,
    terminal: Terminal,
    force: opt.Force = False,
) -> None:
    """Pack kernels for a machine with a GPU, which measures them with one command: python run.py.

    That machine needs Python 3.9, NumPy and cuda-python, and no network; torch is measured where it is installed. It writes one
    JSON file, which prism bench --read shows.
    """
    from prism_mlir.tools.archive import check_writable, write_tree

    check_writable(output, force=force)
    want = rows_wanted.of(files or [], workers)
    with terminal.working("loading") as progress:
        from prism_mlir.compiler.bundle import bundle_files

        built = rows.build_rows(want, progress)
        progress("packing")
        packed = bundle_files(built, want.target)
        write_tree(output, packed, force=force)
    size = sum(map(len, packed.values()))
    _print(terminal, built, output, size)
    terminal.result("bundle", {"output": str(output), "bytes": size, "programs": [_row_data(row) for row in built]})


def _row_data(row: MeasuredRow) -> dict[str, Any]:
    return {"name": row.name, "candidates": len(row.candidates), "left_out": list(row.left_out)}


def _print(terminal: Terminal, built: list[MeasuredRow], output: Path, size: int) -> None:
    from prism_mlir.tools.archive import is_archive

    candidates = sum(len(row.candidates) for row in built)
    counted = f"{len(built)} program{'s' * (len(built) != 1)}, {candidates} candidate{'s' * (candidates != 1)}"
    where = "the folder in it" if is_archive(output) else "that folder"
    lines = [
        f"packed   {counted}, {size / 1e6:.1f} MB, in {output}",
        *(f"left out {row.name}: {reason}" for row in built for reason in row.left_out),
        f"measure  python run.py --minutes 5, in {where} on a machine with a GPU",
        "show     prism bench --read results.json",
    ]
    for line in lines:
        terminal.console.print(line, markup=False)
