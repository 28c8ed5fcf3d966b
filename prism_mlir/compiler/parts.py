"""A program in parts: each part is searched, proved and built by itself, and the launches join again.

A program that the search takes whole is one part. One that is too large, or of which nothing can be built whole, is cut where the
fewest bytes cross (``search.partition``), and a part that fails is cut again, down to single operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import pairwise

from prism_mlir.compiler.choices import Choices
from prism_mlir.compiler.discover import Discovery
from prism_mlir.compiler.families import FamilyResult, discover_family
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.select import Prepare, check_outputs, select
from prism_mlir.compiler.selection import Selection
from prism_mlir.compiler.task_pool import TaskPool, open_pool
from prism_mlir.graph.errors import CodegenError, InputError, LimitError, Location, PrismError
from prism_mlir.graph.launch_info import KernelArgument, KernelLaunch, LaunchInfo, Role
from prism_mlir.graph.ops import Kind
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits
from prism_mlir.search.moves import as_copy, runs_of_moves
from prism_mlir.search.partition import Cut, Part, block_operators, crossing, part_of, partition
from prism_mlir.search.viewed_part import viewed_part
from prism_mlir.tune.records.store import Records
from prism_mlir.tune.roofline import roofline
from prism_mlir.tune.targets import find_target

Progress = Callable[[str], None]
RESHAPED_STATES = 20_000  # of a search across a reshape, which seldom finds anything
WASTEFUL = 3.0  # times the roofline beyond which cutting is tried although the program can be built whole


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
    program: Program,
    options: CompileOptions,
    place: Location,
    prepare: Prepare | None,
    progress: Progress,
    records: Records | None = None,
    pool: TaskPool | None = None,
    memory: Memory | None = None,
) -> BuiltProgram:
    """Build a program, whole where that works and is not far from the roofline; else also in parts, and take what the model
    finds faster. Each part is taken from the records where it is there, and put there where not.

    pool:   where to search, prove and build; one is opened for this, as the options say, where it is not given
    memory: what earlier calls for the same program found, if there were any

    Raises :class:`CodegenError` where even single operators cannot be built.
    """
    check_outputs(program, place)
    with nullcontext(pool) if pool is not None else open_pool(options.executor, options.jobs) as used:
        kept = records or Records.none(), used, memory or Memory()
        builder = _Builder(program, options, place, prepare, progress, *kept)
        parts = builder.merge(builder.build(0, len(program.nodes)))
    return BuiltProgram(parts, tuple(crossing(program, built.part.first) for built in parts[1:]))


@dataclass(frozen=True, slots=True)
class Memory:
    """What building a program found so far, for when it is built again under other options: with some graphs left out."""

    found: dict[tuple[Program, SearchLimits], FamilyResult] = field(default_factory=dict)
    chosen: dict[tuple[Program, CompileOptions], Selection] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds runs of a program's operators, each in as many parts as is best for it."""

    program: Program
    options: CompileOptions
    place: Location
    prepare: Prepare | None
    progress: Progress
    records: Records
    pool: TaskPool
    memory: Memory
    tried: dict[tuple[int, int], BuiltPart | CodegenError] = field(default_factory=dict)

    def build(self, first: int, last: int) -> tuple[BuiltPart, ...]:
        """Parts for operators ``first .. last - 1``; none where they are but views of what others compute."""
        if viewed_part(self.program, first, last) is None:
            return ()
        whole: tuple[BuiltPart, ...] = ()
        if last - first <= self.options.limits.operators:
            try:
                whole = (self.whole(first, last),)
            except CodegenError as error:
                if last - first == 1:
                    raise
                self.progress(f"cutting after operator {first}: {error.message}")
        done = any(p.discovery.interrupted for p in whole)
        enough = done or last - first == 1 or not self.options.alternatives
        if whole and (enough or model_us(whole) <= self._good_us(first, last)):
            return whole
        found, failure = [whole] if whole else [], None
        for cut in (self._between_moves, self._pieces, self._singles):
            try:
                found.append(cut(first, last))
            except CodegenError as error:
                failure = error if cut == self._pieces else failure or error  # of a cut that was possible
                continue
            if cut == self._between_moves or not self.options.alternatives:
                break
        if not found:
            assert failure is not None
            raise failure
        return min(found, key=model_us)

    def merge(self, parts: tuple[BuiltPart, ...]) -> tuple[BuiltPart, ...]:
        """Put neighbours together where the model finds one part faster than both.

        Parts that have nothing in common stay apart: their graphs would be all pairs of what either has.
        """
        merged, k = list(parts), 0 if self.options.alternatives else len(parts)
        while k + 1 < len(merged) and not any(p.discovery.interrupted for p in merged):
            first, last = merged[k].part.first, merged[k + 1].part.last
            try:
                fits = last - first <= self.options.limits.operators and self._related(*merged[k : k + 2])
                both = (self.whole(first, last),) if fits else ()
            except CodegenError:
                both = ()
            if both and model_us(both) < model_us(merged[k : k + 2]):
                merged[k : k + 2] = both
                k = max(k - 1, 0)
            else:
                k += 1
        return tuple(merged)

    def _related(self, one: BuiltPart, next_one: BuiltPart) -> bool:
        """Whether a part reads what the one before it reads, or computes."""
        count = len(self.program.inputs)

        def sources(part: Part) -> set[tuple[str, int]]:
            views = (self.program.inputs[v].arg if v < count else None for v in part.inputs)
            pairs = zip(part.inputs, views, strict=True)
            return {("value", v) if arg is None else ("argument", arg) for v, arg in pairs}

        made = {("value", v) for v, _ in one.part.outputs}
        return not sources(next_one.part).isdisjoint(sources(one.part) | made)

    def whole(self, first: int, last: int) -> BuiltPart:
        """Operators ``first .. last - 1`` as one part. Raises :class:`CodegenError` where that cannot be built."""
        if (first, last) not in self.tried:
            part = viewed_part(self.program, first, last)
            assert part is not None, "there is something to compute"
            part = replace(part, program=as_copy(part.program) or part.program)
            if last - first == len(self.program.nodes):
                part = replace(part, program=replace(part.program, name=self.program.name))
            try:
                self.tried[first, last] = self._build(part)
            except CodegenError as error:
                self.tried[first, last] = error
        found = self.tried[first, last]
        if isinstance(found, CodegenError):
            raise found
        return found

    def _build(self, part: Part) -> BuiltPart:
        limits = self.options.limits
        if len(part.program.nodes) > 1 and any(n.op.kind is Kind.RESHAPE for n in part.program.nodes):
            limits = replace(limits, states=min(limits.states, RESHAPED_STATES))
        options = replace(self.options, limits=limits)
        return _build(part, options, self.place, self.prepare, self.progress, self.records, self.pool, self.memory)

    def _good_us(self, first: int, last: int) -> float:
        """A time that no cutting can better by much: near the roofline, and not above that of all single operators together,
        which nothing that is built of them can reach."""
        singles = sum(self._floor_us(k, k + 1) for k in range(first, last))
        return min(WASTEFUL * self._floor_us(first, last), singles)

    def _singles(self, first: int, last: int) -> tuple[BuiltPart, ...]:
        """Each operator by itself, as a program runs that nobody fuses."""
        return tuple(part for k in range(first, last) for part in self.build(k, k + 1))

    def _floor_us(self, first: int, last: int) -> float:
        """The least that a kernel can take in the model: the roofline, and until memory delivers at full speed."""
        target = find_target(self.options.target)
        return roofline(part_of(self.program, first, last).program, target).total_us + target.ramp_us

    def _between_moves(self, first: int, last: int) -> tuple[BuiltPart, ...]:
        """Reshapes, which no search finds anything for, as parts of their own, and what lies between them."""
        cuts = runs_of_moves(self.program, first, last)
        if len(cuts) == 2:
            raise CodegenError("no reshape to cut at", self.place)
        return tuple(part for a, b in pairwise(cuts) for part in self.build(a, b))

    def _pieces(self, first: int, last: int) -> tuple[BuiltPart, ...]:
        program = part_of(self.program, first, last).program
        limit = min(self.options.limits.operators, block_operators(program, 0, len(program.nodes)) - 1)
        try:
            found = partition(program, limit)
        except LimitError as error:
            few = f"no proved graph for '{program.name}' with at most {limit} operators a block: {error.message}"
            raise CodegenError(few, self.place, "raise the limit (--limit operators=N)") from None
        parts: list[BuiltPart] = []
        for piece in found.parts:
            parts += self.build(first, first + piece.count)
            first += piece.count
        return tuple(parts)


def model_us(parts: Sequence[BuiltPart]) -> float:
    """Modelled time of all parts together, in microseconds."""
    return sum(p.selection.ranked.cost.total_us for p in parts)


def _build(
    part: Part,
    options: CompileOptions,
    place: Location,
    prepare: Prepare | None,
    progress: Progress,
    records: Records,
    pool: TaskPool,
    memory: Memory,
) -> BuiltPart:
    searched = part.program, options.limits
    found = memory.found.get(searched)
    if found is None:
        try:
            found = discover_family(*searched, records, seed=options.seed, progress=progress, pool=pool)
        except InputError as error:  # a reshape whose dims have no classes: there is nothing to search with
            raise CodegenError(error.message, place) from None
    discovery = found.discovery
    if not (discovery.interrupted or discovery.out_of_time):
        memory.found[searched] = found
    if discovery.interrupted and not (options.keep_partial and discovery.proved):
        raise KeyboardInterrupt
    if not discovery.proved:
        way_out = "raise that limit" if discovery.funnel.stopped_by else "raise the limits (--limit operators=N)"
        raise CodegenError(nothing_proved(part.program, discovery), place, way_out)
    own = options.exclude & {g.fingerprint for g in discovery.proved}
    asked = part.program, replace(options, exclude=own, time_limit=None)
    try:
        if asked not in memory.chosen:
            choices = Choices(records, found.key, part.program, options, graphs=discovery.if_cut_short)
            memory.chosen[asked] = choose_on_record(choices, discovery, prepare, progress, pool)
    except PrismError as error:
        if error.location is None:
            raise type(error)(error.message, place, error.hint) from None
        raise
    return BuiltPart(part, discovery, memory.chosen[asked])


def choose_on_record(
    choices: Choices, discovery: Discovery, prepare: Prepare | None, progress: Progress, pool: TaskPool
) -> Selection:
    """The choice on record, or a new one, which is recorded. Where a GPU is to decide, it is asked each time.

    Raises :class:`CodegenError` where nothing can be built.
    """
    by_model = prepare is None and not (choices.options.profile and pool.on_cluster)
    known = choices.read(discovery.proved) if by_model else None
    if isinstance(known, Selection):
        return known
    if known is not None:
        raise known
    try:
        selection = select(
            choices.program,
            discovery.proved,
            choices.options,
            prepare=prepare,
            progress=progress,
            dynamic=choices.dynamic,
            pool=pool,
        )
    except CodegenError as error:
        choices.write_failure(error)
        raise
    choices.write(selection)
    return selection


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
