"""The line from a source file to checked code, one step after the other."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

from prism_mlir.codegen.external import ptxas_cubin
from prism_mlir.compiler.accuracy import Accuracy
from prism_mlir.compiler.anytime import Round, Rounds
from prism_mlir.compiler.checking import Checker, check
from prism_mlir.compiler.checks import check_key, recorded_check
from prism_mlir.compiler.copies import with_copies
from prism_mlir.compiler.discover import Discovery
from prism_mlir.compiler.families import is_on_record
from prism_mlir.compiler.host_module import KernelBinary, check_host, host_module
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.parts import BuiltProgram, Memory, build_program, join_launches, model_us
from prism_mlir.compiler.progress import Progress, Show, progress_of
from prism_mlir.compiler.select import Prepare
from prism_mlir.compiler.selection import Selection
from prism_mlir.compiler.task_pool import TaskPool, open_pool
from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.upstream import UpstreamModule, choose_function, read_module, read_text
from prism_mlir.graph.block import Load
from prism_mlir.graph.errors import CodegenError, ExecutionError, InaccurateError, Location
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.tune.records.store import Records
from prism_mlir.tune.roofline import roofline
from prism_mlir.tune.targets import find_target

_REPORT = "nothing is written; report it, with the program"
MOST_LEFT_OUT = 6  # graphs, after which a program is taken for one that no code is accurate enough for


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A proved graph, by fingerprint, whose code was not accurate enough, and where."""

    graph: str
    reason: str


@dataclass(frozen=True, slots=True)
class Compilation:
    """Everything a compilation did.

    launch:  all kernels in order
    host:    text of the source module with launches in the function's place
    seconds: wall clock of each step, in order
    checked_before: whether the result of the check is on record: the same code was checked against the same source
    rounds:  what was tried in the time there was, where that was limited
    left_out: graphs that were chosen first, and not accurate enough
    arguments: how many the function takes
    """

    source: str
    program: Program
    options: CompileOptions
    built: BuiltProgram
    launch: LaunchInfo
    host: str
    accuracy: tuple[Accuracy, ...]
    seconds: tuple[tuple[str, float], ...]
    checked_before: bool = False
    rounds: tuple[Round, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    arguments: int = 0

    @property
    def discovery(self) -> Discovery:
        """Of the first part, which is the whole program where it was not cut."""
        return self.built.parts[0].discovery

    @property
    def selection(self) -> Selection:
        """Of the first part, which is the whole program where it was not cut."""
        return self.built.parts[0].selection


def compile_file(
    path: str | Path,
    options: CompileOptions | None = None,
    *,
    prepare: Prepare | None = None,
    progress: Show = lambda _: None,
    records: Records | None = None,
) -> Compilation:
    """Compile a function of an ``.mlir`` file; see :func:`compile_text`."""
    return compile_text(read_text(path), str(path), options, prepare=prepare, progress=progress, records=records)


def compile_text(
    text: str,
    filename: str,
    options: CompileOptions | None = None,
    *,
    prepare: Prepare | None = None,
    progress: Show = lambda _: None,
    records: Records | None = None,
    pool: TaskPool | None = None,
) -> Compilation:
    """Compile a function of a module. Nothing is written but records.

    filename: what errors name

    prepare: how compiled code is run and timed on a GPU, for ``options.profile``
    records: what earlier compilations proved, chose and checked; nothing is taken from there or left there where not given
    pool:    where the work is done; one is opened for this, as the options say, where it is not given

    Raises :class:`~prism_mlir.graph.errors.PrismError` for input that is malformed or not supported, for programs without a
    proved graph that can be built, and for emitted code that fails a check or is less accurate than the source.
    """
    options, records = options or CompileOptions(), records or Records.none()
    progress, clock = progress_of(progress), _StepClock()
    progress("reading")
    upstream = read_module(text, filename)
    program = with_copies(import_module(upstream, options.function))
    written = read_module(text, filename, normalise=False)
    check_host(written, options)
    progress.floor(roofline(program, find_target(options.target)).total_us)
    clock.step("import")
    with nullcontext(pool) if pool is not None else open_pool(options.executor, options.jobs) as used:
        line = _Line(Location(filename, 1, 1), upstream, written, program, prepare, progress, records, used, clock)
        result, rounds = line.run(options)
    return Compilation(
        filename,
        program,
        options,
        result.built.program,
        result.built.launch,
        result.built.host,
        result.accuracy,
        clock.steps,
        result.checked_before,
        rounds,
        result.left_out,
        len(choose_function(upstream, options.function)[0].regions[0].blocks[0].arguments),
    )


@dataclass(frozen=True, slots=True)
class _Built:
    """A program that was built, under some options."""

    program: BuiltProgram
    launch: LaunchInfo
    host: str
    options: CompileOptions

    @property
    def model_us(self) -> float:
        return model_us(self.program.parts)

    @property
    def search_seconds(self) -> float:
        found = (p.discovery for p in self.program.parts if not p.discovery.recorded)
        return sum(d.search_seconds + d.proof_seconds for d in found)


@dataclass(frozen=True, slots=True)
class _Result:
    """A program that was built and checked."""

    built: _Built
    accuracy: tuple[Accuracy, ...]
    checked_before: bool
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class _Line:
    """Builds and checks one program."""

    place: Location
    upstream: UpstreamModule
    written: UpstreamModule
    program: Program
    prepare: Prepare | None
    progress: Progress
    records: Records
    pool: TaskPool
    clock: _StepClock
    memory: Memory = field(default_factory=Memory)

    def run(self, options: CompileOptions) -> tuple[_Result, tuple[Round, ...]]:
        """In one go, or in rounds where there is a limit of time."""
        if options.time_limit is None:
            built = self.build(options)
            self.progress.best(built.model_us)
            return self.check(built), ()
        left = max(0.0, options.time_limit - self.clock.total)
        known = is_on_record(self.program, options.limits, self.records, options.seed)
        return Rounds(self.build, self.check, self.progress.best).run(options, left, known=known)

    def build(self, options: CompileOptions) -> _Built:
        """Raises :class:`~prism_mlir.graph.errors.CodegenError` where nothing can be built."""
        place, shared = self.place, (self.progress, self.records, self.pool, self.memory)
        built = build_program(self.program, options, place, self.prepare, *shared)
        launch = join_launches(self.program, built.parts)
        host = host_module(self.written, launch, kernel_binaries(built), options)
        self.clock.step("search, proof, choice and code")
        return _Built(built, launch, host, options)

    def check(self, built: _Built) -> _Result:
        """The program, checked; where it is not accurate enough, one of other graphs that is.

        Raises :class:`~prism_mlir.graph.errors.ExecutionError` where a check fails, or nothing accurate enough is found.
        """
        left_out: list[LeftOut] = []
        while True:
            try:
                return replace(self._check(built), left_out=tuple(left_out))
            except ExecutionError as error:
                error.location, error.hint = error.location or self.place, error.hint or _REPORT
                if not isinstance(error, InaccurateError):
                    raise
                parts = [p for p in built.program.parts if rounds_operands(p.selection.graph)]
                if not parts or len(left_out) >= MOST_LEFT_OUT:
                    raise
                alike = (g.fingerprint for p in parts for g in p.discovery.proved if same_steps(g, p.selection.graph))
                if left_out:  # others than those that do the same round too much as well: none that rounds at all
                    alike = (g.fingerprint for p in parts for g in p.discovery.proved if rounds_operands(g))
                left_out += [LeftOut(p.selection.graph.fingerprint, error.message) for p in parts]
                self.progress(f"choosing again: {error.message}")
                exclude = built.options.exclude | frozenset(alike)
                try:
                    built = self.build(replace(built.options, exclude=exclude))
                except CodegenError:
                    raise error from None

    def _check(self, built: _Built) -> _Result:
        options, launch, ptx = built.options, built.launch, built.program.ptx
        if not options.check:
            return _Result(built, (), False)
        stored = tuple(sorted({v for cut in built.program.cuts for v in cut.values}))
        key = check_key(self.upstream, launch, ptx, options, stored)
        checker = Checker(
            self.upstream.text, options.function, self.program, launch, ptx, options.seed, options.allow_tf32, stored
        )
        accuracy, before = recorded_check(self.records, key, lambda: check(checker, self.pool, self.progress))
        self.clock.step("check")
        return _Result(built, accuracy, before)


def rounds_operands(graph: KernelGraph) -> bool:
    """Whether code for a graph may round what it computes, since a product reads it."""
    return any(
        isinstance(n.op, Op)
        and n.op.kind is Kind.MATMUL
        and any(not isinstance(node.block.nodes[v].op, Load) for v in n.operands)
        for node in graph.custom
        for n in node.block.nodes
    )


def same_steps(a: KernelGraph, b: KernelGraph) -> bool:
    """Whether two graphs do the same, whatever their mappings: what one rounds, the other rounds too."""
    return [n.block.nodes for n in a.custom] == [n.block.nodes for n in b.custom]


def kernel_binaries(built: BuiltProgram) -> dict[str, KernelBinary]:
    """PTX file -> PTX and, where ptxas is found, machine code."""
    found = {}
    for part in built.parts:
        kernel = part.selection.kernel
        arch = kernel.result.target
        binary = KernelBinary(kernel.ptx, arch, kernel.result.ptx_version, ptxas_cubin(kernel.ptx, arch))
        found[kernel.launch.kernels[0].ptx] = binary
    return found


class _StepClock:
    """Wall clock between steps; what is done more than once is summed."""

    def __init__(self) -> None:
        self._last = perf_counter()
        self._steps: dict[str, float] = {}

    def step(self, name: str) -> None:
        """What was done since the last step was this one."""
        now = perf_counter()
        self._steps[name] = self._steps.get(name, 0.0) + now - self._last
        self._last = now

    @property
    def steps(self) -> tuple[tuple[str, float], ...]:
        """Steps in the order in which they first ended, with seconds."""
        return tuple(self._steps.items())

    @property
    def total(self) -> float:
        return sum(self._steps.values())
