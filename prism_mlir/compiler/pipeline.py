"""The line from a source file to checked code, one step after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from prism_mlir.codegen.external import ptxas_cubin
from prism_mlir.compiler.accuracy import Accuracy, compare, reduction_length, references
from prism_mlir.compiler.checks import check_key, recorded_check
from prism_mlir.compiler.copies import with_copies
from prism_mlir.compiler.discover import Discovery
from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.host_module import KernelBinary, check_host, host_module
from prism_mlir.compiler.input_sets import ArgumentType, input_sets
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.parts import BuiltProgram, build_program, join_launches
from prism_mlir.compiler.select import Prepare
from prism_mlir.compiler.selection import Selection
from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.upstream import UpstreamModule, read_file
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import ExecutionError, Location
from prism_mlir.graph.fields import Array
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.graph.program import Program
from prism_mlir.runtime.cpu_jit import CpuProgram, compile_module
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
    built = build_program(program, options, Location(str(path), 1, 1), prepare, progress, records)
    launch = join_launches(program, built.parts)
    host = host_module(written, launch, kernel_binaries(built), options)
    clock.step("search, proof, choice and code")
    accuracy: tuple[Accuracy, ...] = ()
    checked_before = False
    if options.check:
        stored = {v for cut in built.cuts for v in cut.values}
        key = check_key(upstream, launch, built.ptx, options, stored)
        accuracy, checked_before = recorded_check(
            records,
            key,
            lambda: check(upstream, program, Emulator(launch, built.ptx), options, progress, stored),
        )
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


def check(
    upstream: UpstreamModule,
    program: Program,
    emulator: Emulator,
    options: CompileOptions,
    progress: Callable[[str], None],
    stored: Collection[int] = (),
) -> tuple[Accuracy, ...]:
    """Run the emitted code with all checks on, and compare it with the source program and with f64.

    stored: values that parts of the program leave for others, in the type the source has them in

    Raises :class:`ExecutionError` where a check fails or a result is not accurate enough.
    """
    source = compile_module(upstream.text, options.function)
    results: list[Accuracy] = []
    types = tuple(ArgumentType(a.shape, DType(a.element)) for a in source.arguments)
    for inputs in input_sets(program, options.seed, types):
        progress(f"checking on {inputs.name} inputs")
        results += _judge(
            inputs.name, program, emulator(inputs.arguments), source, inputs.arguments, stored, options.allow_tf32
        )
    wrong = [r for r in results if not r.ok]
    if wrong:
        raise ExecutionError(f"emitted code is not accurate on {wrong[0].input_set} inputs: {wrong[0].reason}")
    return tuple(results)


def _judge(
    name: str,
    program: Program,
    got: Sequence[Array],
    source: CpuProgram,
    arguments: Sequence[Array],
    stored: Collection[int],
    tf32: bool,
) -> list[Accuracy]:
    theirs, wanted = source(*arguments), references(program, arguments, stored, tf32=tf32)
    length = reduction_length(program)
    return [
        compare(name, out.name, out.dtype, g, t, w, length, as_source=not tf32)
        for out, g, t, w in zip(program.results, got, theirs, wanted, strict=True)
    ]


class _StepClock:
    """Wall clock between steps."""

    def __init__(self) -> None:
        self.last, self.steps = perf_counter(), ()  # type: tuple[float, tuple[tuple[str, float], ...]]

    def step(self, name: str) -> None:
        now = perf_counter()
        self.steps, self.last = (*self.steps, (name, now - self.last)), now
