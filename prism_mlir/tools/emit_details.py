"""``details.json``: what a page about a compilation needs and ``report.json`` does not say.

    format   "prism details 1"
    target   the chip: name, clocks, bandwidths, sizes
    program  inputs, operators and outputs, with shapes and dtypes
    roofline least time of the program, with its bytes and multiply-adds
    parts    for each part: its operators, its proved graphs (the best ranked first, at most ``MOST_GRAPHS``), the ranking (at
             most ``ranking.MOST`` schedules), the chosen kernels with their costs and shared memory, and what a kernel for each
             operator by itself would take

It is written beside ``report.json`` by ``prism compile``; nothing here is searched, proved or built again.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from statistics import median
from typing import Any

from prism_mlir.codegen.memory_plan import plan_memory
from prism_mlir.compiler.parts import BuiltPart
from prism_mlir.compiler.pipeline import Compilation
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.data import graph_to_data, schedule_to_data
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode, program_types
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.search.viewed_part import viewed_part
from prism_mlir.tools.files import json_text
from prism_mlir.tune.cost import KernelCost, cost
from prism_mlir.tune.profile import Profile
from prism_mlir.tune.roofline import Roofline, roofline
from prism_mlir.tune.sized import SizedKernel, sized_kernels
from prism_mlir.tune.targets import Target, find_target

FORMAT = "prism details 1"
MOST_GRAPHS = 48

_TARGET = [
    "name",
    "arch",
    "description",
    "sms",
    "clock_ghz",
    "tensor_fma",
    "f32_fma",
    "dram_gbs",
    "dram_sustained",
    "l2_bytes",
    "shared_per_sm",
    "shared_per_block",
    "launch_us",
    "ramp_us",
]
_COST = [f.name for f in fields(KernelCost) if f.name != "work"]


def details_text(done: Compilation) -> str:
    """The file: one line for each schedule, so that it can be read and compared."""
    return _text(details(done)) + "\n"


def details(done: Compilation) -> dict[str, Any]:
    """The content of ``details.json``."""
    target = find_target(done.options.target)
    parts = [_part(done, built, target) for built in done.built.parts]
    return {
        "format": FORMAT,
        "target": {name: getattr(target, name) for name in _TARGET},
        "program": _program(done.program),
        "roofline": _roofline(roofline(done.program, target)),
        "parts": parts,
    }


def _part(done: Compilation, built: BuiltPart, target: Target) -> dict[str, Any]:
    program, selection, part = built.part.program, built.selection, built.part
    alone = (viewed_part(done.program, k, k + 1) for k in range(part.first, part.last))
    return {
        "name": program.name,
        "operators": [part.first, part.last],
        "program": _program(program),
        "roofline": _roofline(roofline(program, target)),
        **_graphs(done, built),
        "ranking": None if selection.ranking is None else selection.ranking.to_dict(),
        "measured": measured_rows(selection.profile),
        "code": graph_to_data(selection.ranked.scheduled.graph),
        "kernels": _kernels(program, selection.ranked.scheduled, target),
        "unfused": [_alone(one.program, target) for one in alone if one is not None],
    }


def _program(program: Program) -> dict[str, Any]:
    """Values are numbered: inputs first, then one a node."""
    offset = len(program.inputs)
    nodes = (
        {
            "op": str(n.op),
            "operands": list(n.operands),
            "shape": list(program.shapes[offset + k]),
            "dtype": program.dtype_of(offset + k).value,
        }
        for k, n in enumerate(program.nodes)
    )
    return {
        "name": program.name,
        "inputs": [{"name": i.name, "shape": list(i.shape), "dtype": i.dtype.value} for i in program.inputs],
        "nodes": list(nodes),
        "outputs": [
            {"name": o.name, "value": o.value, "shape": list(o.shape), "dtype": o.dtype.value} for o in program.outputs
        ],
    }


def _roofline(floor: Roofline) -> dict[str, Any]:
    return {**asdict(floor), "total_us": floor.total_us}


def _graphs(done: Compilation, built: BuiltPart) -> dict[str, Any]:
    """The proved graphs, the chosen one first, then by the best schedule of each; those that no schedule ranks come last."""
    proved, program = built.discovery.proved, built.part.program
    buildable = [g for g in proved if all(isinstance(n, CustomNode) for n in g.nodes)]
    made, _ = code_graphs(program, buildable, tf32=done.options.allow_tf32)
    code_of = {graph: code.fingerprint for code, graph in made.items()}
    points = () if built.selection.ranking is None else built.selection.ranking.points
    rank: dict[str, int] = {}
    for k, point in enumerate(points):
        rank.setdefault(point.graph, k)

    def order(graph: KernelGraph) -> tuple[bool, int]:
        return graph != built.selection.graph, rank.get(code_of.get(graph, ""), len(points))

    shown = sorted(proved, key=order)[:MOST_GRAPHS]
    rows = ({"fingerprint": g.fingerprint, "code": code_of.get(g), "graph": graph_to_data(g)} for g in shown)
    return {"proved": len(proved), "graphs": list(rows)}


def measured_rows(profile: Profile | None) -> list[dict[str, Any]]:
    """Schedules that a GPU timed, fastest first: medians in microseconds, with inputs in memory and, where known, in L2."""
    timings = () if profile is None else profile.timings
    return [
        {
            "graph": t.scheduled.graph.fingerprint,
            "schedule": schedule_to_data(t.scheduled.schedule),
            "us": t.median_us,
            "warm_us": median(t.warm) if t.warm else None,
        }
        for t in timings
    ]


def _kernels(program: Program, scheduled: ScheduledGraph, target: Target) -> list[dict[str, Any]]:
    sized = sized_kernels(scheduled.graph, scheduled.schedule, program)
    costs = cost(scheduled, target, program).kernels
    return [_kernel(sized[k], c) for k, c in enumerate(costs) if k in sized]


def _kernel(sized: SizedKernel, own: KernelCost) -> dict[str, Any]:
    plan, sizes = plan_memory(sized.placement), sized.schedule.size_of
    return {
        "grid": {p: sizes[p] for p in sized.block.grid},
        "loop": None if sized.block.loop is None else {sized.block.loop: sized.iterations},
        "stages": sized.schedule.stages,
        "warps": sized.schedule.warps,
        "tiles": [list(t) for t in sized.placement.tiles],
        "copies": {str(k): sized.load_bytes(k) for k in sized.block.loads},
        "cost": {**{name: getattr(own, name) for name in _COST}, "total_us": own.total_us},
        "shared": {
            "total": plan.total,
            "buffers": [
                {
                    "node": b.node,
                    "kind": b.kind,
                    "dtype": b.dtype.value,
                    "slots": b.slots,
                    "bytes": b.bytes,
                    "offset": plan.offsets[b.key],
                    "first": b.first.value,
                    "last": b.last.value,
                }
                for b in plan.buffers.values()
            ],
        },
    }


def _alone(program: Program, target: Target) -> dict[str, Any]:
    """One operator as a predefined kernel, its operands and result in memory."""
    (node,) = program.nodes
    graph = KernelGraph(program_types(program), (LibraryNode(node.op, node.operands),), (len(program.inputs),))
    found = cost(ScheduledGraph(graph, Schedule(())), target, program)
    (kernel,) = found.kernels
    return {
        "op": str(node.op),
        "us": found.total_us,
        "dram_bytes": kernel.dram_bytes,
        "tensor_fma": kernel.tensor_fma,
        "f32_fma": kernel.f32_fma,
        "kernel_us": kernel.total_us,
        "limiter": kernel.limiter,
    }


def _text(value: Any, indent: str = "") -> str:
    """JSON in which what is short is one line."""
    flat = json_text(value, indent=None)
    if not isinstance(value, dict | list) or len(flat) <= 160:
        return flat
    deeper = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"{deeper}{_text(v, deeper)}" for v in value) + f"\n{indent}]"
    pairs = (f"{deeper}{json_text(k, indent=None)}: {_text(v, deeper)}" for k, v in value.items())
    return "{\n" + ",\n".join(pairs) + f"\n{indent}}}"
