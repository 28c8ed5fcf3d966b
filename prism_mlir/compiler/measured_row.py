"""What a GPU is asked to measure for one program: kernels, recipes of inputs, and what the outputs should be."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.expected import expected_outputs, recipes
from prism_mlir.compiler.input_sets import ArgumentType
from prism_mlir.compiler.paper_rows import PaperRow, row_of, stem_of
from prism_mlir.compiler.parts import join_launches
from prism_mlir.compiler.pipeline import Compilation
from prism_mlir.compiler.select import build, describe
from prism_mlir.frontend.upstream import read_file
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import CodegenError, ExecutionError, Location, UnsupportedError
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.kernel import CustomNode
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.graph.schedule import ScheduledGraph
from prism_mlir.runtime.bundle.check import Expected, judge, save
from prism_mlir.runtime.bundle.inputs import draw
from prism_mlir.runtime.cpu_jit import compile_module

Array = NDArray[Any]
Check = Callable[[LaunchInfo, Mapping[str, str]], str]
"""Why code is wrong, or nothing."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that computes a program.

    peer:      prism, triton, torch, compile
    launch:    as in ``launch.json``; empty for torch
    files:     PTX by the names that ``launch`` uses
    function:  what torch is to call
    as_source: whether it may err as the source program does, since it rounds where that does
    """

    peer: str
    label: str
    launch: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    function: str = ""
    as_source: bool = False
    model_us: float | None = None


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """A program to be measured. ``inputs``: recipes; ``outputs``: dtype and shape; ``expected``: what they should be.

    left_out: schedules whose code failed a check on the PTX machine, and why
    """

    name: str
    workload: str
    size: str
    paper: float | None
    inputs: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]
    expected: tuple[Expected, ...]
    candidates: tuple[Candidate, ...] = ()
    left_out: tuple[str, ...] = ()

    def files(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The row of a bundle's manifest, and the files it names."""
        values = io.BytesIO()
        save(values, list(self.expected))
        folder = f"rows/{self.name}"
        files = {f"{folder}/expected.npz": values.getvalue()}
        listed = []
        for k, candidate in enumerate(self.candidates):
            entry: dict[str, Any] = {"peer": candidate.peer, "label": candidate.label}
            if candidate.model_us is not None:
                entry["model_us"] = candidate.model_us
            if candidate.function:
                entry["function"] = candidate.function
            else:
                place = f"{folder}/{candidate.peer}_{k}"
                entry |= {"launch": f"{place}/launch.json", "as_source": candidate.as_source}
                files[entry["launch"]] = (json.dumps(candidate.launch, indent=1) + "\n").encode()
                files |= {f"{place}/{name}": text.encode() for name, text in candidate.files.items()}
            listed.append(entry)
        row = {
            "name": self.name,
            "workload": self.workload,
            "size": self.size,
            "paper": self.paper,
            "inputs": [dict(r) for r in self.inputs],
            "outputs": [dict(o) for o in self.outputs],
            "values": f"{folder}/expected.npz",
            "candidates": listed,
            "left_out": list(self.left_out),
        }
        return row, files


def measured_row(
    done: Compilation, *, schedules: int = 1, torch: Collection[str] = (), check: bool = True
) -> MeasuredRow:
    """The row of a compiled program, of which the code need not be checked yet.

    check:     run every kernel on the PTX machine, on the inputs it is measured with: a race may not show on a GPU
    schedules: how many of the best schedules are candidates, where the program was built as one part
    torch:     of ``torch`` and ``compile``, which are candidates, where torch has a function for the program
    """
    upstream = read_file(done.source)
    source = compile_module(upstream.text, done.options.function)
    types = tuple(ArgumentType(a.shape, DType(a.element)) for a in source.arguments)
    inputs = recipes(types, done.options.seed)
    arguments = [draw(dict(r)) for r in inputs]
    stored = {v for cut in done.built.cuts for v in cut.values}
    expected = expected_outputs(done.program, arguments, source(*arguments), stored, tf32=done.options.allow_tf32)
    row = row_of(Path(done.source))
    shapes = " ".join("x".join(map(str, (*t.shape, t.dtype.value))) for t in types)

    def wrong(launch: LaunchInfo, ptx: Mapping[str, str]) -> str:
        return _wrong(Emulator(launch, ptx), arguments, expected) if check else ""

    ours, left_out = prism_candidates(done, schedules, wrong)
    return MeasuredRow(
        name=stem_of(Path(done.source)),
        workload=row.workload if row else stem_of(Path(done.source)),
        size=row.size if row else shapes,
        paper=row.over_mirage if row else None,
        inputs=inputs,
        outputs=tuple({"dtype": e.dtype, "shape": list(e.shape)} for e in expected),
        expected=expected,
        candidates=(*ours, *_torch_candidates(row, torch)),
        left_out=tuple(left_out),
    )


def prism_candidates(done: Compilation, schedules: int, check: Check) -> tuple[list[Candidate], list[str]]:
    """The kernels that were chosen and those of the next best schedules that can be built; and what was left out, and why.

    Raises :class:`ExecutionError` where all are wrong.
    """
    found, left_out = list[Candidate](), list[str]()
    for candidate, launch in _built(done):
        if len(found) >= schedules:
            break
        wrong = check(launch, candidate.files)
        if wrong:
            left_out.append(f"{candidate.label}: {wrong}")
        else:
            found.append(candidate)
    if not found:
        raise ExecutionError(left_out[0], Location(done.source), "report this as a bug of Prism")
    return found, left_out


def _built(done: Compilation) -> Iterator[tuple[Candidate, LaunchInfo]]:
    """Code of the best schedules, best first; of a program in parts, of the chosen ones alone."""
    parts = done.built.parts
    label = describe(done.selection.ranked.scheduled) if len(parts) == 1 else f"{len(parts)} parts"
    model_us = sum(p.selection.ranked.cost.total_us for p in parts)
    yield Candidate("prism", label, done.launch.to_dict(), done.built.ptx, model_us=model_us), done.launch
    for scheduled, other_us in _others(done) if len(parts) == 1 else ():
        try:
            kernel, _ = build(parts[0].part.program, scheduled, done.options.target)
        except (ScheduleError, CodegenError, UnsupportedError):
            continue
        launch = join_launches(done.program, [replace(parts[0], selection=replace(done.selection, kernel=kernel))])
        ptx = {kernel.launch.kernels[0].ptx: kernel.ptx}
        yield Candidate("prism", describe(scheduled), launch.to_dict(), ptx, model_us=other_us), launch


def _others(done: Compilation) -> Iterator[tuple[ScheduledGraph, float]]:
    """The best schedules beside the chosen one, with their modelled times, of a program that was built as one part."""
    (part,) = done.built.parts
    proved = [g for g in part.discovery.proved if all(isinstance(n, CustomNode) for n in g.nodes)]
    made, _ = code_graphs(part.part.program, proved, tf32=done.options.allow_tf32)
    codes = {code.fingerprint: code for code in reversed(made)}
    for considered in part.selection.considered:
        scheduled = ScheduledGraph(codes[considered.graph], considered.schedule)
        if scheduled != part.selection.ranked.scheduled:
            yield scheduled, considered.model_us


def _wrong(emulator: Emulator, arguments: Sequence[Array], expected: Sequence[Expected]) -> str:
    """Why code is wrong for some inputs, or nothing."""
    try:
        return judge(list(emulator(arguments)), list(expected)).reason
    except ExecutionError as error:
        return error.message


def _torch_candidates(row: PaperRow | None, peers: Collection[str]) -> list[Candidate]:
    labels = {"torch": "eager", "compile": "max-autotune"}
    return [Candidate(p, labels[p], function=row.torch) for p in ("torch", "compile") if row and p in peers]
