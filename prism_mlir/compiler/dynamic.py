"""From a source file with dynamic sizes to checked code: a kernel for every bucket of sizes, and host code that chooses.

What is proved holds for all sizes, so one search serves all buckets; for each of them schedules are ranked and one is built.
Neighbours that come out with the same code share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from prism_mlir.compiler.buckets import Bucket, SizeOptions, Sizes, buckets, exact_sizes
from prism_mlir.compiler.choices import Choices
from prism_mlir.compiler.dynamic_check import SizeCheck, check_variant
from prism_mlir.compiler.dynamic_host import check_dynamic_host, dynamic_host_module
from prism_mlir.compiler.dynamic_sizes import SizedFunction, sized_function
from prism_mlir.compiler.families import discover_family
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.parts import BuiltPart, BuiltProgram, build_program, choose_on_record, join_launches, model_us
from prism_mlir.compiler.pipeline import kernel_binaries
from prism_mlir.compiler.select import check_outputs
from prism_mlir.compiler.task_pool import TaskPool, open_pool
from prism_mlir.compiler.tasks import Context
from prism_mlir.frontend.specialise import DynamicSource
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.dispatch import Dispatch, DynamicSize, LaunchVariant
from prism_mlir.graph.dynamic import DynamicProgram
from prism_mlir.graph.errors import CodegenError, Location, UnsupportedError
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.graph.program import Program
from prism_mlir.search.partition import crossing, part_of
from prism_mlir.tune.records.store import Records

Progress = Callable[[str], None]
Ranges = tuple[tuple[int, int], ...]  # operators of each part
SMALL = 16  # a size at which the program may be best cut otherwise than at the largest


@dataclass(frozen=True, slots=True)
class Variant:
    """Code for a bucket. program: at the bucket's largest sizes, for which schedules were ranked."""

    bucket: Bucket
    program: Program
    built: BuiltProgram
    launch: LaunchInfo


@dataclass(frozen=True, slots=True)
class DynamicCompilation:
    """Everything a compilation did.

    unserved: buckets for which nothing could be built, with the reason; a larger one's code serves their sizes
    seconds:  wall clock of each step, in order
    """

    source: str
    function: SizedFunction
    options: CompileOptions
    variants: tuple[Variant, ...]
    unserved: tuple[tuple[Bucket, str], ...]
    dispatch: Dispatch
    host: str
    checks: tuple[SizeCheck, ...]
    seconds: tuple[tuple[str, float], ...]

    @property
    def ptx(self) -> dict[str, str]:
        """File name -> PTX text."""
        return {name: text for v in self.variants for name, text in v.built.ptx.items()}


def compile_dynamic(
    source: DynamicSource,
    options: CompileOptions,
    sizes: SizeOptions,
    *,
    progress: Progress = lambda _: None,
    records: Records | None = None,
) -> DynamicCompilation:
    """Compile a function with ``?`` in its arguments. Nothing is written but records.

    Raises :class:`~prism_mlir.graph.errors.PrismError` as ``compiler.pipeline.compile_file`` does, and for a ``?`` that does not
    follow from the arguments' sizes, or a program that computes with one.
    """
    with TemporaryDirectory() as folder, open_pool(options.executor, options.jobs) as pool:
        if records is not None and records.path is not None:
            return _Compiler(source, options, sizes, progress, records, pool).run()
        with Records.open(Path(folder)) as own:  # one search for all sizes
            return _Compiler(source, options, sizes, progress, own, pool).run()


@dataclass(frozen=True, slots=True)
class _Compiler:
    source: DynamicSource
    options: CompileOptions
    sizes: SizeOptions
    progress: Progress
    records: Records
    pool: TaskPool

    def run(self) -> DynamicCompilation:
        started = perf_counter()
        written = read_module(self.source.text, self.source.filename, normalise=False)
        check_dynamic_host(written, self.options)
        function = sized_function(self.source)
        exact = exact_sizes(self.sizes.exact, function.names, self.sizes.largest)
        wanted = buckets(function.names, self.sizes.largest, exact)
        check_outputs(function.program.twin, self.source.location)
        imported = perf_counter()
        variants, unserved = self._variants(function, wanted)
        dispatch = Dispatch(
            tuple(DynamicSize(n, dims) for n, dims in zip(function.names, function.groups, strict=True)),
            tuple(LaunchVariant(v.bucket.low, v.bucket.high, v.launch) for v in variants),
        )
        binaries = {name: b for v in variants for name, b in kernel_binaries(v.built).items()}
        results = {function.program.twin.result_of(k): view.whole for k, view in enumerate(function.program.outputs())}
        host = dynamic_host_module(written, dispatch, results, binaries, self.options)
        emitted = perf_counter()
        checks = tuple(self._checks(function, variants)) if self.options.check else ()
        names = ("import", "search, proof, choice and code", "check")
        times = (imported - started, emitted - imported, perf_counter() - emitted)
        return DynamicCompilation(
            self.source.filename,
            function,
            self.options,
            variants,
            unserved,
            dispatch,
            host,
            checks,
            tuple(zip(names, times, strict=True)),
        )

    def _variants(
        self, function: SizedFunction, wanted: Sequence[Bucket]
    ) -> tuple[tuple[Variant, ...], tuple[tuple[Bucket, str], ...]]:
        """One variant a bucket, neighbours with the same code as one."""
        largest = wanted[-1].high
        cuttings = dict.fromkeys(
            self._ranges(function, sizes) for sizes in (largest, tuple(min(n, SMALL) for n in largest))
        )
        made: list[Variant] = []
        unserved: list[tuple[Bucket, str]] = []
        for bucket in wanted:
            try:
                made.append(self._variant(function, _extended(bucket, [b for b, _ in unserved]), tuple(cuttings)))
            except (CodegenError, UnsupportedError) as error:
                if bucket is wanted[-1]:
                    raise
                unserved.append((bucket, error.message))
        return _shared(made, function.names), tuple(unserved)

    def _ranges(self, function: SizedFunction, sizes: Sizes) -> Ranges:
        """How the program is best cut into parts at some sizes."""
        place = Location(self.source.filename, 1, 1)
        built = build_program(function.at(sizes), self.options, place, None, self.progress, self.records, self.pool)
        ends = [0, *(part.part.first for part in built.parts[1:]), len(function.program.twin.nodes)]
        return tuple(pairwise(ends))

    def _variant(self, function: SizedFunction, bucket: Bucket, cuttings: Sequence[Ranges]) -> Variant:
        """The fastest variant for a bucket, as far as the model knows, of those that can be built."""
        made: list[Variant] = []
        failures: list[CodegenError | UnsupportedError] = []
        for ranges in cuttings:
            try:
                made.append(self._cut(function, bucket, ranges))
            except (CodegenError, UnsupportedError) as error:
                failures.append(error)
        if not made:
            raise failures[0]
        return min(made, key=lambda v: model_us(v.built.parts))

    def _cut(self, function: SizedFunction, bucket: Bucket, ranges: Ranges) -> Variant:
        """A variant whose parts are these runs of operators."""
        self.progress(f"building for {bucket.label(function.names)}")
        name = f"{function.source.function[:60]}_{'at' if bucket.exact else 'to'}{'_'.join(map(str, bucket.high))}"
        program = replace(function.at(bucket.high), name=name)
        if len(program.nodes) != len(function.program.twin.nodes):  # a dim of size 1 made something simpler
            raise UnsupportedError("at this size the program has other operators")
        parts = tuple(self._part(function, bucket, program, *each, len(ranges) == 1) for each in ranges)
        cuts = tuple(crossing(program, end) for _, end in ranges[:-1])
        return Variant(bucket, program, BuiltProgram(parts, cuts), join_launches(program, parts))

    def _part(
        self, function: SizedFunction, bucket: Bucket, program: Program, first: int, last: int, whole: bool
    ) -> BuiltPart:
        part, options = part_of(program, first, last), self.options
        if whole:
            part = replace(part, program=replace(part.program, name=program.name))
        dynamic: DynamicProgram | None = None
        if not bucket.exact:
            dynamic = replace(function.program, twin=part_of(function.program.twin, first, last).program)
        found = discover_family(
            part.program, options.limits, self.records, seed=options.seed, progress=self.progress, pool=self.pool
        )
        discovery = found.discovery
        if discovery.interrupted:
            raise KeyboardInterrupt
        choices = Choices(self.records, found.key, part.program, options, dynamic, discovery.if_cut_short)
        selection = choose_on_record(choices, discovery, None, self.progress, self.pool)
        return BuiltPart(part, discovery, selection)

    def _checks(self, function: SizedFunction, variants: Sequence[Variant]) -> Iterator[SizeCheck]:
        """Of each variant, as a task of its own."""
        calls = [
            (
                v.bucket,
                v.launch,
                v.built.ptx,
                tuple(sorted({n for cut in v.built.cuts for n in cut.values})),
                self.options,
            )
            for v in variants
        ]
        found = self.pool.ordered(Context(function), check_variant, calls)
        for variant in variants:
            self.progress(f"checking code for {variant.bucket.label(function.names)}")
            yield from next(found)


def _extended(bucket: Bucket, unserved: Sequence[Bucket]) -> Bucket:
    """The bucket with those just below it for which there is no code."""
    for other in reversed(unserved):
        joined = other.joined(bucket)
        bucket = joined or bucket
    return bucket


def _shared(variants: Sequence[Variant], names: Sequence[str]) -> tuple[Variant, ...]:
    """Neighbours with the same code and launches joined: the larger one's code serves both."""
    found = list(variants)
    texts = {v.program.name: _anonymous(v, names) for v in found}
    k = 0
    while k < len(found):
        for other in found[k + 1 :]:
            joined = found[k].bucket.joined(other.bucket)
            same = texts[found[k].program.name] == texts[other.program.name]
            if joined is not None and same and not found[k].bucket.exact and not other.bucket.exact:
                found[found.index(other)] = replace(other, bucket=joined)
                del found[k]
                break
        else:
            k += 1
    return tuple(found)


def _anonymous(variant: Variant, names: Sequence[str]) -> str:
    """Code and launches, without the names that tell variants apart, nor how large the workspace is at most."""
    launch = replace(variant.launch, workspace=())
    text = repr((list(variant.built.ptx.values()), launch.to_dynamic_dict(names)))
    return text.replace(variant.program.name, "")
