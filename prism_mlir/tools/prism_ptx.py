"""``prism ptx``: run PTX on the CPU, check it, and count what it does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_mlir.graph.errors import InputError
from prism_mlir.tools import options as opt
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal
from prism_mlir.tools.usage import Exit, UsageError

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

STEPS = 5_000_000
Source = Annotated[Path, typer.Argument(metavar="KERNEL.ptx", help="PTX text, ISA 7.0 to 9.x.", parser=opt.path)]


class Engine(StrEnum):
    """Who runs a kernel: the machine that checks all, or compiled code that checks less; auto chooses."""

    AUTO = "auto"
    FAST = "fast"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """Which kernel is launched, and with what."""

    entry: Annotated[
        str | None, typer.Option("--entry", metavar="NAME", help="Which kernel, where the module has several.")
    ] = None
    grid: Annotated[str | None, typer.Option("--grid", metavar="X,Y,Z", help="Blocks; what is left out is 1.")] = None
    block: Annotated[str | None, typer.Option("--block", metavar="X,Y,Z", help="Threads of a block.")] = None
    arg: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            metavar="[N=]SPEC",
            help="An argument, in order or the N-th: 'f16[16,1024]=random:SEED' (or zeros, ones, full:VALUE, arange; empty or "
            "nan: an output), FILE.npy, 'f16[16,1024]=FILE', u32=5. With --launch also 0=ones or 0=FILE.",
        ),
    ] = None
    shared: Annotated[int | None, typer.Option("--shared", metavar="BYTES", min=0, help="Dynamic shared memory.")] = (
        None
    )
    launch: Annotated[
        Path | None,
        typer.Option(
            "--launch",
            metavar="FILE",
            help="launch.json of prism compile: entry, sizes, arguments.",
            parser=opt.path,
        ),
    ] = None
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size",
            metavar="[NAME=]N",
            help="With --launch of code for dynamic sizes: a size, as in 13 or 'x[0]=13'.",
        ),
    ] = None
    max_steps: Annotated[
        int,
        typer.Option(
            "--max-steps", min=1, metavar="N", help="Instructions before a kernel is taken for an endless loop."
        ),
    ] = STEPS

    def prepare(self, source: Path) -> Launch:
        """The launch.

        Raises the machine's errors, :class:`InputError` for files that cannot be read, and arguments that do not fit the
        kernel, and :class:`UsageError` for options that mean nothing.
        """
        from prism_mlir.tools.ptx_launch import Options, prepare

        args, sizes = tuple(self.arg or ()), tuple(self.size or ())
        return prepare(Options(source, self.entry, self.grid, self.block, args, self.shared, self.launch, sizes))


def check_names(incomplete: str) -> list[str]:
    """Completes ``--checks``."""
    from dataclasses import fields

    from prism_mlir.runtime.ptx import Checks

    names = [f.name for f in fields(Checks)]
    return opt.words("all", "none", *names, *(f"-{n}" for n in names))(incomplete)


Which = Annotated[
    str | None,
    typer.Option(
        "--checks",
        metavar="LIST",
        help="all, none, or names: race,bounds; all,-race leaves one out.",
        callback=opt.valid(lambda text: parse_checks(text)),
        autocompletion=check_names,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    launch = "out/rms_norm/main.ptx --launch out/rms_norm/launch.json"
    run = "examples/reverse.ptx --grid 4 --block 64 --arg 'f32[256]=arange' --arg 'f32[256]=empty'"
    ptx.command("run", epilog=f"Example: prism ptx run {run}")(flat(run_command))
    ptx.command("check", epilog=f"Example: prism ptx check {launch}")(flat(check_command))
    ptx.command("stats", epilog=f"Example: prism ptx stats {launch}")(flat(stats_command))
    app.add_typer(ptx)


@ptx.callback(invoke_without_command=True)
def _main(context: typer.Context) -> None:
    """Run PTX on the CPU, check it for bugs, and count what it does."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def run_command(
    source: Source,
    *,
    launch_options: LaunchOptions,
    terminal: Terminal,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "-o", "--output", metavar="N[=FILE.npy]", help="Show argument N after the run, and write it to a file."
        ),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(metavar="N=FILE.npy", help="Compare argument N with a file; exit code 1 if it differs."),
    ] = None,
    rtol: Annotated[
        float | None,
        typer.Option(min=0, metavar="X", help="Relative tolerance of --expect, by dtype if not given."),
    ] = None,
    atol: Annotated[
        float | None,
        typer.Option(min=0, metavar="X", help="Absolute tolerance of --expect, by dtype if not given."),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="fast is compiled, and checks less.")] = Engine.AUTO,
    exact_mma: Annotated[
        bool, typer.Option("--exact-mma", help="Sums of mma to the last bit as on Ampere (slow), not in f32 in order.")
    ] = False,
    checks: Which = None,
) -> None:
    """Run a kernel and show its outputs.

    The run ends at the first bug that a check finds, with a report and exit code 1.
    """
    from prism_mlir.tools.ptx_arguments import load_npy

    # Files that are none, or cannot be written, are better found before a long run.
    outputs = _indexed(output, "--output")
    written = [(i, _writable(file)) for i, file in outputs if file is not None]
    expected = _expected(expect or [])
    for file in expected.values():
        load_npy(file)
    with machine_errors(), terminal.working("loading") as show:
        from prism_mlir.runtime.ptx.machine import FAST_CHECKS
        from prism_mlir.tools.files import write_atomically
        from prism_mlir.tools.ptx_report import print_run, run_data
        from prism_mlir.tools.ptx_results import compare, load_expected, npy_bytes

        prepared = launch_options.prepare(source)
        shown = _shown(prepared, [*(i for i, _ in outputs), *expected])
        for i, file in expected.items():
            load_expected(file, _shape(prepared, i))
        chosen = FAST_CHECKS if checks is None and engine is Engine.FAST else parse_checks(checks)
        show(f"running {prepared.kernel.name}")
        built, result = prepared.run(
            0, chosen, engine=engine.value, max_steps=launch_options.max_steps, exact_mma=exact_mma
        )
    arrays = {i: _array(built, i) for i in shown}
    compared = {i: compare(arrays[i], prepared.arguments[i].dtype, file, rtol, atol) for i, file in expected.items()}
    for i, file in written:
        write_atomically(file, npy_bytes(arrays[i]))
    print_run(terminal.console, prepared, chosen, result, arrays, compared, written, exact_mma)
    terminal.result("ptx.run", run_data(prepared, chosen, result, arrays, compared, exact_mma))
    if any(c.wrong for c in compared.values()):
        raise typer.Exit(Exit.FAILED)


def check_command(
    source: Source,
    *,
    launch_options: LaunchOptions,
    terminal: Terminal,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs; in each the random arguments have other seeds.")
    ] = 3,
    checks: Which = None,
) -> None:
    """Look for bugs that a GPU would not show: races, accesses out of bounds, undefined data.

    Each finding is reported once. Exit code 1 if there is any, 0 if there is none.
    """
    with machine_errors(), terminal.working("loading") as show:
        from prism_mlir.tools.ptx_check import enabled, find
        from prism_mlir.tools.ptx_report import check_data, print_check

        chosen = parse_checks(checks)
        if not enabled(chosen):
            raise UsageError("--checks none leaves nothing to check", None, "name some, or use prism ptx run")
        prepared = launch_options.prepare(source)
        runs = range(seeds) if prepared.random else range(1)
        show(f"checking {prepared.kernel.name}")
        found = find(prepared, runs, chosen, launch_options.max_steps)
    print_check(terminal.console, prepared, chosen, runs, found)
    terminal.result("ptx.check", check_data(prepared, chosen, runs, found))
    raise typer.Exit(Exit.FAILED if found else Exit.OK)


def stats_command(source: Source, *, terminal: Terminal, launch_options: LaunchOptions) -> None:
    """Count instructions, memory traffic and bank conflicts of a launch, as a profiler would.

    The counts are exact. Only bounds are checked on the way.
    """
    with machine_errors(), terminal.working("loading") as show:
        from prism_mlir.tools.ptx_report import print_stats, stats_data

        prepared = launch_options.prepare(source)
        show(f"counting {prepared.kernel.name}")
        bounds, steps = parse_checks("bounds"), launch_options.max_steps
        _, result = prepared.run(0, bounds, engine="reference", max_steps=steps, detailed_counters=True)
    print_stats(terminal.console, prepared, result)
    terminal.result("ptx.stats", stats_data(prepared, result))


# -- options ------------------------------------------------------------------------------------------------------


@contextmanager
def machine_errors() -> Iterator[None]:
    """The PTX machine's errors are lines on standard error, and exit code 1."""
    from prism_mlir.runtime.ptx import PtxError

    try:
        yield
    except PtxError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(Exit.FAILED) from None


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
            raise InputError(f"no check is called '{name}'", None, f"known are all, none, {', '.join(known)}")
        else:
            on = on - {name} if word.startswith("-") else on | {name}
    return Checks(**{name: name in on for name in known})


def _indexed(texts: list[str] | None, option: str) -> list[tuple[int, Path | None]]:
    """Arguments and files of ``N=FILE``. Raises :class:`UsageError` for other text."""
    from prism_mlir.tools.ptx_arguments import parse_index

    return [parse_index(text, option) for text in texts or []]


def _expected(texts: list[str]) -> dict[int, Path]:
    """The files of ``--expect``, by argument."""
    found: dict[int, Path] = {}
    for i, file in _indexed(texts, "--expect"):
        if file is None:
            raise UsageError("--expect needs a file", None, "write it as --expect 2=expected.npy")
        if i in found:
            raise UsageError(f"--expect: argument {i} is given twice", None, "compare it with one file")
        found[i] = file
    return found


def _writable(path: Path) -> Path:
    """Itself. Raises :class:`InputError` where it could not be written."""
    from prism_mlir.tools.files import check_file

    check_file(path)
    return path


def _shown(launch: Launch, named: list[int]) -> list[int]:
    """The arguments to show: those named, else those that start undefined, else those that the kernel may write."""
    from prism_mlir.tools.ptx_arguments import ArrayArgument

    for i in named:
        if i >= len(launch.arguments) or not isinstance(launch.arguments[i], ArrayArgument):
            arrays = ", ".join(str(n) for n, a in enumerate(launch.arguments) if isinstance(a, ArrayArgument)) or "none"
            raise UsageError(f"argument {i} is no array that could be shown", None, f"arrays are: {arrays}")
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
