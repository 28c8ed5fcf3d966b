"""From files to rows that a GPU measures: what ``prism bench`` and ``prism bundle`` have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_mlir.graph.errors import CodegenError, ExecutionError, InputError, PrismError

if TYPE_CHECKING:
    from prism_mlir.compiler.measured_row import MeasuredRow

PEERS = ("torch", "compile", "triton")

Files = Annotated[
    list[Path] | None, typer.Argument(metavar="[FILES]", help="MLIR files with a function of linalg operations each.")
]
Paper = Annotated[bool, typer.Option("--paper", help="The ten programs of the paper's Figure 6 (needs a checkout).")]
Peers = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="What to compare with: torch (eager), compile (torch.compile max-autotune), triton, or none; by default all "
        "that there are.",
    ),
]
Target = Annotated[str, typer.Option(help="Chip: sm_80, sm_86, sm_90, ... Code for sm_80 runs on all later ones.")]
Schedules = Annotated[
    int, typer.Option(min=1, max=32, help="How many of the best schedules are measured, of which the fastest counts.")
]
Minutes = Annotated[float, typer.Option(min=0.1, help="Time to measure in; what is left then is skipped.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes to search and prove with.")]
Check = Annotated[bool, typer.Option(help="First run the kernels on the PTX machine and compare them.")]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which programs to build, and how. ``peers``: of ``PEERS``."""

    files: tuple[Path, ...]
    peers: tuple[str, ...]
    target: str
    schedules: int
    jobs: int
    check: bool


def wanted(
    files: Sequence[Path], paper: bool, peers: str | None, target: str, schedules: int, jobs: int, check: bool
) -> Wanted:
    """What the options of a command mean. Raises :class:`InputError` for none, missing ones, and unknown peers."""
    from prism_mlir.compiler.paper_rows import paper_files

    found = [*files, *(paper_files() if paper else ())]
    if not found:
        raise InputError("there is nothing to measure", None, "name .mlir files, or give --paper")
    for path in found:
        if not path.is_file():
            raise InputError(f"cannot read '{path}': there is no such file", None, "name an .mlir file")
    return Wanted(tuple(found), parse_peers(peers), target, schedules, jobs, check)


def parse_peers(text: str | None) -> tuple[str, ...]:
    """``torch,triton`` or ``none``; not given, all. torch is looked for where it is measured, triton where kernels are built.

    Raises :class:`InputError` for an unknown name.
    """
    from prism_mlir.compiler.triton_peers import triton_installed

    if text is None:
        return tuple(p for p in PEERS if p != "triton" or triton_installed())
    names = [word.strip() for word in text.split(",") if word.strip() not in ("", "none")]
    for name in names:
        if name not in PEERS:
            raise InputError(f"--peers: no peer is called '{name}'", None, f"known are {', '.join(PEERS)}, none")
    return tuple(p for p in PEERS if p in names)


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
        print(f"warning: {path} is left out: {why.message}", file=sys.stderr)
    return found


def _build_row(path: Path, want: Wanted, progress: Callable[[str], None]) -> MeasuredRow:
    from prism_mlir.compiler.measured_row import Candidate, measured_row
    from prism_mlir.compiler.options import CompileOptions
    from prism_mlir.compiler.paper_rows import row_of
    from prism_mlir.compiler.pipeline import compile_file
    from prism_mlir.compiler.triton_peers import triton_kernels

    options = CompileOptions(target=want.target, jobs=want.jobs, check=False)  # each candidate is checked below
    done = compile_file(path, options, progress=progress)
    progress("checking the best schedules")
    row = measured_row(done, schedules=want.schedules, torch=want.peers, check=want.check)
    paper = row_of(path)
    if paper is None or "triton" not in want.peers:
        return row
    progress("compiling peers in Triton")
    peers = [Candidate("triton", as_source=True, **made) for made in triton_kernels(paper)]
    return replace(row, candidates=(*row.candidates, *peers))
