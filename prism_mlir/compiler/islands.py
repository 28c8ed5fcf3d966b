"""A function that cannot become kernels whole: its islands do, one compilation each, and the rest stays around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.options import CompileOptions, HostSignature, WorkspacePlace
from prism_mlir.compiler.pipeline import Compilation, compile_text
from prism_mlir.compiler.progress import Progress, Show
from prism_mlir.compiler.select import Prepare
from prism_mlir.compiler.task_pool import TaskPool, open_pool
from prism_mlir.compiler.tasks import SentBare
from prism_mlir.compiler.whole import WholeCheck, WholeChecker, check_whole
from prism_mlir.frontend.islands.find import Island, IslandFinder, Islands
from prism_mlir.frontend.upstream import functions, input_error, read_module, symbol_name
from prism_mlir.graph.errors import CodegenError, InaccurateError, InputError, LimitError
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.runtime.cpu_jit import CpuProgram, compile_module
from prism_mlir.runtime.jit_buffers import Array, External
from prism_mlir.tune.records.store import Records


@dataclass(frozen=True, slots=True)
class IslandCompilation:
    """Everything that a compilation in islands did.

    text:     of the source module
    cut:      what stays, and what became kernels
    islands:  a compilation of each island, in the order of ``cut.islands``
    host:     text of the source module with launches in the islands' functions
    whole:    the check of the whole function, islands on the PTX machine; ``None`` where nothing was checked
    seconds:  wall clock
    """

    source: str
    text: str
    options: CompileOptions
    cut: Islands
    islands: tuple[Compilation, ...]
    host: str
    whole: WholeCheck | None
    seconds: float

    def program(self, externals: Mapping[str, External] | None = None) -> CpuProgram:
        """The function on the CPU, islands on the PTX machine or what else is given for them by name.

        Raises :class:`~prism_mlir.graph.errors.UnsupportedError` where the rest cannot run on the CPU.
        """
        return compile_module(self.cut.rest, self.cut.function, externals or emulators(self.cut, self.islands))


def compile_islands(
    text: str,
    filename: str,
    options: CompileOptions | None = None,
    *,
    prepare: Prepare | None = None,
    progress: Show = lambda _: None,
    records: Records | None = None,
) -> IslandCompilation:
    """Compile what can be compiled of a function; arguments as those of :func:`~prism_mlir.compiler.pipeline.compile_text`.

    An island that no kernels are found for, or no accurate ones, stays as it is.

    Raises :class:`~prism_mlir.graph.errors.UnsupportedError` where nothing is left to compile, and
    :class:`~prism_mlir.graph.errors.ExecutionError` where the whole does not compute what the source does.
    """
    options, start = options or CompileOptions(), perf_counter()
    if options.host is not HostSignature.TENSOR or options.workspace is not WorkspacePlace.ALLOC:
        raise InputError("islands keep the function's arguments", None, "use --host tensor --workspace alloc")
    progress("reading")
    finder = IslandFinder(read_module(text, filename, normalise=False), options.function)
    cut, whole = finder.find(), None
    with open_pool(options.executor, options.jobs) as pool:
        line = _Line(filename, options, prepare, progress, records, pool, start)
        while failed := line.compile(cut):
            for island, reason in failed:
                finder.refuse(island, reason)
            cut = finder.find()
        islands = tuple(line.done[i.name] for i in cut.islands)
        host = host_of(cut, islands, filename)
        if options.check:
            progress("checking the whole function")
            whole = check_whole(WholeChecker(text, cut, emulators(cut, islands), options.seed), pool)
    return IslandCompilation(filename, text, options, cut, islands, host, whole, perf_counter() - start)


class _Line:
    """Compiles islands, each once."""

    def __init__(
        self,
        filename: str,
        options: CompileOptions,
        prepare: Prepare | None,
        progress: Show,
        records: Records | None,
        pool: TaskPool,
        start: float,
    ) -> None:
        self.filename, self.options, self.prepare, self.pool = filename, options, prepare, pool
        self.progress, self.records, self.start = progress, records, start
        self.done: dict[str, Compilation] = {}

    def compile(self, cut: Islands) -> list[tuple[Island, str]]:
        """Compile all islands. Those that cannot be compiled, and why."""
        failed = []
        waiting = [i for i in cut.islands if i.name not in self.done]
        for k, island in enumerate(waiting):
            try:
                self.done[island.name] = self._one(island, len(waiting) - k)
            except (CodegenError, InaccurateError, LimitError) as error:
                self.progress(f"{island.name} stays as it is: {error.message}")
                failed.append((island, error.message))
        return failed

    def _one(self, island: Island, waiting: int) -> Compilation:
        limit = self.options.time_limit
        if limit is not None:
            limit = max(0.0, limit - (perf_counter() - self.start)) / waiting
        options = replace(self.options, function=island.name, time_limit=limit)
        progress = Progress(lambda line: self.progress(f"{island.name}: {line}"), limit)
        return compile_text(
            island.text,
            self.filename,
            options,
            prepare=self.prepare,
            progress=progress,
            records=self.records,
            pool=self.pool,
        )


def emulators(cut: Islands, islands: tuple[Compilation, ...]) -> dict[str, External]:
    """What the islands' functions compute, on the PTX machine."""
    return {i.name: _Emulated(done.launch, done.built.ptx) for i, done in zip(cut.islands, islands, strict=True)}


@dataclass(frozen=True)
class _Emulated(SentBare):
    """Emitted code as a function; crosses to other processes, and is loaded there."""

    launch: LaunchInfo
    ptx: Mapping[str, str]

    @cached_property
    def emulator(self) -> Emulator:
        return Emulator(self.launch, self.ptx)

    def __call__(self, *arguments: Array) -> tuple[Array, ...]:
        return self.emulator(arguments)


def host_of(cut: Islands, islands: tuple[Compilation, ...], filename: str) -> str:
    """The module with each island's function replaced by that with launches."""
    from mlir import ir

    source = read_module(cut.text, filename, normalise=False)
    module = source.module
    for island, done in zip(cut.islands, islands, strict=True):
        made = ir.Module.parse(done.host, module.context)
        old = functions(source)[island.name]
        point = ir.InsertionPoint(old)
        for op in [view.operation for view in made.body]:
            if op.name == "func.func" and symbol_name(op) == island.name:
                op.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
            op.detach_from_parent()
            point.insert(op)
        old.erase()
    module.attributes["gpu.container_module"] = ir.UnitAttr.get(module.context)
    try:
        module.verify()
    except ir.MLIRError as error:
        raise input_error(error, filename) from None
    printed: str = module.get_asm()
    return printed.rstrip("\n") + "\n"
