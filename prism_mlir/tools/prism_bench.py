"""``prism bench``: kernels against PyTorch and Triton on this machine's GPU, as in the paper's Figure 6."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from prism_mlir.graph.errors import ExecutionError, InputError, MissingToolError
from prism_mlir.tools import bench_rows as rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from prism_mlir.runtime.bundle.worker import Worker

HINT = "make a bundle for a machine that has one (prism bundle), or show its results with --read"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench_command)


def bench_command(
    files: rows.Files = None,
    paper: rows.Paper = False,
    peers: rows.Peers = None,
    read: Annotated[
        Path | None, typer.Option("--read", metavar="FILE", help="Show the results that run.py of a bundle wrote.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Also write the results to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
    target: rows.Target = "sm_80",
    schedules: rows.Schedules = 4,
    minutes: rows.Minutes = 10.0,
    jobs: rows.Jobs = 1,
    check: rows.Check = True,
) -> None:
    """Measure kernels, and what they are compared with, in one run on this machine's GPU.

    Every kernel is checked before it is timed and after. Without a GPU, --read shows what another machine measured.

    Example: prism bench --paper --peers torch,compile,triton
    """
    from prism_mlir.tools.bench_table import print_result, read_result
    from prism_mlir.tools.terminal import plain_console, step_status

    if read is not None:
        if files or paper:
            raise InputError("--read shows results that are there", None, "leave the files out, or --read")
        result = read_result(read)
    else:
        want = rows.wanted(files or [], paper, peers, target, schedules, jobs, check)
        worker = open_worker()
        with step_status(Console(stderr=True, highlight=False)) as progress:
            result = measure(want, worker, minutes, output, progress)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print_result(plain_console(), result)


def open_worker() -> Worker:
    """What measures on the first GPU. Raises :class:`MissingToolError` where there is none."""
    from prism_mlir.runtime.bundle.command import worker_command
    from prism_mlir.runtime.bundle.driver import NoDriver
    from prism_mlir.runtime.bundle.worker import Child

    worker = Child(worker_command())
    try:
        worker.device()
    except NoDriver as error:
        worker.close()
        raise MissingToolError(error.message, None, HINT) from None
    return worker


def measure(
    want: rows.Wanted, worker: Worker, minutes: float, output: Path | None, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Build everything, then measure it. Raises what building raises, and :class:`ExecutionError` where measuring breaks off."""
    from prism_mlir.compiler.bundle import bundle_files
    from prism_mlir.runtime.bundle.command import measure_all, read_manifest
    from prism_mlir.runtime.bundle.driver import GpuError
    from prism_mlir.runtime.bundle.measure import Settings
    from prism_mlir.tools.archive import write_tree

    try:
        packed = bundle_files(rows.build_rows(want, progress), want.target)
        with tempfile.TemporaryDirectory(prefix="prism-bench-") as scratch:
            folder = Path(scratch) / "bundle"
            write_tree(folder, packed)
            manifest, settings = read_manifest(folder), Settings()
            return measure_all(manifest, folder, worker, settings, minutes=minutes, output=output, say=progress)
    except GpuError as error:
        raise ExecutionError(str(error)) from None
    except KeyboardInterrupt:
        if output is None or not output.exists():
            raise
        raise ExecutionError(f"interrupted; what was measured so far is in {output}") from None
    finally:
        worker.close()
