"""What a schedule costs, and why: from a program to the terms of one schedule, or to the best few side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from prism_mlir.codegen.compile import CompiledKernel, feasible
from prism_mlir.codegen.external import find_tool
from prism_mlir.compiler.counting import counted_kernels, held
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.parts import nothing_proved
from prism_mlir.compiler.select import build, check_outputs, select
from prism_mlir.compiler.task_pool import open_pool
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.errors import CodegenError, InputError
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.choose import choose
from prism_mlir.tune.cost import cost
from prism_mlir.tune.counted import counted_time
from prism_mlir.tune.explain_cost import (
    Explanation,
    Term,
    Value,
    compare_row,
    explain_counters,
    explain_floor,
    explain_model,
    schedule_text,
)
from prism_mlir.tune.parameters import parameter_space, rejection
from prism_mlir.tune.roofline import roofline
from prism_mlir.tune.targets import find_target

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ProvedGraphs:
    """The proved graphs of a program, numbered from 1 in the order in which they were found."""

    program: Program
    options: CompileOptions
    graphs: tuple[KernelGraph, ...]

    def graph(self, number: int) -> KernelGraph:
        """Raises :class:`InputError` for a number that no graph has."""
        if not 1 <= number <= len(self.graphs):
            known = f"there are {len(self.graphs)} proved graphs, from 1 to {len(self.graphs)}"
            raise InputError(f"no graph {number}", None, known)
        return self.graphs[number - 1]

    def number(self, graph: KernelGraph) -> int:
        return self.graphs.index(graph) + 1


@dataclass(frozen=True, slots=True)
class CostReport:
    """One schedule, explained. ``counters``: the same kernels counted, where that was asked for."""

    program: str
    target: str
    number: int
    proved: int
    graph: str
    schedule: str
    model: Explanation
    counters: Explanation | None
    floor: tuple[Term, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "program": self.program,
            "target": self.target,
            "graph": {"number": self.number, "of": self.proved, "text": self.graph},
            "schedule": self.schedule,
            "model": self.model.to_dict(),
            "counters": None if self.counters is None else self.counters.to_dict(),
            "roofline": [t.to_dict() for t in self.floor],
        }


def proved_graphs(program: Program, options: CompileOptions, progress: Progress = lambda _: None) -> ProvedGraphs:
    """Search and prove. Raises :class:`CodegenError` where no graph is proved, :class:`UnsupportedError` for mere moves.

    Ctrl-C comes out of it: numbers of graphs are those of a search that was not interrupted.
    """
    check_outputs(program)
    with open_pool(options.executor, options.jobs) as pool:
        found = discover(program, options.limits, seed=options.seed, progress=progress, pool=pool)
    if found.interrupted:
        raise KeyboardInterrupt
    if not found.proved:
        advice = "raise --time-limit" if found.out_of_time else "raise the limits (--limit operators=N)"
        raise CodegenError(nothing_proved(program, found), None, advice)
    return ProvedGraphs(program, options, found.proved)


def report(
    found: ProvedGraphs, number: int | None, schedule: Mapping[str, str] | None, *, counters: bool = False
) -> CostReport:
    """The terms of one schedule: the given one, or the one that a compilation chooses.

    number:   of the proved graph; by default the one a compilation chooses
    schedule: names and values as the command line gives them, see :func:`schedule_of`

    Raises :class:`InputError` for unknown numbers, names and values, :class:`CodegenError` for a schedule that the target, or
    code generation, refuses: with the rule.
    """
    program, options = found.program, found.options
    target = find_target(options.target)
    graphs = found.graphs if number is None else (found.graph(number),)
    kernel: CompiledKernel | None = None
    if schedule is None:
        chosen = select(program, graphs, options)
        proved, scheduled, kernel = chosen.graph, chosen.ranked.scheduled, chosen.kernel
    else:
        proved = graphs[0] if len(graphs) == 1 else _best_graph(found)
        scheduled = checked(found, proved, schedule_of(proved, schedule))
    if kernel is None and (counters or find_tool("ptxas") is not None):
        kernel, _ = build(program, scheduled, options.target)
    estimated = [k.registers for k in cost(scheduled, target, program).kernels]
    registers = () if kernel is None or find_tool("ptxas") is None else _registers(kernel, target.arch, estimated)
    model = explain_model(scheduled, target, program, registers)
    counted = None
    if counters and kernel is not None:
        counted = explain_counters(counted_kernels(kernel, target.arch, estimated), target)
    return CostReport(
        program=program.name,
        target=f"{target.name} ({target.description})",
        number=found.number(proved),
        proved=len(found.graphs),
        graph=str(proved),
        schedule=schedule_text(scheduled.schedule),
        model=model,
        counters=counted,
        floor=explain_floor(roofline(program, target), model.total_us),
    )


def _registers(kernel: CompiledKernel, arch: str, estimated: list[int]) -> tuple[int, ...]:
    launches = kernel.launch.kernels
    return tuple(held(one, kernel.ptx, arch, n).registers for one, n in zip(launches, estimated, strict=True))


def _best_graph(found: ProvedGraphs) -> KernelGraph:
    """The graph of the schedule that ranks first."""
    made, best = _made(found, found.graphs)
    return made[best.graph]


def _made(
    found: ProvedGraphs, graphs: tuple[KernelGraph, ...]
) -> tuple[dict[KernelGraph, KernelGraph], ScheduledGraph]:
    """Graphs for code with the proved graphs they were made from, and the schedule that ranks first."""
    made = _code_graphs(found, graphs)
    options, target = found.options, find_target(found.options.target)
    ranked = choose(list(made), target, found.program, samples=options.samples, seed=options.seed).ranked
    return made, ranked[0].scheduled


def _code_graphs(found: ProvedGraphs, graphs: tuple[KernelGraph, ...]) -> dict[KernelGraph, KernelGraph]:
    buildable = [g for g in graphs if all(isinstance(n, CustomNode) for n in g.nodes)]
    made, impossible = code_graphs(found.program, buildable, tf32=found.options.allow_tf32)
    if not made:
        why = impossible[0][1] if impossible else "library operators have no code"
        raise CodegenError(f"none of {len(graphs)} proved graphs can be built: {why}")
    return made


def schedule_of(graph: KernelGraph, given: Mapping[str, str]) -> Schedule:
    """A schedule from names and values: a number of parts for each parallel dim, and warps, stages, or what else one says.

    Raises :class:`InputError` for names that are missing or not known, and for values that are none.
    """
    choices = {f.name: type(f.default) for f in fields(Schedule) if f.name != "sizes"}
    dims = graph.parallel_dims
    known = f"give {', '.join([*dims, *choices])}"
    for name in given:
        if name not in dims and name not in choices:
            raise InputError(f"the schedule names '{name}', which the graph does not have", None, known)
    missing = [p for p in dims if p not in given]
    if missing:
        raise InputError(f"the schedule gives no size for {', '.join(missing)}", None, known)
    sizes = {p: _value(p, int, given[p]) for p in dims}
    small = [p for p, size in sizes.items() if size < 1]
    if small:
        raise InputError(f"the schedule gives {small[0]} no positive size", None, f"write {small[0]}=1 or more")
    rest = {name: _value(name, kind, given[name]) for name, kind in choices.items() if name in given}
    return Schedule(tuple(sorted(sizes.items())), **rest)


def _value(name: str, kind: type, text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        what = "a number" if kind is int else f"one of {', '.join(str(v) for v in kind)}"  # type: ignore[attr-defined]
        raise InputError(f"the schedule's {name} is '{text}'", None, f"write {what}") from None


def checked(found: ProvedGraphs, proved: KernelGraph, schedule: Schedule) -> ScheduledGraph:
    """The schedule of a proved graph's code. Raises :class:`CodegenError` with the rule it breaks."""
    target = find_target(found.options.target)
    graph = next(iter(_code_graphs(found, (proved,))))
    refused = feasible(found.program, graph, schedule)  # first, since the rules of the space rely on what it checks
    broken = refused.message if refused else rejection(parameter_space(graph, found.program), schedule, target)
    if broken is not None:
        text = schedule_text(schedule)
        raise CodegenError(f"{target.name} refuses {text} for graph {found.number(proved)}: {broken}")
    return ScheduledGraph(graph, schedule)


def compare(found: ProvedGraphs, number: int | None, best: int, *, counters: bool = False) -> list[Mapping[str, Value]]:
    """The best schedules of all graphs, or of one, as rows from best to worst; with ``counters``, also their counted times.

    Raises :class:`InputError` for an unknown number, :class:`CodegenError` where nothing fits the target.
    """
    program, options = found.program, found.options
    target = find_target(options.target)
    graphs = found.graphs if number is None else (found.graph(number),)
    made = _code_graphs(found, graphs)
    ranked = choose(list(made), target, program, samples=options.samples, seed=options.seed).ranked
    rows: list[Mapping[str, Value]] = []
    for choice in ranked[:best]:
        warm = cost(choice.scheduled, target, program, warm=True)
        row = dict(compare_row(found.number(made[choice.scheduled.graph]), choice.scheduled, choice.cost, warm))
        if counters:
            row["counted us"] = _counted_us(found, choice.scheduled, [k.registers for k in choice.cost.kernels])
        rows.append(row)
    return rows


def _counted_us(found: ProvedGraphs, scheduled: ScheduledGraph, estimated: list[int]) -> float | str:
    """The counted time, cold; what stands in the way where there is none."""
    target = find_target(found.options.target)
    try:
        kernel, _ = build(found.program, scheduled, found.options.target)
        return counted_time(counted_kernels(kernel, target.arch, estimated), target).total_us
    except CodegenError as error:
        return error.message
