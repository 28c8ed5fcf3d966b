"""Random proved graphs at random schedules on the PTX machine, as many as you like; every failure is a bug.

A random small program is searched, a proved graph and a schedule are drawn (any part counts, ragged ones included, 1 to 8 warps,
1 to 4 stages), and the emitted code runs with every check on random and adverse inputs and is compared with the program in f64.
What cannot be built must be refused with a typed error. The generators are those of test/unit/codegen.

Program number i is made from seed ``--seed`` + i; a failure names it, so that ``--seed I --count 1`` repeats it. The command ends
with status 1 after a failure.

    python benchmarks/random_kernels.py [--count N] [--seed S] [--kernels N] [--kind K] [--jobs N] [--json FILE]
    python benchmarks/random_kernels.py --paper [--only TEXT] [--json FILE]

``--paper`` takes the paper's ten configurations instead, in f16 and bf16, each with the best graph of one and of two kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import typer
from harness.report import Row, show, write
from rich.console import Console

TESTS = Path(__file__).resolve().parents[1] / "test" / "unit" / "codegen"
sys.path.append(str(TESTS))

import paper_kernels  # noqa: E402
from kernel_trials import Tally, trial  # noqa: E402
from random_programs import KINDS  # noqa: E402

COLUMNS = ("kind", "programs", "nothing proved", "kernels", "of two", "runs", "overflow", "refused", "failures")


def tallies(seeds: Iterable[int], kernels: int, kind: str | None, jobs: int) -> Iterator[Tally]:
    """One tally for each seed, in order."""
    work = partial(trial, kernels=kernels, kind=kind)
    if jobs == 1:
        yield from map(work, seeds)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, seeds)


def row(tally: Tally) -> Row:
    return {
        "kind": tally.kind,
        "programs": tally.programs,
        "nothing proved": tally.unproved,
        "kernels": tally.kernels,
        "of two": tally.two_kernels,
        "runs": tally.runs,
        "overflow": tally.overflowed,
        "refused": sum(tally.refused.values()),
        "failures": len(tally.failures),
        "refused because": dict(tally.refused.most_common()),
        "failed": tally.failures,
    }


def main(
    count: Annotated[int, typer.Option(help="Programs to draw.")] = 45,
    seed: Annotated[int, typer.Option(help="Of the first program.")] = 0,
    kernels: Annotated[int, typer.Option(help="Kernels to run of each program.")] = 4,
    kind: Annotated[str | None, typer.Option(help=f"Only programs of this kind: {', '.join(KINDS)}.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    paper: Annotated[bool, typer.Option(help="The paper's configurations instead of random programs.")] = False,
    only: Annotated[str, typer.Option(help="With --paper: files with this in their name.")] = "",
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print one row for each kind of program, what was refused and why, and every failure with its seed."""
    if kind is not None and kind not in KINDS:
        raise typer.BadParameter(f"'{kind}' is none of {', '.join(KINDS)}", param_hint="--kind")
    console = Console(soft_wrap=True, markup=False, highlight=False)
    if paper:
        rows = list(paper_kernels.rows(only, console.print))
        show("The paper's configurations", rows, paper_kernels.COLUMNS)
        write(rows, output)
        raise typer.Exit(int(any(r["result"] not in paper_kernels.GOOD for r in rows)))
    found: dict[str, Tally] = {}
    try:
        for tally in tallies(range(seed, seed + count), kernels, kind, jobs):
            found.setdefault(tally.kind, Tally(tally.kind)).add(tally)
            for failure in tally.failures:
                console.print(f"FAILURE {failure}\n")
    except KeyboardInterrupt:
        console.print("interrupted; what was run so far:")
    total = Tally("all")
    for tally in found.values():
        total.add(tally)
    rows = [row(t) for t in (*found.values(), total)]
    show(
        "Random kernels", rows, COLUMNS, "overflow: runs with other results, where an operator of the program overflows"
    )
    for reason, times in total.refused.most_common():
        console.print(f"refused {times:5}: {reason}")
    write(rows, output)
    raise typer.Exit(int(bool(total.failures)))


if __name__ == "__main__":
    typer.run(main)
