"""The line from a source file to checked code, one step after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from prism_mlir.codegen.external import ptxas_cubin
from prism_mlir.compiler.accuracy import Accuracy
from prism_mlir.compiler.checking import Checker, check
from prism_mlir.compiler.checks import check_key, recorded_check
from prism_mlir.compiler.copies import with_copies
from prism_mlir.compiler.discover import Discovery
from prism_mlir.compiler.host_module import KernelBinary, check_host, host_module
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.parts import BuiltProgram, build_program, join_launches
from prism_mlir.compiler.select import Prepare
from prism_mlir.compiler.selection import Selection
from prism_mlir.compiler.task_pool import open_pool
from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.upstream import read_file
from prism_mlir.graph.errors import Location
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.graph.program import Program
from prism_mlir.tune.records.store import Records


@dataclass(frozen=True, slots=True)
class Compilation:
    """Everything a compilation did.

    launch:  all kernels in order
    host:    text of the source module with launches in the function's place
    seconds: wall clock of each step, in order
    checked_before: whether the result of the check is on record: the same code was checked against the same source
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
    progress: Callable[[str], None] = lambda _: None,
    records: Records | None = None,
) -> Compilation:
    """Compile a function of an ``.mlir`` file. Nothing is written but records.

    prepare: how compiled code is run and timed on a GPU, for ``options.profile``
    records: what earlier compilations proved, chose and checked; nothing is taken from there or left there where not given

    Raises :class:`~prism_mlir.graph.errors.PrismError` for input that is malformed or not supported, for programs without a
    proved graph that can be built, and for emitted code that fails a check or is less accurate than the source.
    """
    options, records = options or CompileOptions(), records or Records.none()
    clock = _StepClock()
    progress("reading")
    upstream = read_file(path)
    program = with_copies(import_module(upstream, options.function))
    written = read_file(path, normalise=False)
    check_host(written, options)
    clock.step("import")
    with open_pool(options.executor, options.jobs) as pool:
        built = build_program(program, options, Location(str(path), 1, 1), prepare, progress, records, pool)
        launch = join_launches(program, built.parts)
        host = host_module(written, launch, kernel_binaries(built), options)
        clock.step("search, proof, choice and code")
        accuracy: tuple[Accuracy, ...] = ()
        checked_before = False
        if options.check:
            stored = sorted({v for cut in built.cuts for v in cut.values})
            key = check_key(upstream, launch, built.ptx, options, stored)
            checker = Checker(
                upstream.text,
                options.function,
                program,
                launch,
                built.ptx,
                options.seed,
                options.allow_tf32,
                tuple(stored),
            )
            accuracy, checked_before = recorded_check(records, key, lambda: check(checker, pool, progress))
        clock.step("check")
    return Compilation(str(path), program, options, built, launch, host, accuracy, clock.steps, checked_before)


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
    """Wall clock between steps."""

    def __init__(self) -> None:
        self.last, self.steps = perf_counter(), ()  # type: tuple[float, tuple[tuple[str, float], ...]]

    def step(self, name: str) -> None:
        now = perf_counter()
        self.steps, self.last = (*self.steps, (name, now - self.last)), now
