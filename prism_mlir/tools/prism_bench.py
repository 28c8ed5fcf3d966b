"""``prism bench``: kernels against PyTorch and Triton on this machine's GPU, as in the paper's Figure 6."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_mlir.graph.errors import ExecutionError, MissingToolError
from prism_mlir.tools import bench_rows as rows
from prism_mlir.tools import options as opt
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal
from prism_mlir.tools.usage import Interrupted, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from prism_mlir.runtime.bundle.worker import Worker

MINUTES = 10.0
HINT = "make a bundle for a machine that has one (prism bundle), or show its results with --read"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench", epilog="Example: prism bench --paper --peers torch,compile,triton")(flat(bench_command))


def bench_command(
    files: opt.Sources = None,
    *,
    rows_wanted: rows.Rows,
    workers: opt.Workers,
    terminal: Terminal,
    read: Annotated[
        Path | None,
        typer.Option("--read", metavar="FILE", help="Show the results that run.py of a bundle wrote.", parser=opt.path),
    ] = None,
    time_limit: Annotated[float | None, opt.time_limit("Time to measure in, 10min if not given")] = None,
    output: opt.JsonFile = None,
) -> None:
    """Measure kernels, and what they are compared with, in one run on this machine's GPU.

    Every kernel is checked before it is timed and after. Without a GPU, --read shows what another machine measured.
    """
    from prism_mlir.tools.files import check_file

    check_file(output)
    if read is not None:
        if files or rows_wanted.paper or output is not None:
            raise UsageError("--read shows results that are there", None, "leave the files and -o out, or --read")
        from prism_mlir.tools.bench_table import print_result, read_result

        result = read_result(read)
    else:
        want = rows_wanted.of(files or [], workers)
        with terminal.working("looking for a GPU") as progress:
            from prism_mlir.tools.bench_table import print_result

            worker = open_worker()
            minutes = MINUTES if time_limit is None else time_limit / 60
            result = measure(want, worker, minutes, output, progress)
    print_result(terminal.console, result)
    terminal.result("bench", result)


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
        raise Interrupted(f"what was measured so far is in '{output}'") from None
    finally:
        worker.close()
