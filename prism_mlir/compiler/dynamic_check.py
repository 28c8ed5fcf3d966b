"""The check of code for dynamic sizes: each variant at several sizes, with buffers of exactly those sizes.

The PTX machine watches everything it watches for static code (``compiler.execute``); results are compared with the source at that
size on upstream's JIT, and with f64.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import prod

from prism_mlir.compiler.accuracy import Accuracy, compare, reduction_length, references
from prism_mlir.compiler.buckets import Bucket, Sizes
from prism_mlir.compiler.dynamic_part import check_in_part, share
from prism_mlir.compiler.dynamic_sizes import SizedFunction
from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.input_sets import ArgumentType, argument_types, input_sets
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.source_errors import input_set, more_errors
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import ExecutionError
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.graph.ops import Kind
from prism_mlir.graph.program import Program
from prism_mlir.runtime.cpu_jit import compile_module

WORK = 1.5e8
"""Scalar operations above which a size is not run: the PTX machine would take minutes."""
INPUT_SETS = 8
"""By as much more work are all input sets than one."""


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """One variant at some sizes.

    accuracy: ``None`` where it was not run, because it is too much for the PTX machine
    in_part:  whether only some blocks were run
    """

    bucket: Bucket
    sizes: Sizes
    accuracy: tuple[Accuracy, ...] | None
    in_part: bool = False


def check_variant(
    function: SizedFunction,
    bucket: Bucket,
    launch: LaunchInfo,
    ptx: Mapping[str, str],
    stored: Collection[int],
    options: CompileOptions,
) -> list[SizeCheck]:
    """Run a variant at the largest sizes of its bucket, one less, the smallest, and 1, which its code serves as well; where
    those are too large, also at a smaller one that is not, and where that helps, with some of the blocks at one in between. On
    random inputs at each size, and on all input sets at the largest at which that is not too much either.

    Raises :class:`ExecutionError` where a check fails or a result is not accurate enough.
    """
    found: list[SizeCheck] = []
    seen = False
    for sizes in _sizes(function, bucket):
        program = function.at(sizes) if bucket.exact else function.program.at(sizes)
        if work(program) > WORK:
            found.append(SizeCheck(bucket, sizes, None))
            continue
        every = not seen and (work(program) * INPUT_SETS <= WORK or max(sizes) == 1)
        seen = seen or every
        label = Bucket(sizes, sizes).label(function.names)
        emulator = Emulator(launch.at(sizes), ptx)
        try:
            results = _results(function, sizes, program, emulator, stored, options, every)
        except ExecutionError as error:
            raise ExecutionError(f"at {label}: {error.message}") from None
        found.append(SizeCheck(bucket, sizes, results))
    return [*found, *_part(function, bucket, launch, ptx, options)]


def _part(
    function: SizedFunction, bucket: Bucket, launch: LaunchInfo, ptx: Mapping[str, str], options: CompileOptions
) -> list[SizeCheck]:
    """The check of some blocks at larger sizes than all of them can be run at."""
    part = share(launch)
    if bucket.exact or work(function.program.at(bucket.high)) <= WORK or part == 1.0:
        return []
    sizes = _affordable(function, tuple(max(n - 1, 1) for n in bucket.high), part)
    if sizes <= _affordable(function, bucket.high):
        return []
    program = function.program.at(sizes)
    inputs = next(input_sets(program, options.seed, tuple(argument_types(program))))
    try:
        results = check_in_part(program, launch, ptx, sizes, inputs.arguments, tf32=options.allow_tf32)
    except ExecutionError as error:
        raise ExecutionError(f"at {Bucket(sizes, sizes).label(function.names)}: {error.message}") from None
    _raise_wrong(results)
    return [SizeCheck(bucket, sizes, results, in_part=True)]


def work(program: Program) -> float:
    """Scalar operations of a program, one for each element and each multiply-add."""
    total = 0.0
    for k, node in enumerate(program.nodes):
        depth = program.shapes[node.operands[0]][-1] if node.op.kind is Kind.MATMUL else 1
        operands = max((prod(program.shapes[v]) for v in node.operands), default=0)
        total += max(depth * prod(program.shapes[len(program.inputs) + k]), operands)
    return total


def _sizes(function: SizedFunction, bucket: Bucket) -> list[Sizes]:
    """Sizes to check, largest first."""
    if bucket.exact:
        return [bucket.high]
    less = tuple(max(n - 1, 1) for n in bucket.high)
    ones = tuple(1 for _ in bucket.high)
    found = [bucket.high, less, bucket.low, ones]
    if work(function.program.at(bucket.low)) > WORK:
        found.insert(3, _affordable(function, bucket.low))
    return list(dict.fromkeys(found))


def _affordable(function: SizedFunction, sizes: Sizes, part: float = 1.0) -> Sizes:
    """Smaller sizes, odd ones, that are not too much where a part of the work is done."""
    while work(function.program.at(sizes)) * part > WORK and max(sizes) > 3:
        sizes = tuple(max(n // 2 - (n // 2 + 1) % 2, 3) for n in sizes)
    return sizes


def _results(
    function: SizedFunction,
    sizes: Sizes,
    program: Program,
    emulator: Emulator,
    stored: Collection[int],
    options: CompileOptions,
    every: bool,
) -> tuple[Accuracy, ...]:
    source = compile_module(function.module(sizes).text, function.source.function)
    types = tuple(ArgumentType(a.shape, DType(a.element)) for a in source.arguments)
    results: list[Accuracy] = []
    for number, inputs in enumerate(islice(input_sets(program, options.seed, types), None if every else 1)):
        got, theirs = emulator(inputs.arguments), source(*inputs.arguments)
        wanted = references(program, inputs.arguments, stored, tf32=options.allow_tf32)
        length = reduction_length(program)
        again = partial(input_set, program, number, options.seed, types)
        more = more_errors(program, source, again, stored, tf32=options.allow_tf32)
        results += [
            compare(inputs.name, out.name, out.dtype, g, t, w, length, as_source=not options.allow_tf32, more=m)
            for out, g, t, w, m in zip(program.results, got, theirs, wanted, more, strict=True)
        ]
    _raise_wrong(results)
    return tuple(results)


def _raise_wrong(results: Sequence[Accuracy]) -> None:
    wrong = [r for r in results if not r.ok]
    if wrong:
        raise ExecutionError(f"emitted code is not accurate on {wrong[0].input_set} inputs: {wrong[0].reason}")
