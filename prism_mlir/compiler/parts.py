"""A program in parts: each part is searched, proved and built by itself, and the launches join again.

A program that the search takes whole is one part. One that is too large, or of which nothing can be built whole, is cut where the
fewest bytes cross (``search.partition``), and a part that fails is cut again, down to single operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from prism_mlir.compiler.discover import Discovery, discover
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.select import Prepare, Selection, check_expressible, select
from prism_mlir.graph.errors import CodegenError, Location, PrismError
from prism_mlir.graph.launch_info import KernelArgument, KernelLaunch, LaunchInfo, Role
from prism_mlir.graph.program import Program
from prism_mlir.search.partition import Cut, Part, part_of, partition

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuiltPart:
    """A part with its graphs, and the one that was built."""

    part: Part
    discovery: Discovery
    selection: Selection


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """All parts in order, and the cuts between them (none where the program was taken whole)."""

    parts: tuple[BuiltPart, ...]
    cuts: tuple[Cut, ...]

    @property
    def ptx(self) -> dict[str, str]:
        """File name -> PTX text, one file a part."""
        return {p.selection.kernel.launch.kernels[0].ptx: p.selection.kernel.ptx for p in self.parts}


def build_program(
    program: Program, options: CompileOptions, place: Location, prepare: Prepare | None, progress: Progress
) -> BuiltProgram:
    """Build a program, whole where that works. Raises :class:`PrismError` where even single operators cannot be built."""
    whole = part_of(program, 0, len(program.nodes))
    whole = replace(whole, program=replace(whole.program, name=program.name))
    if len(program.nodes) <= options.limits.operators:
        try:
            return BuiltProgram((_build(whole, options, place, prepare, progress),), ())
        except CodegenError as error:
            if len(program.nodes) == 1:
                raise
            progress(f"cutting {program.name}: {error.message}")
    return _build_cut(program, options, place, prepare, progress)


def _build_cut(
    program: Program, options: CompileOptions, place: Location, prepare: Prepare | None, progress: Progress
) -> BuiltProgram:
    operators = options.limits.operators
    failure: PrismError | None = None
    while operators >= 2:  # a reduction and its accumulator
        pieces = partition(program, operators)
        if len(pieces.parts) > 1:
            try:
                parts = tuple(_build(p, options, place, prepare, progress) for p in pieces.parts)
                return BuiltProgram(parts, pieces.cuts)
            except CodegenError as error:
                failure = error
                progress(f"cutting finer: {error.message}")
        operators -= max(1, operators // 3)
    limit = options.limits.operators
    few = f"no proved graph for '{program.name}' with at most {limit} operators a block, whole or in parts"
    raise failure or CodegenError(few, place, "raise the limit (--limit operators=N)")


def _build(
    part: Part, options: CompileOptions, place: Location, prepare: Prepare | None, progress: Progress
) -> BuiltPart:
    discovery = discover(part.program, options.limits, seed=options.seed, progress=progress)
    if not discovery.proved:
        raise CodegenError(nothing_proved(part.program, discovery), place, "raise the limits (--limit operators=N)")
    check_expressible(part.program, place)
    return BuiltPart(
        part, discovery, select(part.program, discovery.proved, options, prepare=prepare, progress=progress)
    )


def nothing_proved(program: Program, discovery: Discovery) -> str:
    """Why there is nothing to build."""
    stopped = "; ".join(discovery.funnel.stopped_by)
    counts = discovery.funnel.counts
    reached = f"; stopped by {stopped}" if stopped else ""
    return (
        f"no proved graph for '{program.name}': {counts['structures']} structures, "
        f"{len(discovery.candidates)} with mappings{reached}"
    )


def join_launches(program: Program, parts: Sequence[BuiltPart]) -> LaunchInfo:
    """All kernels of all parts in order; what one part leaves for later ones lies in workspace buffers."""
    kernels: list[KernelLaunch] = []
    workspace: list[int] = []
    place: dict[tuple[int, int], int] = {}  # (-1, value) of the program, or (part, workspace buffer of its own)

    def buffer(key: tuple[int, int], size: int) -> int:
        if key not in place:
            place[key] = len(workspace)
            workspace.append(size)
        return place[key]

    def rename(k: int, part: Part, argument: KernelArgument) -> KernelArgument:
        if argument.role is Role.WORKSPACE:
            return replace(argument, index=buffer((k, argument.index), argument.bytes))
        if argument.role is Role.INPUT:
            value = part.inputs[argument.index]
            if value < len(program.inputs):
                index = program.inputs[value].arg
                assert index is not None
                return replace(argument, index=index)
            return replace(argument, role=Role.WORKSPACE, index=buffer((-1, value), argument.bytes))
        value, result = part.outputs[argument.index]
        if result is not None:
            return replace(argument, index=result)
        return replace(argument, role=Role.WORKSPACE, index=buffer((-1, value), argument.bytes))

    for k, built in enumerate(parts):
        for kernel in built.selection.kernel.launch.kernels:
            arguments = tuple(rename(k, built.part, a) for a in kernel.arguments)
            kernels.append(replace(kernel, arguments=arguments))
    return LaunchInfo(tuple(kernels), tuple(workspace))
