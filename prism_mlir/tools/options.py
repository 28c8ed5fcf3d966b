"""Every option that more than one command has, once: its name, its help, what values it takes, and how they complete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from prism_mlir.compiler.executors import PROCESSES, SERIAL, SPECS, check_spec
from prism_mlir.graph.errors import InputError
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tools.search_options import duration, search_limits
from prism_mlir.tools.usage import UsageError
from prism_mlir.tune.targets import TARGETS, find_target

SAMPLES = 2000


def path(text: str) -> Path:
    """A path from the command line. Raises :class:`typer.BadParameter` for no text, which would be the current folder."""
    if not text:
        raise typer.BadParameter("an empty name; name a file, or write . for this folder")
    return Path(text)


def valid(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """A callback that refuses what ``check`` refuses with an :class:`InputError`."""

    def callback(value: Any) -> Any:
        try:
            if value is not None:
                check(value)
        except InputError as error:
            raise typer.BadParameter(
                error.message if error.hint is None else f"{error.message}, {error.hint}"
            ) from None
        return value

    return callback


def words(*known: str) -> Callable[[str], list[str]]:
    """Completes the last of several words with commas between them."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for word in known if word.startswith(last)]

    return complete


# -- arguments ----------------------------------------------------------------------------------------------------

_SOURCE = {"metavar": "IN.mlir", "parser": path}
Source = Annotated[
    Path, typer.Argument(help="MLIR file with a function on tensors: linalg, StableHLO or TOSA.", **_SOURCE)
]
SourceOrProgram = Annotated[
    Path, typer.Argument(help="MLIR file with a function on tensors, or an sgraph.program.", **_SOURCE)
]
SourceWithGraphs = Annotated[
    Path,
    typer.Argument(help="MLIR file with a function on tensors or an sgraph.program, and sgraph.graph ops.", **_SOURCE),
]
Sources = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[IN.mlir]...", help="MLIR files with a function on tensors each.", parser=path),
]


def check_source(source: Path) -> None:
    """Say that there is no such file before anything slow is imported. Raises :class:`InputError`."""
    if not source.exists():
        what = "standard input is not read" if str(source) == "-" else "there is no such file"
        raise InputError(f"cannot read '{source}': {what}", None, "name an .mlir file")
    if source.is_dir():
        raise InputError(f"cannot read '{source}': it is a folder", None, "name an .mlir file")


# -- one option each ----------------------------------------------------------------------------------------------

Target = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="CHIP",
        help=f"{', '.join(TARGETS)}. Code for sm_80 runs on all later ones.",
        callback=valid(find_target),
        autocompletion=words(*TARGETS),
    ),
]
Function = Annotated[
    str | None,
    typer.Option("--function", metavar="NAME", help="Which function or program, where the file has several."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of every random choice.")]
Samples = Annotated[
    int, typer.Option("--samples", min=1, metavar="N", help="Schedules to rank, drawn over all proved graphs.")
]
Check = Annotated[
    bool, typer.Option("--check/--no-check", help="Run the emitted code on the PTX machine and compare it.")
]
Graphs = Annotated[
    list[Path] | None,
    typer.Option("--graph", metavar="FILE", help="More files with sgraph.graph ops.", parser=path),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        help="Folder of tuning records; PRISM_CACHE_DIR or ~/.cache/prism if not given.",
        parser=path,
    ),
]
Force = Annotated[bool, typer.Option("-f", "--force", help="Replace what is there already.")]


def time_limit(what: str) -> Any:
    """``--time-limit``; ``what`` says what takes no longer."""
    return typer.Option("--time-limit", parser=duration, metavar="TIME", help=f"{what}: 10s, 2min.", show_default=False)


SearchTimeLimit = Annotated[float | None, time_limit("Time for the search; what was found by then is judged")]
TimeLimit = Annotated[float | None, time_limit("Time for everything; the best checked result by then is written")]


def output(what: str, metavar: str = "FILE") -> Any:
    """``-o``; ``what`` says what is written there."""
    return typer.Option("-o", "--output", metavar=metavar, help=what, parser=path)


JsonFile = Annotated[Path | None, output("Also write the JSON of --json to this file.")]


# -- groups of options --------------------------------------------------------------------------------------------


def _most(name: str, what: str) -> Any:
    return typer.Option(f"--max-{name}", min=0, metavar="N", help=f"Limit: {what}.", show_default=False)


_LIMITS = [f.name for f in fields(SearchLimits)]


@dataclass(frozen=True, slots=True)
class Search:
    """How far a search goes."""

    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="NAME=VALUE",
            help=f"Limit of the search, may be given several times: {', '.join(_LIMITS)}.",
            autocompletion=words(*(f"{name}=" for name in _LIMITS)),
        ),
    ] = None
    max_operators: Annotated[int | None, _most("operators", "operators of a kernel")] = None
    max_second_operators: Annotated[int | None, _most("second-operators", "operators of the second kernel")] = None
    max_kernels: Annotated[int | None, _most("kernels", "kernels of a graph, 1 or 2")] = None
    max_grid_dims: Annotated[int | None, _most("grid-dims", "grid dims of a kernel, 0 to 3")] = None
    max_states: Annotated[int | None, _most("states", "partial graphs visited")] = None
    max_structures: Annotated[int | None, _most("structures", "graphs with symbolic mappings")] = None
    max_candidates: Annotated[int | None, _most("candidates", "graphs with concrete mappings")] = None

    def limits(self, seconds: float | None = None) -> SearchLimits:
        """The limits. Raises :class:`UsageError` for names that do not exist, and values out of range."""
        most = {n: getattr(self, f"max_{n}") for n in _LIMITS if hasattr(self, f"max_{n}")}
        try:
            return search_limits(self.limit, seconds=seconds, **most)
        except InputError as error:
            raise UsageError(error.message, None, error.hint) from None


@dataclass(frozen=True, slots=True)
class Workers:
    """Which processes on which machines do what is slow."""

    jobs: Annotated[
        int, typer.Option("-j", "--jobs", min=1, metavar="N", help="Processes; results are the same for any number.")
    ] = 1
    executor: Annotated[
        str,
        typer.Option(
            "--executor",
            metavar="EXECUTOR",
            help=f"Where what is slow runs: {SPECS}; results are the same for any.",
            callback=valid(check_spec),
            autocompletion=words(PROCESSES, SERIAL, "dask://"),
        ),
    ] = PROCESSES
