"""What the commands of ``prism ptx`` print: tables for people, and the same as JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rich.console import Console

from prism_mlir.runtime.ptx import Checks, RunResult
from prism_mlir.tools.ptx_arguments import Array, as_numbers
from prism_mlir.tools.ptx_check import Finding, enabled
from prism_mlir.tools.ptx_launch import Launch
from prism_mlir.tools.ptx_results import Comparison, figures
from prism_mlir.tools.ptx_stats import Derived, Size, count_rows, derived_rows
from prism_mlir.tools.terminal import new_table, print_table

FIRST = 4  # values of an output that are shown


def launch_data(launch: Launch) -> dict[str, Any]:
    """What was launched."""
    return {
        "kernel": launch.kernel.name,
        "file": str(launch.source),
        "grid": list(launch.grid),
        "block": list(launch.block),
        "shared_bytes": launch.shared_bytes,
    }


# -- run ----------------------------------------------------------------------------------------------------------


def run_data(
    launch: Launch,
    checks: Checks,
    result: RunResult,
    arrays: Mapping[int, Array],
    compared: Mapping[int, Comparison],
    exact_mma: bool = False,
) -> dict[str, Any]:
    """The outputs (``arrays`` by argument), and how they compare with what was expected."""
    return {
        **launch_data(launch),
        "engine": result.engine,
        "fallback_reason": result.fallback_reason,
        "checks": enabled(checks),
        "exact_mma": exact_mma,
        "outputs": [
            {
                "argument": i,
                "name": launch.names[i],
                "dtype": launch.arguments[i].dtype,
                "shape": list(array.shape),
                **asdict(figures(array, launch.arguments[i].dtype)),
                "unwritten_bytes": result.unwritten.get(i, 0),
                "expected": asdict(compared[i]) if i in compared else None,
            }
            for i, array in arrays.items()
        ],
    }


def print_run(
    console: Console,
    launch: Launch,
    checks: Checks,
    result: RunResult,
    arrays: Mapping[int, Array],
    compared: Mapping[int, Comparison],
    written: Sequence[tuple[int, Path]],
    exact_mma: bool = False,
) -> None:
    """The outputs as a table; ``written`` are the files that some went to."""
    sums = ", sums of mma as on Ampere" if exact_mma else ""
    lines = [("ran", f"{launch.title}; {result.engine} engine, {_checks_text(checks)}{sums}")]
    if result.fallback_reason:
        lines.append(("", f"the fast engine left it to the other one: {result.fallback_reason}"))
    print_lines(console, lines)
    table = new_table("output", "dtype", "shape", "min", "max", "mean", "NaN", "inf", "first", wrap="first")
    for column in table.columns[3:8]:
        column.justify = "right"
    for i, array in arrays.items():
        dtype = launch.arguments[i].dtype
        f = figures(array, dtype)
        shape = "x".join(map(str, array.shape)) or "one"
        values = [*map(_number, (f.min, f.max, f.mean)), f"{f.nan:,}", f"{f.infinite:,}", _first(array, dtype)]
        table.add_row(f"{i} {launch.names[i]}", dtype, shape, *values)
    if arrays:
        print_table(console, table)
    lines = [
        ("note", f"{missing:,} bytes of {i} {launch.names[i]} were never written")
        for i, missing in sorted(result.unwritten.items())
    ]
    lines += [("differs" if c.wrong else "equal", f"{i} {launch.names[i]} {c.text}") for i, c in compared.items()]
    print_lines(console, [*lines, *(("wrote", f"{i} {launch.names[i]} to {file}") for i, file in written)])


def _checks_text(checks: Checks) -> str:
    names = enabled(checks)
    return (
        "all checks" if len(names) == len(fields(Checks)) else f"checks: {', '.join(names)}" if names else "no checks"
    )


def _number(value: float | int | None) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def _first(array: Array, dtype: str) -> str:
    numbers = as_numbers(array.reshape(-1)[:FIRST], dtype)
    shown = " ".join(f"{v:.4g}" if isinstance(v, float) else str(int(v)) for v in numbers.tolist())
    return f"{shown} ..." if array.size > FIRST else shown


# -- check --------------------------------------------------------------------------------------------------------


def check_data(launch: Launch, checks: Checks, seeds: range, found: Sequence[Finding]) -> dict[str, Any]:
    """What was checked, and what was found."""
    return {
        **launch_data(launch),
        "checks": enabled(checks),
        "seeds": list(seeds),
        "findings": [
            {
                "kind": f.kind,
                "line": f.error.location.line if f.error.location else None,
                "column": f.error.location.col if f.error.location else None,
                "seeds": list(f.seeds),
                "report": str(f.error),
            }
            for f in found
        ],
    }


def print_check(console: Console, launch: Launch, checks: Checks, seeds: range, found: Sequence[Finding]) -> None:
    """One report a finding, then what was checked."""
    for finding in found:
        console.print(str(finding.error), markup=False)
        if len(seeds) > 1:
            shown = ", ".join(map(str, finding.seeds))
            console.print(
                f"  seen with: {'every seed' if len(finding.seeds) == len(seeds) else f'seed {shown}'}", markup=False
            )
        console.print()
    runs = f"{len(seeds)} runs, seeds 0 to {len(seeds) - 1}" if len(seeds) > 1 else "1 run"
    lines = [("checked", launch.title), ("", f"{runs}; {', '.join(enabled(checks))}")]
    if launch.undefined and checks.uninitialised:
        names = ", ".join(f"{i} {launch.names[i]}" for i in sorted(launch.undefined))
        lines.append(("", f"that every byte is written of {names}"))
    bugs = "1 bug" if len(found) == 1 else f"{len(found)} bugs"
    print_lines(console, [*lines, ("found", bugs) if found else ("clean", "nothing found")])


# -- stats --------------------------------------------------------------------------------------------------------


def stats_data(launch: Launch, result: RunResult) -> dict[str, Any]:
    """The counters and what follows from them."""
    counters = asdict(result.counters)
    del counters["detailed"]
    size, derived = asdict(Size.of(launch)), asdict(Derived.of(result.counters))
    return {**launch_data(launch), "launch": size, "counters": counters, "derived": derived}


def print_stats(console: Console, launch: Launch, result: RunResult) -> None:
    """The counters as a table, and what follows from them as another."""
    size = Size.of(launch)
    counted = {"block": size.blocks, "warp": size.warps, "thread": size.threads}
    of = ", ".join(f"{n:,} {what}{'s' * (n != 1)}" for what, n in counted.items())
    print_lines(console, [("counted", launch.title), ("", of)])
    counts = new_table("count", "total", "a block", "a warp")
    for name, n in count_rows(result.counters):
        counts.add_row(name, f"{n:,}", _quotient(n, size.blocks), _quotient(n, size.warps))
    derived = new_table("derived", "value", "", wrap="")
    for row in derived_rows(Derived.of(result.counters)):
        derived.add_row(*row)
    for column in (*counts.columns[1:], derived.columns[1]):
        column.justify = "right"
    print_table(console, counts)
    print_table(console, derived)


def _quotient(n: int, parts: int) -> str:
    return f"{n // parts:,}" if n % parts == 0 else f"{n / parts:,.2f}"


def print_lines(console: Console, lines: Sequence[tuple[str, str]]) -> None:
    """A topic in the first nine columns, and what there is to say about it."""
    for topic, text in lines:
        console.print(f"{topic:<9}{text}", markup=False)
