"""``prism bundle``: kernels, checks and a program that measures them, for a GPU machine without Prism or network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from prism_mlir.tools import bench_rows as rows


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bundle")(bundle_command)


def bundle_command(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="New folder, or file that ends in .tar.gz or .zip.")],
    files: rows.Files = None,
    paper: rows.Paper = False,
    peers: rows.Peers = None,
    target: rows.Target = "sm_80",
    schedules: rows.Schedules = 4,
    jobs: rows.Jobs = 1,
    check: rows.Check = True,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Pack kernels for a machine with a GPU, which measures them with one command: python run.py.

    That machine needs Python 3.9, NumPy and cuda-python, and no network; torch is measured where it is installed. It writes one
    JSON file, which prism bench --read shows.

    Example: prism bundle bundle.tar.gz --paper
    """
    from prism_mlir.compiler.bundle import bundle_files
    from prism_mlir.tools.archive import check_writable, write_tree
    from prism_mlir.tools.terminal import step_status

    check_writable(output)
    want = rows.wanted(files or [], paper, peers, target, schedules, jobs, check)
    console = Console(quiet=quiet, highlight=False, soft_wrap=True)
    with step_status(console) as progress:
        built = rows.build_rows(want, progress)
    packed = bundle_files(built, target)
    write_tree(output, packed)
    candidates = sum(len(row.candidates) for row in built)
    size = sum(map(len, packed.values())) / 1e6
    console.print(f"packed   {len(built)} programs, {candidates} candidates, {size:.1f} MB, in {output}", markup=False)
    for row in built:
        for reason in row.left_out:
            console.print(f"left out {row.name}: {reason}", markup=False)
    console.print("measure  python run.py --minutes 5, in that folder on a machine with a GPU", markup=False)
    console.print("show     prism bench --read results.json", markup=False)
