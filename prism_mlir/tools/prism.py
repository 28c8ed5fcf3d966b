"""``prism``: the command line. ``prism compile IN.mlir -o DIR`` turns a tensor program into checked GPU code."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from prism_mlir import __version__
from prism_mlir.compiler.executors import PROCESSES, check_spec, on_cluster
from prism_mlir.compiler.options import CompileOptions, HostSignature, WorkspacePlace
from prism_mlir.graph.errors import InputError, PrismError
from prism_mlir.tools import (
    prism_bench,
    prism_bundle,
    prism_cache,
    prism_cost,
    prism_doctor,
    prism_explain,
    prism_ptx,
    prism_verify,
    search_options,
)

if TYPE_CHECKING:
    from prism_mlir.compiler.select import Prepare

app = typer.Typer(
    name="prism",
    help="Find, prove, emit and check GPU kernels for tensor programs.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)


# Typer brings a click of its own, or uses the one installed; this is its root of errors about the command line.
_UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _version(show: bool) -> None:
    if show:
        print(f"prism {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find, prove, emit and check GPU kernels for tensor programs."""


@app.command("compile")
def compile_command(
    source: Annotated[Path, typer.Argument(help="MLIR file with a function on tensors: linalg, StableHLO or TOSA.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for PTX, launch.json, .mlir, report.json.")],
    target: Annotated[str, typer.Option(help="Chip: sm_80, sm_86, sm_90, ...")] = "sm_80",
    function: Annotated[str | None, typer.Option(help="Which function, where the module has several.")] = None,
    limit: search_options.Limit = None,
    time_limit: search_options.TimeLimit = None,
    max_operators: search_options.MaxOperators = None,
    max_second_operators: search_options.MaxSecondOperators = None,
    max_kernels: search_options.MaxKernels = None,
    max_grid_dims: search_options.MaxGridDims = None,
    max_states: search_options.MaxStates = None,
    max_structures: search_options.MaxStructures = None,
    max_candidates: search_options.MaxCandidates = None,
    jobs: search_options.Jobs = 1,
    executor: search_options.Executor = PROCESSES,
    keep_partial: Annotated[
        bool, typer.Option("--keep-partial", help="After Ctrl-C in the search, go on with what was proved so far.")
    ] = False,
    samples: Annotated[int, typer.Option(min=1, help="Schedules to rank, drawn over all proved graphs.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
    check: Annotated[bool, typer.Option(help="Run the emitted code on the PTX machine and compare it.")] = True,
    host: Annotated[
        HostSignature,
        typer.Option(
            help="Host function: the source's tensors, copied, or memrefs in device memory with results last."
        ),
    ] = HostSignature.TENSOR,
    workspace: Annotated[
        WorkspacePlace, typer.Option(help="Buffers between kernels: the host function allocates them, or takes them.")
    ] = WorkspacePlace.ALLOC,
    allow_tf32: Annotated[
        bool,
        typer.Option(
            "--allow-tf32", help="Products of f32 tensors may round to tf32 for tensor cores; exact f32 if not."
        ),
    ] = False,
    profile: Annotated[bool, typer.Option("--profile", help="Let a GPU time the best few schedules.")] = False,
    sizes: Annotated[
        list[str] | None,
        typer.Option(help="Sizes of a `?` that get static code, as in 1,8,100 or x[0]=1,8 where there are several."),
    ] = None,
    max_size: Annotated[int, typer.Option(min=1, max=2**24, help="The largest size of a `?` that code serves.")] = 8192,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors.")] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print progress as lines on standard error.")
    ] = False,
) -> None:
    """Compile a function to checked GPU code.

    Ctrl-C: nothing is written, exit code 1 (see --keep-partial).

    Example: prism compile examples/rms_norm.mlir -o out --limit operators=9
    """
    check_source(source)
    check_spec(executor)
    from prism_mlir.compiler.buckets import SizeOptions
    from prism_mlir.compiler.pipeline import compile_file
    from prism_mlir.compiler.progress import Progress
    from prism_mlir.tools.emit import render, write_all
    from prism_mlir.tools.prism_dynamic import compile_sizes, write_sizes
    from prism_mlir.tools.summary import print_summary
    from prism_mlir.tools.terminal import step_status
    from prism_mlir.tune.records.store import Records

    limits = search_options.search_limits(
        limit,
        operators=max_operators,
        second_operators=max_second_operators,
        kernels=max_kernels,
        grid_dims=max_grid_dims,
        states=max_states,
        structures=max_structures,
        candidates=max_candidates,
    )
    options = CompileOptions(
        target=target,
        limits=limits,
        function=function,
        samples=samples,
        seed=seed,
        check=check,
        profile=profile,
        jobs=jobs,
        executor=executor,
        keep_partial=keep_partial,
        time_limit=time_limit,
        allow_tf32=allow_tf32,
        host=host,
        workspace=workspace,
    )
    console = Console(quiet=quiet, highlight=False, soft_wrap=True)
    with (
        gpu_timer(check) if profile and not on_cluster(executor) else nullcontext() as prepare,
        step_status(console, verbose=verbose) as show,
        Records.open() as records,
    ):
        sized = compile_sizes(source, options, SizeOptions(max_size, tuple(sizes or ())), show, records)
        if sized is not None:
            write_sizes(console, sized, output)
            return
        progress = Progress(show, time_limit)
        done = compile_file(source, options, prepare=prepare, progress=progress, records=records)
    files = render(done)
    write_all(output, files)
    print_summary(console, done, output, files)


def gpu_timer(check: bool) -> AbstractContextManager[Prepare]:
    """Measures compiled code on the first GPU, checked before that or not. Entered where there is none, it raises
    :class:`MissingToolError`.
    """
    from prism_mlir.compiler.gpu_profile import gpu_profiler

    return gpu_profiler(check=check)


def check_source(source: Path) -> None:
    """Say that there is no such file before anything slow is imported. Raises :class:`InputError`."""
    if not source.exists():
        what = "standard input is not read" if str(source) == "-" else "there is no such file"
        raise InputError(f"cannot read '{source}': {what}", None, "name an .mlir file")
    if source.is_dir():
        raise InputError(f"cannot read '{source}': it is a folder", None, "name an .mlir file")


prism_explain.register(app)
prism_verify.register(app)
prism_ptx.register(app)
prism_cache.register(app)
prism_bench.register(app)
prism_bundle.register(app)
prism_cost.register(app)
prism_doctor.register(app)


_INTERRUPTED = "error: interrupted; nothing was written"
_CTRL_C = 130  # what Typer makes of a KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; errors a user can cause are one line on standard error and exit code 1."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(args=given or ["--help"], standalone_mode=False)
    except PrismError as error:
        return _fail(str(error))
    except _UsageError as error:
        return _fail(f"error: {error.format_message()} (see prism --help)")
    except OSError as error:  # of standard output: files have errors of their own
        return _fail(f"error: cannot write the output: {error.strerror or error}")
    except (typer.Abort, KeyboardInterrupt):
        return _fail(_INTERRUPTED)
    except typer.Exit as leave:
        code = leave.exit_code
    return _fail(_INTERRUPTED) if code == _CTRL_C else code if isinstance(code, int) else 0


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
