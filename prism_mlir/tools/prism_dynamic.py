"""``prism compile`` of a function with dynamic sizes: what is written, and what is printed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_mlir.graph.data import schedule_to_data
from prism_mlir.graph.errors import InputError
from prism_mlir.tools.emit import file_name, versions, write_all
from prism_mlir.tools.files import json_text
from prism_mlir.tools.terminal import Terminal
from prism_mlir.tools.usage import UsageError

if TYPE_CHECKING:
    from prism_mlir.compiler.dynamic import DynamicCompilation, Variant
    from prism_mlir.compiler.dynamic_check import SizeCheck
    from prism_mlir.compiler.options import CompileOptions
    from prism_mlir.tune.records.store import Records


def compile_sizes(
    source: Path,
    options: CompileOptions,
    sizes: tuple[int | None, tuple[str, ...]],
    progress: Callable[[str], None],
    records: Records,
) -> DynamicCompilation | None:
    """Compile a function with ``?`` in its arguments; ``None`` for one without.

    sizes: the largest size that code serves, if that is given, and those that get static code

    Raises :class:`UsageError` where sizes are given for one without, are none, or a GPU is to choose.
    """
    text = b""
    if source.is_file():
        text = source.read_bytes()
    largest, exact = sizes
    if b"?" in text:
        from prism_mlir.compiler.buckets import LARGEST, SizeOptions, numbers_of
        from prism_mlir.compiler.dynamic import compile_dynamic
        from prism_mlir.frontend.specialise import dynamic_source

        for given in exact:
            try:
                numbers_of(given.rpartition("=")[2], largest or LARGEST)
            except InputError as error:
                raise UsageError(f"--sizes {given}: {error.message}", None, error.hint) from None
        found = dynamic_source(source, options.function)
        if found.dims:
            if options.profile:
                raise UsageError(
                    "a GPU does not choose between schedules for dynamic sizes", None, "leave --profile out"
                )
            return compile_dynamic(
                found, options, SizeOptions(largest or LARGEST, exact), progress=progress, records=records
            )
    for option, value in (("--sizes", exact), ("--max-size", largest)):
        if value:
            raise UsageError(
                f"{option} is for functions with `?` in their arguments, and this one has none", None, "remove it"
            )
    return None


def write_sizes(terminal: Terminal, done: DynamicCompilation, output: Path) -> None:
    """Write the files of a compilation, and print what was done."""
    files = render(done)
    write_all(output, files)
    for title, text in _lines(done, output, files):
        terminal.console.print(f"{title:<9}{text}", markup=False)
    terminal.result("compile", {"output": str(output), "files": sorted(files), "report": report(done)})


def render(done: DynamicCompilation) -> dict[str, str]:
    """File name -> content. The same compilation gives the same bytes, timings in ``report.json`` aside."""
    return {
        **done.ptx,
        "launch.json": json_text(done.dispatch.to_dict()) + "\n",
        f"{file_name(done.function.source.function)}.host.mlir": done.host,
        "report.json": json_text(report(done)) + "\n",
    }


def report(done: DynamicCompilation) -> dict[str, Any]:
    """What happened on the way, as JSON values."""
    limits = done.options.limits
    return {
        "source": Path(done.source).name,
        "function": done.function.source.function,
        "sizes": [
            {"name": name, "dims": [list(d) for d in dims]}
            for name, dims in zip(done.function.names, done.function.groups, strict=True)
        ],
        "operators": [str(n.op) for n in done.function.program.twin.nodes],
        "variants": [_variant(v) for v in done.variants],
        "unserved": [{"from": list(b.low), "to": list(b.high), "reason": r} for b, r in done.unserved],
        "checks": [_check(c) for c in done.checks],
        "target": done.options.target,
        "seed": done.options.seed,
        "limits": {k: getattr(limits, k) for k in limits.__dataclass_fields__},
        "versions": versions(),
        "seconds": dict(done.seconds),
    }


def _variant(variant: Variant) -> dict[str, Any]:
    parts = []
    for part in variant.built.parts:
        selection = part.selection
        schedule, cost = selection.ranked.scheduled.schedule, selection.ranked.cost
        parts.append(
            {
                "name": part.part.program.name,
                "verdict": part.discovery.verdict_of(selection.graph).to_dict(),
                "graph": {"fingerprint": selection.graph.fingerprint, "text": str(selection.graph)},
                "schedule": schedule_to_data(schedule),
                "cost": {"total_us": cost.total_us, "limiter": cost.limiter, "dram_bytes": cost.dram_bytes},
            }
        )
    return {"from": list(variant.bucket.low), "to": list(variant.bucket.high), "parts": parts}


def _check(check: SizeCheck) -> dict[str, Any]:
    results = None if check.accuracy is None else [a.to_dict() for a in check.accuracy]
    return {
        "variant": list(check.bucket.high),
        "sizes": list(check.sizes),
        "in_part": check.in_part,
        "accuracy": results,
    }


def _lines(done: DynamicCompilation, output: Path, files: dict[str, str]) -> list[tuple[str, str]]:
    names, seconds = done.function.names, dict(done.seconds)
    twin = done.function.program.twin
    lines = [("program", f"{done.function.source.function}: {', '.join(str(n.op) for n in twin.nodes)}")]
    for name, dims in zip(names, done.function.groups, strict=True):
        places = ", ".join(f"dim {d} of {done.function.source.names[a]}" for a, d in dims)
        lines.append(("size", f"{name}: {places}"))
    for k, variant in enumerate(done.variants):
        lines.append(("chosen" if k == 0 else "", f"{variant.bucket.label(names)}: {_chosen(variant)}"))
    lines += [("", f"{b.label(names)}: none of its own ({reason})") for b, reason in done.unserved]
    lines.append(
        ("emitted", f"{', '.join(files)} in {output} ({seconds['search, proof, choice and code']:.2f} s so far)")
    )
    return [*lines, *_checked(done), ("page", f"prism report {shlex.quote(str(output))}")]


def _chosen(variant: Variant) -> str:
    rows = []
    for part in variant.built.parts:
        schedule, cost = part.selection.ranked.scheduled.schedule, part.selection.ranked.cost
        sizes = " ".join(f"d_{name}={size}" for name, size in schedule.sizes) or "one block"
        rows.append(f"{sizes}, {schedule.phrase}, model {cost.total_us:.1f} us")
    return "; ".join(rows)


def _checked(done: DynamicCompilation) -> list[tuple[str, str]]:
    names = done.function.names
    if not done.checks:
        return [("checked", "no (--no-check)")]
    lines: list[tuple[str, str]] = []
    for variant in done.variants:
        own = [c for c in done.checks if c.bucket == variant.bucket]
        run = [_at(c) for c in own if c.accuracy is not None]
        skipped = [_at(c) for c in own if c.accuracy is None]
        used = max((a.used for c in own for a in c.accuracy or ()), default=0.0)
        done_at = [f"run at {', '.join(run)}, error {used:.0%} of what is allowed"] if run else []
        left = [f"not run at {', '.join(skipped)}, too much for the PTX machine"] if skipped else []
        text = f"{variant.bucket.label(names)}: {'; '.join([*done_at, *left])}"
        lines.append(("checked" if not lines else "", text))
    checks = "no bounds, initialisation, alignment, race or barrier error"
    return [*lines, ("", f"{checks} on the PTX machine ({dict(done.seconds)['check']:.2f} s)")]


def _at(check: SizeCheck) -> str:
    return "x".join(map(str, check.sizes)) + (" (some blocks)" if check.in_part else "")
