"""Run a ``.mlir`` program on the CPU through upstream MLIR's own JIT.

This is the independent answer to "what does the input program compute": the original linalg operations, in the
original element types, executed by somebody else's compiler. Nothing of our model is involved. One-shot bufferisation
with identity layouts turns tensors into buffers, results become out-parameters, loops go to LLVM.

Element types map to NumPy by name; ``bf16`` has no NumPy type and travels as the bit patterns in ``uint16``.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from prism_mlir.frontend.upstream import (
    UpstreamModule,
    check_names,
    choose_function,
    input_error,
    named_ops,
    read_source,
    symbol_name,
)
from prism_mlir.graph.errors import ExecutionError, InputError, Location, UnsupportedError
from prism_mlir.runtime import narrow
from prism_mlir.runtime.jit_buffers import ELEMENTS, External, Externals, Outside, TensorSignature, descriptor
from prism_mlir.runtime.loop_order import contiguous_innermost

if TYPE_CHECKING:
    from mlir import ir

Array = npt.NDArray[Any]

_DIALECTS = ("builtin", "func", "linalg", "tensor", "arith", "math", "scf", "cf", "affine", "memref", "index", "ub")

# Results are copied out: hoisting their allocations into the callee breaks where a value is returned twice.
_BUFFERISE = (
    "symbol-dce,func.func(eliminate-empty-tensors),"
    "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops "
    "function-boundary-type-conversion=identity-layout-map},"
    "buffer-results-to-out-params{modify-public-functions},"
    "buffer-deallocation-pipeline"
)
_LOOPS = "func.func(convert-linalg-to-affine-loops,llvm-request-c-wrappers)"
# bf16 is computed in f32 and rounded after every operation, which is what LLVM does on a CPU without bf16 arithmetic,
# but without the compiler-rt calls that it makes to get there ("extra-types" are those that math may keep as they are).
_SCALARS = (
    "convert-math-to-funcs,func.func(math-expand-ops{ops=rsqrt,clampf}),"
    "func.func(arith-emulate-unsupported-floats{source-types=bf16 target-type=f32},"
    "math-extend-to-supported-types{extra-types=f16 target-type=f32}),"
    "func.func(arith-expand{include-bf16=true},convert-math-to-llvm),convert-math-to-libm"
)
_TO_LLVM = (
    "func.func(lower-affine),convert-scf-to-cf,expand-strided-metadata,lower-affine,"
    "finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,convert-cf-to-llvm,"
    "convert-func-to-llvm,reconcile-unrealized-casts"
)


@dataclass(frozen=True, slots=True)
class CpuProgram:
    """A function compiled for this CPU. Call it with NumPy arrays; it returns a tuple of new ones."""

    name: str
    arguments: tuple[TensorSignature, ...]
    results: tuple[TensorSignature, ...]
    location: Location
    _engine: Any
    _externals: Externals = field(default_factory=lambda: Externals({}))

    def __call__(self, *args: Array) -> tuple[Array, ...]:
        """Run on ``args``, one C-contiguous-convertible array an argument, of its shape and type.

        Raises :class:`InputError` if number, shapes or types differ from the function's.
        """
        if len(args) != len(self.arguments):
            raise InputError(f"@{self.name} takes {len(self.arguments)} arrays, got {len(args)}", self.location)
        given = [
            self._checked(index, array, want)
            for index, (array, want) in enumerate(zip(args, self.arguments, strict=True))
        ]
        outputs = [np.zeros(result.shape, result.numpy_dtype) for result in self.results]
        descriptors = [descriptor(array) for array in (*given, *outputs)]
        pointers = [ctypes.pointer(ctypes.pointer(descriptor)) for descriptor in descriptors]
        self._engine.invoke(self.name, *pointers)
        self._externals.raise_failure()
        return tuple(outputs)

    def _checked(self, index: int, array: Array, want: TensorSignature) -> Array:
        if want.element == "bf16" and array.dtype.name == "bfloat16":
            array = array.view(np.uint16)
        if array.shape != want.shape or array.dtype != want.numpy_dtype:
            got = "x".join([*map(str, array.shape), array.dtype.name])
            raise InputError(
                f"argument {index} of @{self.name} is {want}, got {got}",
                self.location,
                f"give a {want.numpy_dtype.name} array of shape {list(want.shape)}",
            )
        # A copy, so that a program that bufferises in place can never write into the caller's data.
        return np.array(array, order="C", copy=True)


def run_module(source: str | Path, args: Sequence[Array], function: str | None = None) -> tuple[Array, ...]:
    """Compile and run one function of ``source`` (MLIR text, or a path) on ``args``; see :func:`compile_module`."""
    return compile_module(source, function)(*args)


def compile_module(
    source: str | Path, function: str | None = None, externals: Mapping[str, External] | None = None
) -> CpuProgram:
    """Compile ``function`` (default: the only public one, or ``main``) of MLIR text or of the file at a path.

    A ``str`` with a line break or a brace is text, any other ``str`` and every ``Path`` is a path. All arguments and
    results must be tensors of static shape. ``externals`` says what functions do that the module declares and has no body of.
    Raises :class:`InputError` for text that does not parse or verify,
    :class:`UnsupportedError` for a signature or an operation that the pipeline does not lower, and
    :class:`ExecutionError` when the JIT itself fails.
    """
    upstream = read_source(source)
    check_names(upstream)
    target, name = choose_function(upstream, function)
    where = upstream.locate(target)
    arguments, results = _signature(target, where)
    given = Externals({k: _outside(upstream, k, call, where) for k, call in (externals or {}).items()})
    contiguous_innermost(upstream.module)
    _lower(upstream, name)
    _check_externals(upstream, where, given)
    engine = _engine(upstream, where)
    given.register(engine)
    return CpuProgram(name, arguments, results, where, engine, given)


def _outside(upstream: UpstreamModule, name: str, call: External, where: Location) -> Outside:
    found = named_ops(upstream.module).get(name)
    if found is None or found.name != "func.func":
        raise InputError(f"no function @{name} is declared", where)
    return Outside(*_signature(found, where), call)


def _signature(function: Any, where: Location) -> tuple[tuple[TensorSignature, ...], tuple[TensorSignature, ...]]:
    from mlir import ir

    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    arguments, results = (tuple(_tensor(t, where) for t in types) for types in (kind.inputs, kind.results))
    return arguments, results


def _tensor(kind: ir.Type, where: Location) -> TensorSignature:
    from mlir import ir

    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        raise UnsupportedError(f"{kind} in a signature", where, "use tensors of static shape")
    element = str(kind.element_type)
    if element not in ELEMENTS:
        raise UnsupportedError(f"element type {element} in a signature", where, f"use one of {', '.join(ELEMENTS)}")
    return TensorSignature(tuple(kind.shape), element)


def _lower(upstream: UpstreamModule, name: str) -> None:
    _reject_foreign(upstream)
    _make_private(upstream, name)
    _run_passes(upstream, _BUFFERISE)
    _copies_to_linalg(upstream)
    _run_passes(upstream, _LOOPS)
    _truths_as_bytes(upstream)
    _reject_narrow_buffers(upstream)
    _run_passes(upstream, f"{_SCALARS},{_TO_LLVM}")
    for op in upstream.module.regions[0].blocks[0]:
        if not op.operation.name.startswith("llvm."):
            where = upstream.locate(op.operation)
            raise UnsupportedError(f"{op.operation.name} cannot be lowered for the CPU", where, "remove it")


def _make_private(upstream: UpstreamModule, name: str) -> None:
    """All symbols but one, so that what nothing uses goes. ``symbol-privatize`` is no help: its option takes no name with a
    blank, a comma or a brace in it, which a symbol may have.
    """
    from mlir import ir

    private = ir.StringAttr.get("private", upstream.module.context)
    for symbol, op in named_ops(upstream.module).items():
        if symbol != name:
            op.attributes["sym_visibility"] = private


def _copies_to_linalg(upstream: UpstreamModule) -> None:
    """Turn copies into loops: a copy of a strided buffer would call a runtime library that the bindings do not bring."""
    from mlir import ir
    from mlir.dialects import linalg

    copies: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "memref.copy":
            copies.append(op)
        return ir.WalkResult.ADVANCE

    upstream.module.walk(visit)
    for op in copies:
        with ir.InsertionPoint(op), op.location:
            linalg.copy(op.operands[0], outs=[op.operands[1]])
        op.erase()


def _run_passes(upstream: UpstreamModule, passes: str) -> None:
    from mlir import ir
    from mlir.passmanager import PassManager

    try:
        PassManager.parse(f"builtin.module({passes})", context=upstream.module.context).run(upstream.module)
    except ir.MLIRError as error:
        found = input_error(error, upstream.filename)
        raise UnsupportedError(found.message, found.location, "upstream MLIR cannot lower this for the CPU") from None


def _reject_foreign(upstream: UpstreamModule) -> None:
    """Name what the pipeline does not know, instead of "op was not bufferized"."""
    from mlir import ir

    foreign: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name.split(".")[0] not in _DIALECTS:
            foreign.append(op)
        return ir.WalkResult.ADVANCE

    upstream.module.walk(visit)
    if foreign:
        where = upstream.locate(foreign[0])
        raise UnsupportedError(f"{foreign[0].name} on the CPU", where, f"lower it to {', '.join(_DIALECTS[1:])} first")


def _truths_as_bytes(upstream: UpstreamModule) -> None:
    """Keep buffers of i1 as bytes, 0 or 1: upstream asserts on loads of elements narrower than a byte.

    Global constants of i1 are left for :func:`_reject_narrow_buffers`.
    """
    from mlir import ir
    from mlir.dialects import arith

    with upstream.module.context, ir.Location.unknown():
        truth, byte = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(8)

        def widened_type(kind: Any) -> Any:
            if isinstance(kind, ir.MemRefType) and kind.element_type == truth:
                return ir.MemRefType.get(kind.shape, byte, kind.layout, kind.memory_space)
            return kind

        def widened(value: Any) -> None:
            if (kind := widened_type(value.type)) is not value.type:
                value.set_type(kind)

        found: list[Any] = []

        def visit(op: Any) -> Any:
            found.append(op)
            return ir.WalkResult.ADVANCE

        upstream.module.walk(visit)
        if any(op.name == "memref.global" and "xi1" in str(op.attributes["type"]) for op in found):
            return
        for op in found:
            for value in (*op.results, *(a for region in op.regions for block in region for a in block.arguments)):
                widened(value)
        for op in found:
            if op.name in ("memref.load", "affine.load") and op.results[0].type == truth:
                value = op.results[0]
                value.set_type(byte)
                with ir.InsertionPoint.after(op):
                    narrow = arith.TruncIOp(truth, value)
                value.replace_all_uses_except(narrow.result, narrow.operation)
            elif op.name in ("memref.store", "affine.store") and op.operands[0].type == truth:
                with ir.InsertionPoint(op):
                    op.operands[0] = arith.ExtUIOp(byte, op.operands[0]).result
            elif op.name == "func.func":
                kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
                first = list(op.regions[0])[:1]
                inputs = [a.type for a in first[0].arguments] if first else [widened_type(t) for t in kind.inputs]
                op.attributes["function_type"] = ir.TypeAttr.get(
                    ir.FunctionType.get(inputs, [widened_type(t) for t in kind.results])
                )


def _reject_narrow_buffers(upstream: UpstreamModule) -> None:
    """Upstream asserts (and so ends the process) on loads of elements narrower than a byte."""
    from mlir import ir

    narrow: list[Any] = []

    def visit(op: Any) -> Any:
        for value in op.operands:
            if isinstance(value.type, ir.MemRefType) and re.fullmatch(r"[su]?i[1-7]", str(value.type.element_type)):
                narrow.append((op, value.type.element_type))
                return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    upstream.module.walk(visit)
    if narrow:
        op, element = narrow[0]
        raise UnsupportedError(f"tensors of {element} on the CPU", upstream.locate(op), "store a mask as i8")


@cache
def _support_libraries() -> tuple[ctypes.CDLL, ...]:
    """Runtime libraries of the same wheel.

    They are not handed to the engine, which would load them, and LLVM with them, for the whole process: another LLVM that is
    loaded later, such as Triton's, would find symbols of this one and end the process.
    """
    import mlir

    folders = [Path(folder) / "lib" for folder in mlir.__path__]
    names = ("libmlir_float16_utils.so", "libmlir_c_runner_utils.so")
    return tuple(ctypes.CDLL(str(f / name)) for f in folders for name in names if (f / name).exists())


_SUPPORT = ("__truncsfbf2", "memrefCopy")
"""What LLVM calls to round f32 to bf16 on CPUs that have no instruction for it, and how a strided buffer is copied."""


def register_support(engine: Any) -> None:
    """Let code of an ``ExecutionEngine`` find what its wheel's runtime libraries have, before anything in it is looked up."""
    for name in _SUPPORT:
        library = next((one for one in _support_libraries() if hasattr(one, name)), None)
        if library is not None:
            engine.raw_register_runtime(name, ctypes.cast(getattr(library, name), ctypes.c_void_p))
    narrow.register(engine)


def _check_externals(upstream: UpstreamModule, where: Location, given: Externals) -> None:
    """The JIT prints unresolved symbols and dies later; find them first."""
    here = ctypes.CDLL(None)
    for op in upstream.module.regions[0].blocks[0]:
        operation = op.operation
        if operation.name != "llvm.func" or len(operation.regions[0].blocks):
            continue
        name = symbol_name(operation)
        if name not in (*given.symbols, *_SUPPORT) and not hasattr(here, name):
            raise UnsupportedError(f"external function @{name} is not available", where, "define it in the module")


def _engine(upstream: UpstreamModule, where: Location) -> Any:
    from mlir import ir
    from mlir.execution_engine import ExecutionEngine

    module = ir.Module.parse(upstream.module.get_asm(), upstream.module.context)
    try:
        engine = ExecutionEngine(module, opt_level=2)
        register_support(engine)
        return engine
    except RuntimeError as error:
        raise ExecutionError(f"the JIT failed: {error}", where) from None
