"""``prism ptx``: run PTX on the CPU, check it, and count what it does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_mlir.graph.errors import InputError, Location

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx import Checks
    from prism_mlir.tools.ptx_arguments import Array
    from prism_mlir.tools.ptx_launch import Launch

ptx = typer.Typer(
    name="ptx",
    help="Run PTX on the CPU, check it for bugs, and count what it does.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Source = Annotated[Path, typer.Argument(metavar="KERNEL.ptx", help="PTX text, ISA 7.0 to 9.x.")]
Entry = Annotated[str | None, typer.Option(metavar="NAME", help="Which kernel, where the module has several.")]
Grid = Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Blocks; what is left out is 1.")]
Block = Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Threads of a block.")]
Arg = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[N=]SPEC",
        help="An argument, in order or the N-th: 'f16[16,1024]=random:SEED' (or zeros, ones, full:VALUE, arange; empty or "
        "nan: an output), FILE.npy, 'f16[16,1024]=FILE', u32=5. With --launch also 0=ones or 0=FILE.",
    ),
]
Shared = Annotated[int | None, typer.Option(metavar="BYTES", min=0, help="Dynamic shared memory.")]
LaunchFile = Annotated[
    Path | None, typer.Option("--launch", metavar="FILE", help="launch.json of prism compile: entry, sizes, arguments.")
]
Size = Annotated[
    list[str] | None,
    typer.Option(metavar="[NAME=]N", help="With --launch of code for dynamic sizes: a size, as in 13 or 'x[0]=13'."),
]
MaxSteps = Annotated[int, typer.Option(min=1, help="Instructions before a kernel is taken for an endless loop.")]
Which = Annotated[
    str | None,
    typer.Option("--checks", metavar="LIST", help="all, none, or names: race,bounds; all,-race leaves one out."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
STEPS = 5_000_000


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(ptx)


@ptx.callback(invoke_without_command=True)
def _main(context: typer.Context) -> None:
    """Run PTX on the CPU, check it for bugs, and count what it does."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@ptx.command("run")
def run_command(
    source: Source,
    entry: Entry = None,
    grid: Grid = None,
    block: Block = None,
    arg: Arg = None,
    shared: Shared = None,
    launch: LaunchFile = None,
    size: Size = None,
    output: Annotated[
        list[str] | None,
        typer.Option(metavar="N[=FILE.npy]", help="Show argument N after the run, and write it to a file."),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(metavar="N=FILE.npy", help="Compare argument N with a file; exit code 1 if it differs."),
    ] = None,
    rtol: Annotated[
        float | None, typer.Option(min=0, help="Relative tolerance of --expect, by dtype if not given.")
    ] = None,
    atol: Annotated[
        float | None, typer.Option(min=0, help="Absolute tolerance of --expect, by dtype if not given.")
    ] = None,
    engine: Annotated[str, typer.Option(help="reference, fast (compiled, fewer checks), or auto.")] = "auto",
    exact_mma: Annotated[
        bool, typer.Option("--exact-mma", help="Sums of mma to the last bit as on Ampere (slow), not in f32 in order.")
    ] = False,
    checks: Which = None,
    max_steps: MaxSteps = STEPS,
    as_json: AsJson = False,
) -> None:
    """Run a kernel and show its outputs.

    The run ends at the first bug that a check finds, with a report and exit code 1.

    Example: prism ptx run examples/reverse.ptx --grid 4 --block 64 --arg 'f32[256]=arange' --arg 'f32[256]=empty'
    """
    from prism_mlir.runtime.ptx.machine import FAST_CHECKS
    from prism_mlir.tools.files import write_atomically
    from prism_mlir.tools.ptx_arguments import load_npy, parse_index
    from prism_mlir.tools.ptx_report import print_run, run_data
    from prism_mlir.tools.ptx_results import compare, load_expected, npy_bytes

    # Files that are none, or cannot be written, are better found before a long run.
    outputs = [parse_index(text, "--output") for text in output or []]
    written = [(i, _writable(file)) for i, file in outputs if file is not None]
    expected = _expected(expect or [])
    for file in expected.values():
        load_npy(file)
    with machine_errors():
        prepared = _prepare(source, entry, grid, block, arg, shared, launch, size)
        shown = _shown(prepared, [*(i for i, _ in outputs), *expected])
        for i, file in expected.items():
            load_expected(file, _shape(prepared, i))
        chosen = FAST_CHECKS if checks is None and engine == "fast" else parse_checks(checks)
        built, result = prepared.run(0, chosen, engine=engine, max_steps=max_steps, exact_mma=exact_mma)
    arrays = {i: _array(built, i) for i in shown}
    compared = {i: compare(arrays[i], prepared.arguments[i].dtype, file, rtol, atol) for i, file in expected.items()}
    for i, file in written:
        write_atomically(file, npy_bytes(arrays[i]))
    if as_json:
        print(json.dumps(run_data(prepared, chosen, result, arrays, compared, exact_mma), indent=2))
    else:
        print_run(prepared, chosen, result, arrays, compared, written, exact_mma)
    if any(c.wrong for c in compared.values()):
        raise typer.Exit(1)


@ptx.command("check")
def check_command(
    source: Source,
    entry: Entry = None,
    grid: Grid = None,
    block: Block = None,
    arg: Arg = None,
    shared: Shared = None,
    launch: LaunchFile = None,
    size: Size = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs; in each the random arguments have other seeds.")] = 3,
    checks: Which = None,
    max_steps: MaxSteps = STEPS,
    as_json: AsJson = False,
) -> None:
    """Look for bugs that a GPU would not show: races, accesses out of bounds, undefined data.

    Each finding is reported once. Exit code 1 if there is any, 0 if there is none.

    Example: prism ptx check out/rms_norm/main.ptx --launch out/rms_norm/launch.json
    """
    from prism_mlir.tools.ptx_check import enabled, find
    from prism_mlir.tools.ptx_report import check_data, print_check

    with machine_errors():
        chosen = parse_checks(checks)
        if not enabled(chosen):
            raise InputError("--checks none leaves nothing to check", None, "name some, or use prism ptx run")
        prepared = _prepare(source, entry, grid, block, arg, shared, launch, size)
        runs = range(seeds) if prepared.random else range(1)
        found = find(prepared, runs, chosen, max_steps)
    if as_json:
        print(json.dumps(check_data(prepared, chosen, runs, found), indent=2))
    else:
        print_check(prepared, chosen, runs, found)
    raise typer.Exit(1 if found else 0)


@ptx.command("stats")
def stats_command(
    source: Source,
    entry: Entry = None,
    grid: Grid = None,
    block: Block = None,
    arg: Arg = None,
    shared: Shared = None,
    launch: LaunchFile = None,
    size: Size = None,
    max_steps: MaxSteps = STEPS,
    as_json: AsJson = False,
) -> None:
    """Count instructions, memory traffic and bank conflicts of a launch, as a profiler would.

    The counts are exact. Only bounds are checked on the way.

    Example: prism ptx stats out/rms_norm/main.ptx --launch out/rms_norm/launch.json
    """
    from prism_mlir.tools.ptx_report import print_stats, stats_data

    with machine_errors():
        prepared = _prepare(source, entry, grid, block, arg, shared, launch, size)
        bounds = parse_checks("bounds")
        _, result = prepared.run(0, bounds, engine="reference", max_steps=max_steps, detailed_counters=True)
    if as_json:
        print(json.dumps(stats_data(prepared, result), indent=2))
    else:
        print_stats(prepared, result)


# -- options ------------------------------------------------------------------------------------------------------


@contextmanager
def machine_errors() -> Iterator[None]:
    """The PTX machine's errors are lines on standard error, and exit code 1."""
    from prism_mlir.runtime.ptx import PtxError

    try:
        yield
    except PtxError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None


def _prepare(
    source: Path,
    entry: str | None,
    grid: str | None,
    block: str | None,
    arg: list[str] | None,
    shared: int | None,
    launch: Path | None,
    size: list[str] | None,
) -> Launch:
    from prism_mlir.tools.ptx_launch import Options, prepare

    return prepare(Options(source, entry, grid, block, tuple(arg or ()), shared, launch, tuple(size or ())))


def parse_checks(text: str | None) -> Checks:
    """``all``, ``none``, or names with commas; a minus takes one away: ``all,-race``. Not given, all.

    Raises :class:`InputError` for a name that is no check (with those that are).
    """
    from dataclasses import fields

    from prism_mlir.runtime.ptx import Checks

    known = [f.name for f in fields(Checks)]
    on: set[str] = set()
    for word in (w.strip() for w in ("all" if text is None else text).split(",")):
        name = word.removeprefix("-")
        if name in ("all", "none") and name == word:
            on = set(known) if name == "all" else set()
        elif name not in known:
            raise InputError(f"--checks: no check is called '{name}'", None, f"known are all, none, {', '.join(known)}")
        else:
            on = on - {name} if word.startswith("-") else on | {name}
    return Checks(**{name: name in on for name in known})


def _expected(texts: list[str]) -> dict[int, Path]:
    """The files of ``--expect``, by argument."""
    from prism_mlir.tools.ptx_arguments import parse_index

    found: dict[int, Path] = {}
    for i, file in (parse_index(text, "--expect") for text in texts):
        if file is None:
            raise InputError("--expect needs a file", None, "write it as --expect 2=expected.npy")
        if i in found:
            raise InputError(f"--expect: argument {i} is given twice", None, "compare it with one file")
        found[i] = file
    return found


def _writable(path: Path) -> Path:
    """Itself. Raises :class:`InputError` for a directory, or a file in none."""
    reason = "Is a directory" if path.is_dir() else "" if path.parent.is_dir() else "No such directory"
    if reason:
        raise InputError(f"cannot write the file: {reason}", Location(str(path), 1, 1), "check the path")
    return path


def _shown(launch: Launch, named: list[int]) -> list[int]:
    """The arguments to show: those named, else those that start undefined, else those that the kernel may write."""
    from prism_mlir.tools.ptx_arguments import ArrayArgument

    for i in named:
        if i >= len(launch.arguments) or not isinstance(launch.arguments[i], ArrayArgument):
            arrays = ", ".join(str(n) for n, a in enumerate(launch.arguments) if isinstance(a, ArrayArgument)) or "none"
            raise InputError(f"argument {i} is no array that could be shown", None, f"arrays are: {arrays}")
    return sorted(set(named)) or sorted(launch.undefined) or list(launch.written)


def _array(built: list[Array | bytes], i: int) -> Array:
    array = built[i]
    assert not isinstance(array, bytes)  # _shown has looked
    return array


def _shape(launch: Launch, i: int) -> tuple[int, ...]:
    from prism_mlir.tools.ptx_arguments import ArrayArgument

    argument = launch.arguments[i]
    assert isinstance(argument, ArrayArgument)  # _shown has looked
    return argument.shape
