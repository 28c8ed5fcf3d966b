"""A launch of ``prism ptx``: kernel, grid, block and arguments, from options and from a ``launch.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_mlir.graph.errors import InputError, Location, PrismError
from prism_mlir.runtime.ptx import Checks, KernelHandle, Module, RunResult
from prism_mlir.runtime.ptx.program import Param
from prism_mlir.tools.files import read_json
from prism_mlir.tools.ptx_arguments import (
    DTYPES,
    FLOATS,
    Argument,
    Array,
    ArrayArgument,
    Fill,
    Refill,
    ScalarArgument,
    check_size,
    parse_argument,
)
from prism_mlir.tools.usage import UsageError

if TYPE_CHECKING:  # what reads it loads libraries that a launch without --launch does not need
    from prism_mlir.graph.dispatch import Dispatch
    from prism_mlir.graph.launch_info import KernelLaunch, LaunchInfo

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Options:
    """What the three commands have in common, as the user wrote it."""

    source: Path
    entry: str | None = None
    grid: str | None = None
    block: str | None = None
    args: tuple[str, ...] = ()
    shared: int | None = None
    launch: Path | None = None
    sizes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel and everything it is launched with. ``names`` are those of the arguments, for people."""

    source: Path
    kernel: KernelHandle
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    arguments: tuple[ArrayArgument | ScalarArgument, ...]
    names: tuple[str, ...]

    @property
    def undefined(self) -> frozenset[int]:
        """The arguments whose content is undefined until the kernel writes it."""
        return frozenset(i for i, a in enumerate(self.arguments) if isinstance(a, ArrayArgument) and a.fill.undefined)

    @property
    def random(self) -> bool:
        """Whether another seed gives other arguments."""
        return any(isinstance(a, ArrayArgument) and a.fill.random for a in self.arguments)

    @property
    def written(self) -> tuple[int, ...]:
        """The array arguments that the kernel may write, as far as its text tells."""
        arrays = [i for i, a in enumerate(self.arguments) if isinstance(a, ArrayArgument)]
        return tuple(i for i in arrays if self.kernel.uses.may_write({self.kernel.params[i].name}))

    def run(self, seed: int = 0, checks: Checks | None = None, **options: Any) -> tuple[list[Array | bytes], RunResult]:
        """Build the arguments, with ``seed`` added to the seeds of random ones, and run the kernel.

        Returns the arguments as the kernel left them. Raises what :meth:`KernelHandle.run` raises, and :class:`InputError`
        for files.
        """
        built = [a.build(seed) if isinstance(a, ArrayArgument) else a.raw for a in self.arguments]
        passed = [
            a.tobytes() if p.is_array and isinstance(a, np.ndarray) and a.nbytes == p.size else a
            for p, a in zip(self.kernel.params, built, strict=True)
        ]
        result = self.kernel.run(
            grid=self.grid,
            block=self.block,
            args=passed,
            shared_bytes=self.shared_bytes,
            outputs=self.undefined,
            checks=checks,
            **options,
        )
        return built, result

    @property
    def title(self) -> str:
        """One line: kernel, file, grid, block, and shared memory where it is dynamic."""
        shared = f", {self.shared_bytes} bytes of dynamic shared memory" if self.shared_bytes else ""
        extents = f"grid {extent_text(self.grid)}, block {extent_text(self.block)}"
        return f"{self.kernel.name} of {self.source}: {extents}{shared}"


def extent_text(extent: Sequence[int]) -> str:
    return "x".join(map(str, extent))


def prepare(options: Options) -> Launch:
    """Read the PTX, the launch description and the options.

    Raises:
        PtxError: the PTX is wrong, or has no such kernel.
        InputError: an option is wrong or missing, or a file cannot be read.
        LimitError: the arguments are too large.
    """
    given = [parse_argument(text) for text in options.args]
    module = Module.load(options.source)
    if options.sizes and options.launch is None:
        raise UsageError("--size is for code that --launch describes", None, "give --launch launch.json, or remove it")
    info = None if options.launch is None else _read(options.launch, options)
    described = None if info is None else _described(options, module, info)
    kernel = module.kernel(described.entry) if described else _kernel(module, options)
    grid = _extent(options.grid, "--grid", "blocks", described.grid if described else None)
    required = kernel.decoded.kernel.required_block
    block = _extent(options.block, "--block", "threads of a block", described.block if described else required)
    shared = options.shared if options.shared is not None else described.shared_bytes if described else 0
    known = _known(described, info, options.launch) if info and described else None
    with _in_file(None if given else options.launch):
        arguments = _arguments(kernel, given, known)
    names = tuple(p.name for p in kernel.params)
    if described:
        names = (*(a.name for a in described.arguments), *(s.name for s in described.sizes))
    return Launch(options.source, kernel, grid, block, shared, arguments, names)


@contextmanager
def _in_file(path: Path | None) -> Iterator[None]:
    """Errors that know no place are in that file, where all that was given comes from it."""
    try:
        yield
    except PrismError as error:
        if path is None or error.location is not None:
            raise
        raise type(error)(error.message, Location(str(path), 1, 1), error.hint) from None


# -- kernel, grid, block ------------------------------------------------------------------------------------------


def _kernel(module: Module, options: Options) -> KernelHandle:
    if options.entry is not None:
        return module.kernel(options.entry)
    names = sorted(module.kernels)
    if len(names) != 1:
        what = f"{len(names)} kernels" if names else "no kernel"
        hint = f"choose one with --entry: {', '.join(names)}" if names else "an .entry is needed"
        raise InputError(f"the module has {what}", Location(str(options.source), 1, 1), hint)
    return module.kernel(names[0])


def _extent(text: str | None, option: str, what: str, default: Triple | None) -> tuple[int, ...]:
    """``64,1,1`` or ``64x1x1``; how large extents may be is for the machine to say."""
    if text is None:
        if default is None:
            raise UsageError(
                f"the number of {what} is missing", None, f"give {option} 64,1,1 or so, or --launch launch.json"
            )
        return default
    sizes = [t.strip() for t in re.split("[,x]", text)]
    if len(sizes) > 3 or not all(re.fullmatch(r"-?\d{1,18}", t, re.ASCII) for t in sizes):
        raise UsageError(f"{option}: '{text}' is no extent", None, f"give one to three integers, as in {option} 64,1,1")
    return tuple(map(int, sizes))


# -- launch.json --------------------------------------------------------------------------------------------------


def _read(path: Path, options: Options) -> LaunchInfo:
    from prism_mlir.graph.dispatch import Dispatch, is_dispatch
    from prism_mlir.graph.launch_info import LaunchInfo

    try:
        data = read_json(path)
        if is_dispatch(data):
            return _at_sizes(Dispatch.from_dict(data), options)
        if options.sizes:
            raise InputError("there are no dynamic sizes", None, "remove --size")
        return LaunchInfo.from_dict(data)
    except InputError as error:
        raise InputError(error.message, error.location or Location(str(path), 1, 1), error.hint) from None


def _at_sizes(dispatch: Dispatch, options: Options) -> LaunchInfo:
    """The launches of the PTX file in question, at the sizes given. Code for a range of sizes also runs at smaller ones."""
    from prism_mlir.compiler.buckets import one_size

    own = [v for v in dispatch.variants if any(k.ptx == options.source.name for k in v.launch.kernels)]
    if not own:
        files = ", ".join(dict.fromkeys(k.ptx for v in dispatch.variants for k in v.launch.kernels))
        raise InputError(f"the file does not describe {options.source.name}", None, f"it describes {files}")
    (variant, *_) = own
    sizes = variant.high if variant.exact and not options.sizes else one_size(options.sizes, dispatch.names)
    for name, size, largest in zip(dispatch.names, sizes, variant.high, strict=True):
        if size > largest or (variant.exact and size != largest):
            serves = f"{largest} alone" if variant.exact else f"1 to {largest}"
            raise InputError(f"{options.source.name} does not serve {name} = {size}", None, f"it serves {serves}")
    return variant.launch.at(sizes)


def _described(options: Options, module: Module, info: LaunchInfo) -> KernelLaunch:
    """The launch of the one kernel in question."""
    place, kernels = Location(str(options.launch), 1, 1), info.kernels
    here = [k for k in kernels if k.entry in module.kernels and options.entry in (None, k.entry)]
    here = [k for k in here if k.ptx == options.source.name] or here
    entries = sorted({k.entry for k in here})
    if not here:
        wanted = (
            options.entry or f"any of {', '.join(sorted(module.kernels)) or 'none'}, the kernels of {options.source}"
        )
        known = ", ".join(f"{k.entry} of {k.ptx}" for k in kernels) or "none"
        raise InputError(f"the file does not describe {wanted}", place, f"it describes {known}")
    if len(entries) > 1:
        raise InputError(
            f"the file describes {len(entries)} kernels", place, f"choose one with --entry: {', '.join(entries)}"
        )
    return here[0]


def _known(described: KernelLaunch, info: LaunchInfo, path: Path | None) -> tuple[ArrayArgument | ScalarArgument, ...]:
    """The arguments of a described kernel: inputs, and what earlier kernels leave, are random; what it makes is undefined."""
    from prism_mlir.graph.launch_info import Role

    before = info.kernels[: info.kernels.index(described)]
    earlier = {(a.role, a.index) for k in before for a in k.arguments}
    known: list[ArrayArgument | ScalarArgument] = []
    for position, a in enumerate(described.arguments):
        made = a.role is not Role.INPUT and (a.role, a.index) not in earlier
        fill = Fill("empty") if made else Fill("random", str(position))
        elements = a.bytes // a.dtype.bytes  # with gaps between the rows, more than the shape has
        shape = a.shape if elements == prod(a.shape) else (elements,)
        text = f"{a.dtype}[{','.join(map(str, a.shape))}] of {path}"
        known.append(ArrayArgument(str(a.dtype), shape, fill, text))
    sizes = (ScalarArgument("i32", s.value.to_bytes(4, "little"), f"{s.name} of {path}") for s in described.sizes)
    return (*known, *sizes)


# -- arguments ----------------------------------------------------------------------------------------------------


def _arguments(
    kernel: KernelHandle,
    given: Sequence[tuple[int | None, Argument]],
    known: Sequence[ArrayArgument | ScalarArgument] | None,
) -> tuple[ArrayArgument | ScalarArgument, ...]:
    """One argument a parameter: those given, in order or by index, and for the rest those known."""
    params = kernel.params
    if known is not None and len(known) != len(params):
        raise InputError(
            f"the launch description has {len(known)} arguments, kernel '{kernel.name}' {len(params)} parameters"
        )
    found: dict[int, ArrayArgument | ScalarArgument] = dict(enumerate(known or ()))
    placed: set[int] = set()
    for position, argument in given:
        i = position if position is not None else next(n for n in range(len(placed) + 1) if n not in placed)
        if i >= len(params) or i in placed:
            fault = "is given twice" if i in placed else "is one too many"
            raise InputError(f"argument {i} '{argument.text}' {fault}: {_signature(kernel)}")
        placed.add(i)
        argument = _own_seed(argument, i)
        found[i] = _fitting(i, params[i], argument, known[i] if known else None)
    missing = [i for i in range(len(params)) if i not in found]
    if missing:
        numbers = ", ".join(map(str, missing))
        what = f"argument {numbers} is missing" if len(missing) == 1 else f"arguments {numbers} are missing"
        hint = "give each with --arg, as in --arg 'f16[16,1024]=random:0'"
        raise InputError(f"{what}: {_signature(kernel)}", None, hint)
    ordered = tuple(found[i] for i in range(len(params)))
    check_size([a for a in ordered if isinstance(a, ArrayArgument)])
    return ordered


def _own_seed(argument: Argument, i: int) -> Argument:
    """``random`` without a seed takes the argument's index, so that arrays of one shape differ."""
    if isinstance(argument, ArrayArgument | Refill) and argument.fill == Fill("random"):
        return replace(argument, fill=Fill("random", str(i)))
    return argument


def _signature(kernel: KernelHandle) -> str:
    params = ", ".join(f"{i} {p.name} ({_type(p)})" for i, p in enumerate(kernel.params))
    return f"kernel '{kernel.name}' takes {params or 'no arguments'}"


def _type(param: Param) -> str:
    if param.is_array:
        return f"{param.size} bytes"
    return f"{param.scalar.name} or pointer" if _pointer(param) else param.scalar.name


def _pointer(param: Param) -> bool:
    return not param.is_array and param.scalar.bits == 64 and param.scalar.kind in "bus"


def _fitting(
    i: int, param: Param, argument: Argument, known: ArrayArgument | ScalarArgument | None
) -> ArrayArgument | ScalarArgument:
    """The argument as the parameter, and the launch description if there is one, need it."""
    if isinstance(known, ScalarArgument):
        raise InputError(f"argument {i} '{argument.text}' is a dynamic size", None, "give it with --size")
    if isinstance(argument, Refill):
        if known is None:
            raise InputError(
                f"argument {i} '{argument.text}' has no type and shape", None, f"write f16[16,1024]={argument.text}"
            )
        return argument.of(known)
    if isinstance(argument, ArrayArgument) and known is not None:
        if argument.bytes != known.bytes or DTYPES[argument.dtype] != DTYPES[known.dtype]:
            mine, theirs = (f"{a.dtype}{list(a.shape)}" for a in (argument, known))
            raise InputError(f"argument {i} '{argument.text}' is {mine}, the launch description says {theirs}")
        return replace(argument, dtype=known.dtype) if argument.text.endswith(".npy") else argument
    if isinstance(argument, ArrayArgument):
        if not _pointer(param) and not (param.is_array and argument.bytes == param.size):
            size = f" of {argument.bytes} bytes" if param.is_array else ""
            raise InputError(
                f"argument {i} '{argument.text}' is an array{size}, {_takes(param)}", None, _example(param)
            )
        return argument
    return _scalar(i, param, argument)


def _scalar(i: int, param: Param, argument: ScalarArgument) -> ScalarArgument:
    """A scalar has the size of its parameter, and is a floating number where the parameter is one (``.b32`` takes both)."""
    floating = argument.dtype in FLOATS
    alike = param.scalar.kind == "b" or floating == (param.scalar.kind == "f") or param.scalar.kind == "bf"
    if param.is_array or len(argument.raw) != param.scalar.bytes or not alike:
        hint = _example(param, argument.text.partition("=")[2])
        raise InputError(f"argument {i} '{argument.text}': {_takes(param)}", None, hint)
    return argument


def _takes(param: Param) -> str:
    """What a parameter is, in an error about what was given for it."""
    return f"parameter '{param.name}' " + (f"takes {param.size} bytes" if param.is_array else f"is a {_type(param)}")


def _example(param: Param, number: str = "5") -> str:
    """How to give what the parameter takes, if not a pointer."""
    if param.is_array:
        return f"give u8[{param.size}]=FILE"
    kind = {"s": "i", "f": "f", "bf": "bf"}.get(param.scalar.kind, "u")
    return f"write {kind}{param.scalar.bits}={number}"
