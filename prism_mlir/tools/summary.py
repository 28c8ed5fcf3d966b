"""What ``prism compile`` says when it is done: found, proved, chosen, emitted, checked."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from prism_mlir.compiler.pipeline import Compilation
from prism_mlir.verify.verdict import Status


def print_summary(console: Console, done: Compilation, output: Path, files: dict[str, str]) -> None:
    """Print the summary of a compilation, a few lines a topic."""
    for title, text in _lines(done, output, files):
        console.print(f"{title:<9}{text}", markup=False)


def _lines(done: Compilation, output: Path, files: dict[str, str]) -> list[tuple[str, str]]:
    discovery, selection = done.discovery, done.selection
    counts, scheduled = discovery.funnel.counts, selection.ranked.scheduled
    statuses = [v.status for v in discovery.verdicts]
    launch = selection.kernel.launch.kernels[0]
    seconds = dict(done.seconds)
    lines = [
        ("program", f"{done.program.name}: {', '.join(str(n.op) for n in done.program.nodes)}"),
        (
            "found",
            f"{counts['structures']} structures from {counts['states']} partial graphs, "
            f"{len(statuses)} with concrete mappings ({discovery.search_seconds:.2f} s)",
        ),
        (
            "proved",
            f"{statuses.count(Status.PROVED)} of {len(statuses)} for all sizes, "
            f"{statuses.count(Status.REFUTED)} refuted, {statuses.count(Status.UNKNOWN)} unknown "
            f"({discovery.proof_seconds:.2f} s)",
        ),
        ("chosen", str(scheduled.graph)),
        ("", f"{_sizes(done)}, {scheduled.schedule.warps} warps, {scheduled.schedule.stages} stages, {_cost(done)}"),
        ("emitted", f"{', '.join(files)} in {output} ({seconds.get('choice and code', 0):.2f} s)"),
        ("", f"{launch.entry}: grid {_triple(launch.grid)}, block {_triple(launch.block)}, {_resources(done)}"),
    ]
    lines += [("stopped", reason) for reason in discovery.funnel.stopped_by]
    lines += [
        (
            "checked" if k == 0 else "",
            f"{a.input_set} inputs: error {a.error:.3g} ({a.used:.0%} of what is allowed), the source's own {a.source_error:.3g}",
        )
        for k, a in enumerate(done.accuracy)
    ]
    if done.accuracy:
        checks = "no bounds, initialisation, alignment, race or barrier error"
        lines.append(("", f"{checks} on the PTX machine ({seconds.get('check', 0):.2f} s)"))
    else:
        lines.append(("checked", "no (--no-check)"))
    return lines


def _sizes(done: Compilation) -> str:
    schedule = done.selection.ranked.scheduled.schedule
    return " ".join(f"d_{name}={size}" for name, size in schedule.sizes) or "one block"


def _cost(done: Compilation) -> str:
    selection = done.selection
    if selection.profile is not None:
        return f"measured {selection.profile.best.median_us:.1f} us"
    return f"model {selection.ranked.cost.total_us:.1f} us, limited by {selection.ranked.cost.limiter}"


def _resources(done: Compilation) -> str:
    shared = sum(done.selection.kernel.lowered.shared_bytes)
    report = done.selection.ptxas
    registers = "" if report is None else f", {report.registers} registers, no spills (ptxas)"
    return f"{shared} bytes of shared memory{registers}"


def _triple(extent: tuple[int, int, int]) -> str:
    return "x".join(map(str, extent))
