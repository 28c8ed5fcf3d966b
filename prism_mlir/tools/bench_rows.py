"""From files to rows that a GPU measures: what ``prism bench`` and ``prism bundle`` have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_mlir.graph.errors import CodegenError, ExecutionError, InputError, MissingToolError, PrismError
from prism_mlir.tools import options as opt
from prism_mlir.tools.usage import UsageError
from prism_mlir.tune.targets import DEFAULT_TARGET

if TYPE_CHECKING:
    from prism_mlir.compiler.measured_row import MeasuredRow

PEERS = ("torch", "compile", "triton")


def peer_names(text: str) -> tuple[str, ...]:
    """The peers of ``torch,triton`` or ``none``. Raises :class:`InputError` for a name that none has."""
    names = [word.strip() for word in text.split(",") if word.strip() not in ("", "none")]
    for name in names:
        if name not in PEERS:
            raise InputError(f"no peer is called '{name}'", None, f"known are {', '.join(PEERS)}, none")
    return tuple(p for p in PEERS if p in names)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which programs to build, and how. ``peers``: of ``PEERS``."""

    files: tuple[Path, ...]
    peers: tuple[str, ...]
    target: str
    schedules: int
    jobs: int
    executor: str
    check: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """Options of ``prism bench`` and ``prism bundle``: what is measured."""

    paper: Annotated[
        bool, typer.Option("--paper", help="The ten programs of the paper's Figure 6 (needs a checkout).")
    ] = False
    peers: Annotated[
        str | None,
        typer.Option(
            "--peers",
            metavar="LIST",
            help="What to compare with: torch (eager), compile (torch.compile max-autotune), triton, or none; by default all "
            "that there are.",
            callback=opt.valid(peer_names),
            autocompletion=opt.words(*PEERS, "none"),
        ),
    ] = None
    target: opt.Target = DEFAULT_TARGET
    schedules: Annotated[
        int,
        typer.Option(
            "--schedules",
            min=1,
            max=32,
            metavar="N",
            help="How many of the best schedules are measured, of which the fastest counts.",
        ),
    ] = 4
    check: opt.Check = True

    def of(self, files: Sequence[Path], workers: opt.Workers) -> Wanted:
        """What they mean. Raises :class:`UsageError` for no files, :class:`InputError` for missing ones."""
        from prism_mlir.compiler.paper_rows import paper_files

        found = [*files, *(paper_files() if self.paper else ())]
        if not found:
            raise UsageError("there is nothing to measure", None, "name .mlir files, or give --paper")
        for path in found:
            opt.check_source(path)
        peers = parse_peers(self.peers)
        return Wanted(tuple(found), peers, self.target, self.schedules, workers.jobs, workers.executor, self.check)


def parse_peers(text: str | None) -> tuple[str, ...]:
    """``torch,triton`` or ``none``; not given, all. torch is looked for where it is measured, triton where kernels are built.

    Raises :class:`InputError` for an unknown name, :class:`MissingToolError` where triton is asked for and not installed.
    """
    from prism_mlir.compiler.triton_peers import triton_installed

    if text is None:
        return tuple(p for p in PEERS if p != "triton" or triton_installed())
    names = peer_names(text)
    if "triton" in names and not triton_installed():
        raise MissingToolError(
            "--peers: triton is not installed", None, 'pip install "prism-mlir[triton]", or leave it out'
        )
    return names


def build_rows(want: Wanted, progress: Callable[[str], None]) -> list[MeasuredRow]:
    """Compile every file. One for which there is no code that passes its checks is left out, with a warning on standard error.

    Raises the first such error where all are left out, and at once what a user is to put right: a file that is not understood, or
    a peer that was asked for and is not there.
    """
    found: list[MeasuredRow] = []
    failed: list[tuple[Path, PrismError]] = []
    for path in want.files:
        try:
            found.append(_build_row(path, want, lambda text, at=path: progress(f"{at.name}: {text}")))  # type: ignore[misc]
        except (CodegenError, ExecutionError) as error:
            failed.append((path, error))
    if not found:
        raise failed[0][1]
    for path, why in failed:
        advice = "" if why.hint is None else f", {why.hint}"
        print(f"warning: {path} is left out: {why.message}{advice}", file=sys.stderr)
    return found


def _build_row(path: Path, want: Wanted, progress: Callable[[str], None]) -> MeasuredRow:
    from prism_mlir.compiler.measured_row import Candidate, measured_row
    from prism_mlir.compiler.options import CompileOptions
    from prism_mlir.compiler.paper_rows import row_of
    from prism_mlir.compiler.pipeline import compile_file
    from prism_mlir.compiler.triton_peers import triton_kernels

    options = CompileOptions(
        target=want.target, jobs=want.jobs, executor=want.executor, check=False
    )  # each candidate is checked below
    done = compile_file(path, options, progress=progress)
    progress("checking the best schedules")
    row = measured_row(done, schedules=want.schedules, torch=want.peers, check=want.check)
    paper = row_of(path)
    if paper is None or "triton" not in want.peers:
        return row
    progress("compiling peers in Triton")
    peers = [Candidate("triton", as_source=True, **made) for made in triton_kernels(paper)]
    return replace(row, candidates=(*row.candidates, *peers))
