"""Choices on record: which schedule of which proved graph was built for a program at its sizes, and its code.

A record is found again by what the choice depends on: the program as it is (sizes, types, views, names), the family, the target,
the options, the code of this project and of what it stands on. Code lies among the objects by its content, and what is read is
hashed again, so that no other code than what was built is ever returned.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from prism_mlir.codegen.compile import CompiledKernel, LoweredKernel
from prism_mlir.codegen.external import PtxasReport, find_tool
from prism_mlir.codegen.ptx import PtxEntry, PtxResult
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.ranking import Ranking
from prism_mlir.compiler.selection import Considered, Selection, Space
from prism_mlir.compiler.source_digest import CODE_AREAS, CODE_LIBRARIES, hash_of, source_digest
from prism_mlir.graph.code_graph import code_graph
from prism_mlir.graph.data import graph_from_data, graph_to_data, schedule_from_data, schedule_to_data
from prism_mlir.graph.dynamic import DynamicProgram
from prism_mlir.graph.errors import CodegenError, InputError, PrismError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.launch_info import Fields, LaunchInfo
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import ScheduledGraph
from prism_mlir.tune.choose import Ranked
from prism_mlir.tune.cost import cost
from prism_mlir.tune.profile import Timing
from prism_mlir.tune.records.store import Records
from prism_mlir.tune.targets import find_target

FORMAT = 1
MODEL = "model"
DEVICE, DEVICE_WARM = "device", "device, warm"  # with nothing of the inputs in L2, and with all that fits


@dataclass(frozen=True)
class Choices:
    """The choice on record for one program under some options.

    family: key of the family's record, under which choices are listed
    dynamic: what of the program has a size that is known at launch; the program is at the largest sizes then
    graphs: what a search found that did not come to its end, so that the family's key does not say it
    """

    records: Records
    family: str
    program: Program
    options: CompileOptions
    dynamic: DynamicProgram | None = None
    graphs: tuple[KernelGraph, ...] = ()

    @cached_property
    def key(self) -> str:
        """What the choice depends on, as a hash."""
        program, options = self.program, self.options
        return hash_of(
            {
                "format": FORMAT,
                "family": self.family,
                "program": [program.fingerprint, program.name],
                "dynamic": self._dynamic,
                "names": [[i.name for i in program.inputs], [o.name for o in program.outputs]],
                "target": options.target,
                "options": [options.samples, options.builds, options.seed, options.allow_tf32],
                "exclude": sorted(options.exclude),
                "graphs": [g.fingerprint for g in self.graphs],
                "code": source_digest(CODE_AREAS, CODE_LIBRARIES),
                "ptxas": tool_stamp("ptxas"),
            }
        )

    @property
    def _dynamic(self) -> list[Any]:
        d = self.dynamic
        return [] if d is None else [list(d.names), list(d.primes), d.twin.fingerprint]

    @property
    def _sizes(self) -> tuple[str, ...]:
        """Names of the sizes that launches depend on."""
        return () if self.dynamic is None else self.dynamic.names

    def read(self, graphs: Sequence[KernelGraph]) -> Selection | CodegenError | None:
        """The choice, or that nothing can be built; ``None`` where nothing, or nothing sound, is on record.

        graphs: the program's proved graphs; a choice of another one is not returned
        """
        if not self.family:
            return None
        payload = self.records.choice(self.key)
        if payload is None:
            return None
        try:
            data = json.loads(payload)
            if "error" in data:
                return CodegenError(str(data["error"]), None, data["hint"] and str(data["hint"]))
            return self._selection(data, graphs)
        except (PrismError, KeyError, TypeError, ValueError, AttributeError):
            return None

    def write(self, selection: Selection) -> None:
        """Record a choice with its candidates, their modelled and measured times, and the code."""
        if not self.family:
            return
        add = self.records.add_object
        kernel = selection.kernel
        objects = {
            "module": add(kernel.lowered.gpu_module.encode(), "gpu.module"),
            "ptx": add(kernel.ptx.encode(), "ptx"),
        }
        if selection.ranking is not None:
            objects["ranking"] = add(selection.ranking.to_bytes(), "ranking")
        self.records.add_choice(
            self.key,
            self.family,
            json.dumps(_payload(selection, objects, self._sizes)),
            self._about([*objects.values()]),
        )
        self._measurements(selection)

    def write_failure(self, error: CodegenError) -> None:
        """Record that nothing can be built, so that nobody tries again."""
        if self.family:
            payload = {"format": FORMAT, "error": error.message, "hint": error.hint}
            self.records.add_choice(self.key, self.family, json.dumps(payload), self._about([]))

    def _about(self, objects: list[str]) -> dict[str, Any]:
        options = self.options
        return {
            "program": self.program.name,
            "sizes": [list(i.shape) for i in self.program.inputs],
            "dtype": sorted({i.dtype.value for i in self.program.inputs}),
            "target": options.target,
            "options": {"samples": options.samples, "seed": options.seed, "allow_tf32": options.allow_tf32},
            "objects": objects,
        }

    def _measurements(self, selection: Selection) -> None:
        here = {"target": self.options.target, "code": source_digest(CODE_AREAS, CODE_LIBRARIES)}
        for c in selection.considered:
            self.records.add_measurement(self.key, c.name, MODEL, c.model_us, None, here)
        for timing in () if selection.profile is None else selection.profile.timings:
            name = Considered.name_of(timing.scheduled)
            self.records.add_measurement(self.key, name, DEVICE, timing.median_us, timing.iqr_us, here)
            if timing.warm:
                warm = Timing(timing.scheduled, timing.warm)
                self.records.add_measurement(self.key, name, DEVICE_WARM, warm.median_us, warm.iqr_us, here)

    def _selection(self, data: Any, graphs: Sequence[KernelGraph]) -> Selection | None:
        graph, schedule = graph_from_data(data["graph"]), schedule_from_data(data["schedule"])
        module, ptx = (self.records.object(str(data["objects"][k])) for k in ("module", "ptx"))
        if data["format"] != FORMAT or graph not in graphs or module is None or ptx is None:
            return None
        scheduled = ScheduledGraph(code_graph(self.program, graph, tf32=self.options.allow_tf32), schedule)
        launch = _at_largest(LaunchInfo.from_fields(Fields(data["launch"], ""), self._sizes), data["largest"])
        lowered = LoweredKernel(module.decode(), launch)
        major, minor = map(int, data["ptx_version"])
        entries = tuple(_entry(e) for e in data["entries"])
        return Selection(
            graph,
            Ranked(scheduled, cost(scheduled, find_target(self.options.target), self.program)),
            CompiledKernel(lowered, PtxResult(ptx.decode(), entries, (major, minor), str(data["arch"]))),
            Space.from_dict(data["space"]),
            tuple(Considered.from_dict(c) for c in data["considered"]),
            tuple((str(s), str(r)) for s, r in data["refused"]),
            None if data["ptxas"] is None else _report(data["ptxas"]),
            recorded=True,
            ranking=self._ranking(data["objects"].get("ranking")),
        )

    def _ranking(self, digest: Any) -> Ranking | None:
        """What people may look at; nothing depends on it, so it may be missing."""
        packed = None if digest is None else self.records.object(str(digest))
        try:
            return None if packed is None else Ranking.from_bytes(packed)
        except InputError:
            return None


def tool_stamp(name: str) -> str:
    """What tells one installed program from another: its size and time; empty where there is none."""
    path = find_tool(name)
    if path is None:
        return ""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _payload(selection: Selection, objects: dict[str, str], sizes: Sequence[str]) -> dict[str, Any]:
    kernel, report = selection.kernel, selection.ptxas
    return {
        "format": FORMAT,
        "graph": graph_to_data(selection.graph),
        "schedule": schedule_to_data(selection.ranked.scheduled.schedule),
        "objects": objects,
        "launch": kernel.launch.to_dynamic_dict(sizes),
        "largest": _largest(kernel.launch),
        "arch": kernel.result.target,
        "ptx_version": list(kernel.result.ptx_version),
        "entries": list(_entries(kernel.result.entries)),
        "ptxas": None if report is None else [report.registers, report.shared, report.spills, report.log],
        "refused": [list(r) for r in selection.refused],
        "space": selection.space.to_dict(),
        "considered": [c.to_dict() for c in selection.considered],
    }


def _largest(launch: LaunchInfo) -> list[Any]:
    """Grids and shapes for the largest sizes, which launch descriptions with open sizes do not say."""
    return [[list(k.grid), [[list(a.shape), list(a.strides)] for a in k.arguments]] for k in launch.kernels]


def _at_largest(launch: LaunchInfo, largest: Any) -> LaunchInfo:
    """The inverse of :func:`_largest`."""
    kernels = []
    for kernel, (grid, shapes) in zip(launch.kernels, largest, strict=True):
        x, y, z = map(int, grid)
        arguments = tuple(
            replace(a, shape=tuple(map(int, shape)), strides=tuple(map(int, strides)))
            for a, (shape, strides) in zip(kernel.arguments, shapes, strict=True)
        )
        kernels.append(replace(kernel, grid=(x, y, z), arguments=arguments))
    return replace(launch, kernels=tuple(kernels))


def _entries(entries: Sequence[PtxEntry]) -> Iterator[dict[str, Any]]:
    for e in entries:
        block = None if e.block is None else list(e.block)
        yield {"name": e.name, "parameters": e.parameters, "shared": e.shared_bytes, "block": block}


def _entry(data: Any) -> PtxEntry:
    block = None if data["block"] is None else tuple(map(int, data["block"]))
    return PtxEntry(str(data["name"]), int(data["parameters"]), int(data["shared"]), block)


def _report(data: Any) -> PtxasReport:
    registers, shared, spills, log = data
    return PtxasReport(int(registers), int(shared), int(spills), str(log))
