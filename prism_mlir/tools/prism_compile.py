"""``prism compile``: from a function on tensors to checked GPU code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_mlir.compiler.executors import on_cluster
from prism_mlir.compiler.options import CompileOptions, HostSignature, WorkspacePlace
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.tools import options as opt
from prism_mlir.tools.files import check_folder
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal
from prism_mlir.tools.usage import Interrupted
from prism_mlir.tune.targets import DEFAULT_TARGET

if TYPE_CHECKING:
    from prism_mlir.compiler.select import Prepare
    from prism_mlir.tune.records.store import Records


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compile", epilog="Example: prism compile examples/rms_norm.mlir -o out --max-operators 9")(
        flat(compile_command)
    )


@dataclass(frozen=True, slots=True)
class Code:
    """What the emitted code is."""

    host: Annotated[
        HostSignature,
        typer.Option("--host", help="Host function: on tensors, copied; or memrefs on the device, results last."),
    ] = HostSignature.TENSOR
    workspace: Annotated[
        WorkspacePlace,
        typer.Option("--workspace", help="Buffers between kernels: the host function allocates them, or takes them."),
    ] = WorkspacePlace.ALLOC
    allow_tf32: Annotated[
        bool, typer.Option("--allow-tf32", help="Products of f32 tensors may round to tf32, for tensor cores.")
    ] = False


@dataclass(frozen=True, slots=True)
class Sizes:
    """For functions with ``?``. max_size: the largest size, if it is given; sizes: those that get static code."""

    sizes: Annotated[
        list[str] | None,
        typer.Option(
            "--sizes",
            metavar="SIZES",
            help="Sizes of a `?` that get static code: 1,8,100, or x[0]=1,8 for one of several.",
        ),
    ] = None
    max_size: Annotated[
        int | None,
        typer.Option(
            "--max-size",
            min=1,
            max=2**24,
            metavar="N",
            help="The largest size of a `?` that code serves.",
            show_default="8192",
        ),
    ] = None


def compile_command(
    source: opt.Source,
    output: Annotated[Path, opt.output("Folder for PTX, launch.json, .mlir, report.json.", "DIR")],
    *,
    code: Code,
    dynamic: Sizes,
    search: opt.Search,
    workers: opt.Workers,
    terminal: Terminal,
    target: opt.Target = DEFAULT_TARGET,
    function: opt.Function = None,
    time_limit: opt.TimeLimit = None,
    keep_partial: Annotated[
        bool, typer.Option("--keep-partial", help="After Ctrl-C in the search, go on with what was proved so far.")
    ] = False,
    samples: opt.Samples = opt.SAMPLES,
    seed: opt.Seed = 0,
    check: opt.Check = True,
    islands: Annotated[
        bool,
        typer.Option(
            "--islands", help="Where the function cannot become kernels whole, compile the parts of it that can."
        ),
    ] = False,
    profile: Annotated[bool, typer.Option("--profile", help="Let a GPU time the best few schedules.")] = False,
    cache: opt.Cache = None,
) -> None:
    """Compile a function to checked GPU code.

    Ctrl-C: no file is written, exit code 130 (see --keep-partial); what was proved is in the tuning records.
    """
    opt.check_source(source)
    with terminal.working("loading"):
        from prism_mlir.tune.records.store import Records

    check_folder(output)
    own = {f.name: getattr(code, f.name) for f in fields(code)}
    options = CompileOptions(
        target=target,
        limits=search.limits(),
        function=function,
        samples=samples,
        seed=seed,
        check=check,
        profile=profile,
        jobs=workers.jobs,
        executor=workers.executor,
        keep_partial=keep_partial,
        time_limit=time_limit,
        **own,
    )
    timer = gpu_timer(check) if profile and not on_cluster(workers.executor) else nullcontext()
    with timer as prepare, Records.open(cache) as records, said_if_interrupted(records):
        compile_and_write(source, output, options, dynamic, terminal, prepare, records, islands=islands)


def compile_and_write(
    source: Path,
    output: Path,
    options: CompileOptions,
    dynamic: Sizes,
    terminal: Terminal,
    prepare: Prepare | None,
    records: Records,
    *,
    islands: bool = False,
) -> None:
    """Compile, write the files, and say what was done."""
    from prism_mlir.compiler.islands import compile_islands
    from prism_mlir.compiler.pipeline import compile_file
    from prism_mlir.compiler.progress import Progress
    from prism_mlir.frontend.upstream import read_text
    from prism_mlir.tools.emit import render, report, write_all
    from prism_mlir.tools.prism_dynamic import compile_sizes, write_sizes
    from prism_mlir.tools.prism_islands import write_islands
    from prism_mlir.tools.summary import print_summary

    with terminal.working(f"reading {source.name}") as show:
        sized = compile_sizes(source, options, (dynamic.max_size, tuple(dynamic.sizes or ())), show, records)
        parts = None
        if sized is None:
            progress = Progress(show, options.time_limit)
            try:
                done = compile_file(source, options, prepare=prepare, progress=progress, records=records)
            except UnsupportedError:
                if not islands:
                    raise
                text = read_text(source)
                parts = compile_islands(text, str(source), options, prepare=prepare, progress=show, records=records)
    if sized is not None:
        write_sizes(terminal, sized, output)
        return
    if parts is not None:
        write_islands(terminal, parts, output)
        return
    files = render(done)
    write_all(output, files)
    print_summary(terminal.console, done, output, files)
    terminal.result("compile", {"output": str(output), "files": sorted(files), "report": report(done)})


def gpu_timer(check: bool) -> AbstractContextManager[Prepare]:
    """Measures compiled code on the first GPU, checked before that or not. Entered where there is none, it raises
    :class:`MissingToolError`.
    """
    from prism_mlir.compiler.gpu_profile import gpu_profiler

    return gpu_profiler(check=check)


@contextmanager
def said_if_interrupted(records: Records) -> Iterator[None]:
    """Ctrl-C says what is there all the same."""
    try:
        yield
    except KeyboardInterrupt:
        if not records.kept:
            raise
        kept = "1 record of this run is" if records.kept == 1 else f"{records.kept} records of this run are"
        raise Interrupted(f"no file was written; {kept} kept, from which the next one goes on") from None
