"""Prism from Python: :func:`optimize` takes a tensor program in any form and gives kernels that are proved, emitted and checked.

    import prism_mlir
    result = prism_mlir.optimize("examples/rms_norm.mlir", target="sm_80")
    y = result(x, w)             # on the first GPU, or on the PTX machine
    print(result.ptx["main.ptx"])

Nothing here has state of its own; several threads may call everything at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism_mlir.compiler.options import CompileOptions, parse_duration
from prism_mlir.compiler.pipeline import Compilation, compile_text
from prism_mlir.compiler.progress import Show
from prism_mlir.frontend.upstream import read_text
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.errors import InputError, MissingToolError, UnsupportedError
from prism_mlir.graph.errors import PrismError as PrismError
from prism_mlir.graph.launch_info import KernelLaunch, LaunchInfo
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tune.records.store import Records

if TYPE_CHECKING:
    from prism_mlir.compiler.islands import IslandCompilation
    from prism_mlir.runtime.jit_buffers import TensorSignature

Array = NDArray[Any]
TEXT = "<text>"  # what errors call a module that comes from no file


class Device(StrEnum):
    """Where a result runs. AUTO: on the first GPU if there is one, else on the PTX machine."""

    AUTO = "auto"
    GPU = "gpu"
    MACHINE = "machine"


@dataclass(frozen=True)
class Result:
    """A program that was compiled. Calling it with arrays runs it.

    compilation: everything that happened
    """

    compilation: Compilation

    @property
    def kernels(self) -> tuple[KernelLaunch, ...]:
        """The launches, in order."""
        return self.launch.kernels

    @property
    def launch(self) -> LaunchInfo:
        """What ``launch.json`` says."""
        return self.compilation.launch

    @property
    def ptx(self) -> Mapping[str, str]:
        """File name -> PTX text."""
        return self.compilation.built.ptx

    @property
    def mlir(self) -> str:
        """The module that was given, with ``gpu.binary`` and launches in the function's place, in upstream dialects."""
        return self.compilation.host

    @cached_property
    def report(self) -> Mapping[str, Any]:
        """What ``report.json`` says: funnel, verdict, schedule, cost, errors, versions, seconds."""
        from prism_mlir.tools.emit import report

        return report(self.compilation)

    @property
    def files(self) -> Mapping[str, str]:
        """File name -> content, as ``prism compile -o`` writes them."""
        from prism_mlir.tools.emit import render

        return render(self.compilation)

    def __repr__(self) -> str:
        """One line: a result holds all that happened."""
        kernels = ", ".join(f"{k.entry} {k.grid}x{k.block}" for k in self.kernels)
        return f"<prism_mlir.Result of {self.compilation.program.name}: {kernels}>"

    def __call__(self, *arguments: ArrayLike) -> Array | tuple[Array, ...]:
        """As :meth:`run` on whatever device there is; one result alone is no tuple."""
        results = self.run(*arguments)
        return results[0] if len(results) == 1 else results

    def run(self, *arguments: ArrayLike, device: Device | str = Device.AUTO) -> tuple[Array, ...]:
        """Results of the function for whole arguments.

        An argument is an array of the function's shape, in its element type or one that is rounded to it (nearest, ties to
        even). bf16 is held in f32 on both sides, since NumPy has no such type; its bits are taken as ``uint16``.
        Raises :class:`~prism_mlir.graph.errors.InputError` for arguments that do not fit,
        :class:`~prism_mlir.graph.errors.MissingToolError` for ``device="gpu"`` without one,
        :class:`~prism_mlir.graph.errors.ExecutionError` where the device or the machine reports an error.
        """
        results = self.run_stored(_stored(self.compilation, arguments), _device(device))
        outputs = self.compilation.program.results
        return tuple(_shown(r, o.dtype) for r, o in zip(results, outputs, strict=True))

    def run_stored(self, arguments: Sequence[Array], device: Device = Device.AUTO) -> Sequence[Array]:
        """As :meth:`run`, on arrays as kernels hold them, which are not looked at: bf16 as bits."""
        found = self._on_gpu(arguments, device) if device is not Device.MACHINE else None
        return self._on_machine(arguments) if found is None else found

    def _on_gpu(self, arguments: Sequence[Array], device: Device) -> Sequence[Array] | None:
        from prism_mlir.runtime.cuda import CudaProgram, load_driver, open_device

        try:
            driver = load_driver()
        except MissingToolError:
            if device is Device.GPU:
                raise
            return None
        with open_device(driver), CudaProgram(driver, self.launch, self.ptx) as program:
            return program.run(arguments)

    def _on_machine(self, arguments: Sequence[Array]) -> Sequence[Array]:
        from prism_mlir.compiler.execute import Emulator

        return Emulator(self.launch, self.ptx)(arguments)


@dataclass(frozen=True)
class PartialResult:
    """A function of which parts became kernels. Calling it with arrays runs all of it: what stays, on the CPU.

    compilation: everything that happened
    """

    compilation: IslandCompilation

    @cached_property
    def islands(self) -> Mapping[str, Result]:
        """Each part, by the name of its function in :attr:`mlir`."""
        cut = self.compilation.cut.islands
        return {i.name: Result(c) for i, c in zip(cut, self.compilation.islands, strict=True)}

    @property
    def kernels(self) -> tuple[KernelLaunch, ...]:
        """The launches of all parts."""
        return tuple(k for r in self.islands.values() for k in r.kernels)

    @property
    def ptx(self) -> Mapping[str, str]:
        """File name -> PTX text."""
        return {name: text for r in self.islands.values() for name, text in r.ptx.items()}

    @property
    def mlir(self) -> str:
        """The module that was given, in which the function calls one function with launches for each part."""
        return self.compilation.host

    @cached_property
    def report(self) -> Mapping[str, Any]:
        """What ``report.json`` says: each part's report, what stays and why, the check of the whole."""
        from prism_mlir.tools.prism_islands import report

        return report(self.compilation)

    @property
    def files(self) -> Mapping[str, str]:
        """File name -> content, as ``prism compile --islands -o`` writes them."""
        from prism_mlir.tools.prism_islands import render

        return render(self.compilation)

    def __repr__(self) -> str:
        """One line: a result holds all that happened."""
        return f"<prism_mlir.PartialResult of {self.compilation.cut.function}: {', '.join(self.islands)}>"

    def __call__(self, *arguments: ArrayLike) -> Array | tuple[Array, ...]:
        """As :meth:`run` on whatever device there is; one result alone is no tuple."""
        results = self.run(*arguments)
        return results[0] if len(results) == 1 else results

    def run(self, *arguments: ArrayLike, device: Device | str = Device.AUTO) -> tuple[Array, ...]:
        """Results of the function for whole arguments, as those of :meth:`Result.run`; integers are of the function's type.

        Raises as that does, and :class:`~prism_mlir.graph.errors.UnsupportedError` where what stays cannot run on the CPU.
        """
        chosen = _device(device)
        externals = {name: _external(result, chosen) for name, result in self.islands.items()}
        program = self.compilation.program(externals)
        if len(arguments) != len(program.arguments):
            raise InputError(f"{len(arguments)} arguments, the function takes {len(program.arguments)}")
        stored = [
            _of_signature(np.asarray(a), s, k)
            for k, (a, s) in enumerate(zip(arguments, program.arguments, strict=True))
        ]
        results = zip(program(*stored), program.results, strict=True)
        return tuple(_shown(r, DType.BF16) if s.element == "bf16" else r for r, s in results)


def _external(result: Result, device: Device) -> Callable[..., Sequence[Array]]:
    return lambda *arguments: result.run_stored(arguments, device)


def _device(device: Device | str) -> Device:
    if device not in list(Device):
        raise InputError(f"unknown device '{device}'", None, f"known are {', '.join(Device)}")
    return Device(device)


def _of_signature(array: Array, signature: TensorSignature, number: int) -> Array:
    """An argument as the function holds it."""
    if array.shape != signature.shape:
        raise InputError(
            f"argument {number} is of shape {list(array.shape)}, the function's is {list(signature.shape)}"
        )
    if signature.element in ("f16", "bf16", "f32"):
        return _rounded(array, DType(signature.element), number)
    if array.dtype.kind != signature.numpy_dtype.kind and not np.can_cast(array.dtype, signature.numpy_dtype):
        raise InputError(f"argument {number} is of type {array.dtype}, the function's is {signature.element}")
    return np.asarray(array, signature.numpy_dtype, order="C")


@overload
def optimize(
    module: Any,
    *,
    target: str = ...,
    islands: Literal[False] = ...,
    records: Records | Path | str | None = ...,
    progress: Show = ...,
    **options: Any,
) -> Result: ...


@overload
def optimize(
    module: Any,
    *,
    target: str = ...,
    islands: bool,
    records: Records | Path | str | None = ...,
    progress: Show = ...,
    **options: Any,
) -> Result | PartialResult: ...


def optimize(
    module: Any,
    *,
    target: str = "sm_80",
    islands: bool = False,
    records: Records | Path | str | None = None,
    progress: Show = lambda _: None,
    **options: Any,
) -> Result | PartialResult:
    """Search, prove, choose, emit and check kernels for a function of a module.

    module:  a path (``Path``, or a ``str`` without line breaks and braces), MLIR text, an xDSL ``ModuleOp`` or an upstream
             ``mlir.ir.Module``
    islands: where the function cannot become kernels whole, compile the parts of it that can: a :class:`PartialResult`
    records: what earlier calls proved, chose and checked (``Records.open()``: that of the command line), or a folder for it; none
             by default
    options: fields of :class:`~prism_mlir.compiler.options.CompileOptions` (``function``, ``samples``, ``seed``, ``check``,
             ``jobs``, ``time_limit``, ``allow_tf32``, ...) and of :class:`~prism_mlir.search.limits.SearchLimits` (``operators``,
             ``kernels``, ``states``, ...)

    Raises :class:`~prism_mlir.graph.errors.PrismError` for input that is malformed or not supported, with its place, and for
    anything that is not proved, cannot be built, or fails its check; ``TypeError`` for an unknown option.
    """
    text, filename = _text_of(module)
    chosen = _options(target, options)
    opening = Records.open(records) if isinstance(records, Path | str) else nullcontext(records)
    with opening as kept:
        try:
            return Result(compile_text(text, filename, chosen, progress=progress, records=kept))
        except UnsupportedError:
            if not islands:
                raise
            from prism_mlir.compiler.islands import compile_islands

            return PartialResult(compile_islands(text, filename, chosen, progress=progress, records=kept))


def _options(target: str, given: Mapping[str, Any]) -> CompileOptions:
    limits = {f.name for f in fields(SearchLimits)}
    own = {f.name for f in fields(CompileOptions)} - {"target", "profile", "limits", "exclude"}
    unknown = sorted(set(given) - limits - own)
    if unknown:
        known = limits | own | {"target", "records", "islands"}
        raise TypeError(f"optimize() has no option '{unknown[0]}'; there are {', '.join(sorted(known))}")
    from prism_mlir.tools.search_options import search_limits

    given = {k: _checked(k, v) for k, v in given.items()}
    options = CompileOptions(target=target, **{k: v for k, v in given.items() if k in own})
    named = {k: v for k, v in given.items() if k in limits}
    return replace(options, limits=search_limits(None, **named)) if named else options


_LEAST = {"samples": 1, "builds": 1, "seed": 0, "jobs": 1}


def _checked(name: str, value: Any) -> Any:
    """An option's value, if it is one. Raises :class:`InputError`."""
    default = {f.name: f.default for f in (*fields(CompileOptions), *fields(SearchLimits))}[name]
    if name == "time_limit" and isinstance(value, str):
        return _duration(value)
    if isinstance(default, StrEnum):
        if value not in list(type(default)):
            raise InputError(f"{name} is {value!r}", None, f"known are {', '.join(type(default))}")
        return type(default)(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, bool) and not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}, it must be True or False")
    if isinstance(default, int) and not isinstance(default, bool) and not (number and value == int(value)):
        raise InputError(f"{name} is {value!r}, it must be a whole number")
    if name in _LEAST and value < _LEAST[name]:
        raise InputError(f"{name} is {value}, it must be at least {_LEAST[name]}")
    if name in ("time_limit", "seconds") and value is not None and not (number and 0 <= value < float("inf")):
        raise InputError(f"{name} is {value!r}, it must be a time in seconds")
    return value


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except InputError as error:
        raise InputError(f"time_limit: {error.message}") from None


def _text_of(module: Any) -> tuple[str, str]:
    """MLIR text, and what errors call it."""
    if isinstance(module, str) and not module.strip():
        raise InputError("cannot optimize a text of nothing", None, "give MLIR text, or the path of a file")
    if isinstance(module, Path) or (isinstance(module, str) and "\n" not in module and "{" not in module):
        try:
            return read_text(module), str(module)
        except InputError as error:
            text = "" if isinstance(module, Path) else "; MLIR text has a line break or a brace in it"
            raise InputError(error.message, error.location, f"{error.hint or 'check the path'}{text}") from None
    if isinstance(module, str):
        return module, TEXT
    operation = getattr(module, "operation", module)
    if hasattr(operation, "get_asm"):  # upstream's bindings
        return str(operation.get_asm(enable_debug_info=True)), TEXT
    from xdsl.dialects.builtin import ModuleOp

    if isinstance(module, ModuleOp):
        return _xdsl_text(module), TEXT
    raise InputError(
        f"cannot optimize a {type(module).__name__}",
        None,
        "give MLIR text, a path, or a module of xDSL or upstream MLIR",
    )


def _xdsl_text(module: Any) -> str:
    from io import StringIO

    from xdsl.printer import Printer

    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def _stored(compilation: Compilation, arguments: Sequence[ArrayLike]) -> list[Array]:
    """Arguments as kernels hold them."""
    wanted = {i.arg: i for i in compilation.program.inputs if i.arg is not None}
    if len(arguments) != compilation.arguments:
        raise InputError(f"{len(arguments)} arguments, the function takes {compilation.arguments}")
    found: list[Array] = []
    for k, given in enumerate(arguments):
        array = np.asarray(given)
        if k not in wanted:  # nobody reads it
            found.append(array)
            continue
        spec = wanted[k]
        if array.shape != spec.arg_shape:
            raise InputError(f"argument {k} is of shape {list(array.shape)}, the function's is {list(spec.arg_shape)}")
        found.append(_rounded(array, spec.dtype, k))
    return found


def _rounded(array: Array, dtype: DType, number: int) -> Array:
    if array.dtype == dtype.storage:
        return np.asarray(array, order="C")  # a scalar keeps its shape
    if array.dtype.kind not in "fiub" or not dtype.is_float:
        raise InputError(f"argument {number} is of type {array.dtype}, the function's is {dtype.value}")
    return np.asarray(from_float64(array.astype(np.float64), dtype))


def _shown(array: Array, dtype: DType) -> Array:
    return to_float64(array, dtype).astype(np.float32) if dtype is DType.BF16 else array
