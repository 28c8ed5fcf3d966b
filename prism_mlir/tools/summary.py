"""What ``prism compile`` says when it is done: found, proved, chosen, emitted, checked."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from rich.console import Console

from prism_mlir.compiler.anytime import Round
from prism_mlir.compiler.discover import Discovery
from prism_mlir.compiler.parts import BuiltPart
from prism_mlir.compiler.pipeline import Compilation
from prism_mlir.compiler.selection import Selection
from prism_mlir.graph.launch_info import KernelLaunch
from prism_mlir.search.limits import OUT_OF_TIME
from prism_mlir.tools.search_options import with_advice
from prism_mlir.verify.verdict import Status


def print_summary(console: Console, done: Compilation, output: Path, files: dict[str, str]) -> None:
    """Print the summary of a compilation, a few lines a topic."""
    for title, text in _lines(done, output, files):
        console.print(f"{title:<9}{text}", markup=False)


def _lines(done: Compilation, output: Path, files: dict[str, str]) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for k, built in enumerate(done.built.parts):
        if k > 0:
            cut = done.built.cuts[k - 1]
            lines.append(("cut", f"{len(cut.values)} tensors kept between, {cut.bytes} bytes written and read"))
        lines += _part_lines(built, done.options.time_limit)
    seconds = dict(done.seconds)
    lines.append(
        ("emitted", f"{', '.join(files)} in {output} ({seconds['search, proof, choice and code']:.2f} s so far)")
    )
    lines += [("", _kernel_line(kernel, done)) for kernel in done.launch.kernels]
    lines += [("left out", f"graph {g.graph}: {g.reason}") for g in done.left_out]
    lines += [("time" if k == 0 else "", _round_line(r)) for k, r in enumerate(done.rounds)]
    lines += [
        (
            "checked" if k == 0 else "",
            f"{a.input_set} inputs: error {a.error:.3g} ({a.used:.0%} of what is allowed), the source's own {a.source_error:.3g}",
        )
        for k, a in enumerate(done.accuracy)
    ]
    if done.accuracy:
        checks = "no bounds, initialisation, alignment, race or barrier error"
        when = "on record" if done.checked_before else f"{seconds.get('check', 0):.2f} s"
        lines.append(("", f"{checks} on the PTX machine ({when})"))
    else:
        lines.append(("checked", "no (--no-check)"))
    return [*lines, ("page", f"prism report {shlex.quote(str(output))}")]


def _part_lines(built: BuiltPart, time_limit: float | None) -> list[tuple[str, str]]:
    discovery, scheduled = built.discovery, built.selection.ranked.scheduled
    counts, statuses = discovery.funnel.counts, [v.status for v in discovery.verdicts]
    chosen = str(built.selection.graph).splitlines()
    return [
        ("program", f"{built.part.program.name}: {', '.join(str(n.op) for n in built.part.program.nodes)}"),
        (
            "found",
            f"{counts['structures']} structures from {counts['states']} partial graphs, "
            f"{len(statuses)} with concrete mappings ({_when(discovery, discovery.search_seconds)})",
        ),
        *(("stopped", _stopped(reason, time_limit)) for reason in discovery.funnel.stopped_by),
        *(("left", what) for what in discovery.funnel.left),
        (
            "proved",
            f"{statuses.count(Status.PROVED)} of {len(statuses)} for all sizes, "
            f"{statuses.count(Status.REFUTED)} refuted, {statuses.count(Status.UNKNOWN)} unknown "
            f"({_when(discovery, discovery.proof_seconds)})",
        ),
        ("space", f"{built.selection.space}{' (on record)' if built.selection.recorded else ''}"),
        *(("chosen" if k == 0 else "", line) for k, line in enumerate(chosen)),
        ("", f"{_sizes(built)}, {scheduled.schedule.phrase}, {_cost(built.selection)}"),
    ]


def _stopped(reason: str, time_limit: float | None) -> str:
    """Why a search ended, in terms of the limit that was given, of which a search gets a part.

    >>> _stopped("time limit of 1.25 s", 10.0), _stopped("states limit of 5", 10.0)
    ('time limit of 10 s, of which this search had 1.2 s', 'states limit of 5 (raise it with --max-states)')
    """
    own = re.fullmatch(rf"{OUT_OF_TIME} of ([0-9.e+-]+) s", reason)
    if own is None or time_limit is None:
        return with_advice(reason)
    return f"{OUT_OF_TIME} of {time_limit:g} s, of which this search had {float(own[1]):.1f} s"


def _round_line(done: Round) -> str:
    model = "" if done.model_us is None else f"model {done.model_us:.1f} us, "
    return f"{done.name} search: {model}{done.outcome} (after {done.seconds:.1f} s)"


def _when(discovery: Discovery, seconds: float) -> str:
    return "on record" if discovery.recorded else f"{seconds:.2f} s"


def _sizes(built: BuiltPart) -> str:
    schedule = built.selection.ranked.scheduled.schedule
    return " ".join(f"d_{name}={size}" for name, size in schedule.sizes) or "one block"


def _cost(selection: Selection) -> str:
    if selection.profile is not None:
        return f"measured {selection.profile.best.median_us:.1f} us"
    return f"model {selection.ranked.cost.total_us:.1f} us, limited by {selection.ranked.cost.limiter}"


def _kernel_line(kernel: KernelLaunch, done: Compilation) -> str:
    report = next(p.selection.ptxas for p in done.built.parts if p.selection.kernel.launch.kernels[0].ptx == kernel.ptx)
    registers = "" if report is None else f", {report.registers} registers, no spills (ptxas)"
    return (
        f"{kernel.entry}: grid {_triple(kernel.grid)}, block {_triple(kernel.block)}, "
        f"{kernel.shared_bytes} bytes of shared memory{registers}"
    )


def _triple(extent: tuple[int, int, int]) -> str:
    return "x".join(map(str, extent))
