"""``prism compile --islands``: what is written, and what is printed."""

from __future__ import annotations

from collections import Counter
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_mlir.graph.dtypes import DType
from prism_mlir.tools.emit import file_name, versions, write_all
from prism_mlir.tools.emit import render as render_island
from prism_mlir.tools.emit import report as report_island
from prism_mlir.tools.files import json_text
from prism_mlir.tools.terminal import Terminal

if TYPE_CHECKING:
    from prism_mlir.compiler.islands import IslandCompilation
    from prism_mlir.compiler.parts import BuiltPart
    from prism_mlir.compiler.pipeline import Compilation
    from prism_mlir.frontend.islands.find import Left


def render(done: IslandCompilation) -> dict[str, str]:
    """File name -> content. A folder for each island holds what a compilation of it alone writes.

    The same compilation gives the same bytes, timings in ``report.json`` aside.
    """
    islands = {
        f"{file_name(island.name)}/{name}": content
        for island, built in zip(done.cut.islands, done.islands, strict=True)
        for name, content in render_island(built).items()
    }
    name = file_name(done.cut.function)
    return {
        **islands,
        f"{name}.islands.mlir": done.cut.text,
        f"{name}.host.mlir": done.host,
        "report.json": json_text(report(done)) + "\n",
    }


def report(done: IslandCompilation) -> dict[str, Any]:
    """What happened on the way, as JSON values."""
    whole = done.whole
    return {
        "source": Path(done.source).name,
        "function": done.cut.function,
        "islands": [
            {"name": i.name, "operations": len(i.numbers), **_boundary(built), "report": report_island(built)}
            for i, built in zip(done.cut.islands, done.islands, strict=True)
        ],
        "left": [{"operation": x.operation, "place": str(x.location), "reason": x.reason} for x in done.cut.left],
        "whole": None
        if whole is None
        else {
            "skipped": whole.skipped,
            "results": [
                {"inputs": e.input_set, "result": e.result, "distance": e.distance, "allowed": e.allowed}
                for e in whole.errors
            ],
        },
        "target": done.options.target,
        "seed": done.options.seed,
        "versions": versions(),
        "seconds": done.seconds,
    }


def _boundary(built: Compilation) -> dict[str, list[str]]:
    """What an island reads from the rest of the function, and what it gives."""
    arguments = {i.arg: (i.arg_shape, i.dtype) for i in built.program.inputs if i.arg is not None}
    return {
        "reads": [_tensor(*arguments[k]) for k in sorted(arguments)],
        "gives": [_tensor(o.shape, o.dtype) for o in built.program.results],
    }


def _tensor(shape: tuple[int, ...], dtype: DType) -> str:
    return "x".join([*map(str, shape), dtype.value])


def write_islands(terminal: Terminal, done: IslandCompilation, output: Path) -> None:
    """Write the files of a compilation, and print what was done."""
    files = render(done)
    write_all(output, files)
    for title, text in lines(done, output, files):
        terminal.console.print(f"{title:<9}{text}", markup=False)
    terminal.result("compile", {"output": str(output), "files": sorted(files), "report": report(done)})


def lines(done: IslandCompilation, output: Path, files: dict[str, str]) -> list[tuple[str, str]]:
    """The summary, as titles and texts."""
    found: list[tuple[str, str]] = []
    for island, built in zip(done.cut.islands, done.islands, strict=True):
        ends = _boundary(built)
        sides = f"{len(ends['reads'])} tensors in, {', '.join(ends['gives'])} out"
        found.append(("island", f"{island.name}: {len(island.numbers)} operations, {_crossing(built)}, {sides}"))
        found += [("", _part(p)) for p in built.built.parts]
    found += _left(done.cut.left)
    calls = f"the function with launches is {file_name(done.cut.function)}.host.mlir, each island has a folder"
    found.append(("emitted", f"{len(files)} files in {output}: {calls}"))
    return found + _whole(done)


def _part(part: BuiltPart) -> str:
    """A kernel of an island: its operators, how many graphs were proved, and its modelled time."""
    operators = ", ".join(str(n.op) for n in part.part.program.nodes)
    proved, cost = len(part.discovery.proved), part.selection.ranked.cost
    return f"{part.part.program.name}: {operators} ({proved} graphs proved, model {cost.total_us:.1f} us)"


def _crossing(built: Compilation) -> str:
    """Bytes that an island takes and gives, once each."""
    arguments = {i.arg: prod(i.arg_shape) * i.dtype.bytes for i in built.program.inputs if i.arg is not None}
    total = sum(arguments.values()) + sum(prod(o.shape) * o.dtype.bytes for o in built.program.results)
    return f"{total:,} bytes across its edge"


def _left(left: tuple[Left, ...]) -> list[tuple[str, str]]:
    """What stays, like with like, each kind with the place of the first."""
    counts = Counter((x.operation, x.reason) for x in left)
    first = {(x.operation, x.reason): x.location for x in reversed(left)}
    rows = [
        f"{name}{f' ({count} times)' if count > 1 else ''}: {reason} ({first[name, reason]})"
        for (name, reason), count in counts.items()
    ]
    return [("stays" if k == 0 else "", row) for k, row in enumerate(rows)]


def _whole(done: IslandCompilation) -> list[tuple[str, str]]:
    if done.whole is None:
        return [("checked", "no (--no-check)")]
    if done.whole.skipped:
        return [("checked", f"each island; not the whole function, which cannot run here: {done.whole.skipped}")]
    worst = max(done.whole.errors, key=lambda e: e.distance / e.allowed if e.allowed else 0.0)
    share = worst.distance / worst.allowed if worst.allowed else 0.0
    text = (
        f"the whole function against its source on {len({e.input_set for e in done.whole.errors})} input sets: "
        f"at most {worst.distance:.3g} apart, relative to the norm ({share:.0%} of what is allowed)"
    )
    return [("checked", f"{text} ({done.seconds:.2f} s in all)")]
